package engine

import "time"

// tokenWheel orders tokens by the second in which their lease has ended: a wheel of 64 seconds, one of
// 64 times 64, and one of 64 times that, three days. A token is filed in the smallest wheel that
// reaches as far, and moves to a smaller one at most twice while its time comes nearer. Its methods are
// called under the lock of the tokens.
type tokenWheel struct {
	at    uint32                            // the second that is being looked at: those before it hold nothing
	heads [wheelLevels * wheelSpokes]uint32 // first slot of each list; noSlot: none
}

const (
	wheelLevels = 3
	wheelBits   = 6
	wheelSpokes = 1 << wheelBits
	wheelReach  = 1<<(wheelLevels*wheelBits) - 1 // seconds, more than the longest lease and wait together
)

func (w *tokenWheel) init() {
	for i := range w.heads {
		w.heads[i] = noSlot
	}
}

func second(now int64) uint32 { return uint32(max(now, 0) / int64(time.Second)) }

// add files slot i, of a call that is decided at now, under the moment at which its lease ends.
func (w *tokenWheel) add(t *tokens, i uint32, now, end int64) {
	if t.live == 0 {
		w.at = max(w.at, second(now)) // nothing is filed, so there is nothing to pass by
	}
	s := t.slot(i)
	s.due = max(second(end+int64(time.Second)-1), w.at+1)
	s.due = min(s.due, w.at+wheelReach)
	w.file(t, i, s)
}

// file puts a slot into the list of its second.
func (w *tokenWheel) file(t *tokens, i uint32, s *tokenSlot) {
	level, left := 0, s.due-w.at
	for ; left >= wheelSpokes; left >>= wheelBits {
		level++
	}
	s.bucket = uint16(level*wheelSpokes) + uint16(s.due>>(level*wheelBits)&(wheelSpokes-1))
	s.before, s.after = noSlot, w.heads[s.bucket]
	if s.after != noSlot {
		t.slot(s.after).before = i
	}
	w.heads[s.bucket] = i
}

// remove takes a slot out of its list.
func (w *tokenWheel) remove(t *tokens, i uint32) {
	s := t.slot(i)
	if s.before == noSlot {
		w.heads[s.bucket] = s.after
	} else {
		t.slot(s.before).after = s.after
	}
	if s.after != noSlot {
		t.slot(s.after).before = s.before
	}
}

// next returns a slot whose lease has ended by now; noSlot: there is none.
func (w *tokenWheel) next(t *tokens, now int64) uint32 {
	for {
		if i := w.heads[w.at&(wheelSpokes-1)]; i != noSlot {
			return i
		}
		if t.live == 0 || w.at >= second(now) {
			return noSlot
		}
		w.at++
		for level := wheelLevels - 1; level > 0; level-- {
			if w.at&(1<<(level*wheelBits)-1) == 0 {
				w.unfold(t, level*wheelSpokes+int(w.at>>(level*wheelBits)&(wheelSpokes-1)))
			}
		}
	}
}

// unfold files the slots of a list anew, in a smaller wheel now that their time is near.
func (w *tokenWheel) unfold(t *tokens, bucket int) {
	i := w.heads[bucket]
	w.heads[bucket] = noSlot
	for i != noSlot {
		s := t.slot(i)
		next := s.after
		w.file(t, i, s)
		i = next
	}
}
