package window

import "time"

// history is what the slots of a window hold, newest first, seen from slot seq.
type history struct {
	seq   uint64
	live  int
	total int64
	slots [MaxSampleCount + 1]uint32
}

// Until returns how long it takes until TryAcquire would charge n hits to k if nobody else came: 0
// if it would now. It returns false if that never happens, and if it cannot be known because the
// table has no room for k and refuses such keys.
func (t *KeyTable) Until(now int64, k Key, n, limit int64) (time.Duration, bool) {
	limit = enforced(limit)
	if t.form.layout == LayoutWord {
		limit = min(limit, maxWordLimit)
	}
	if n < 1 || n > limit {
		return 0, false
	}
	var h history
	if !t.look(now, k, &h) {
		sh, k := t.locate(k)
		return 0, t.peekAbsent(sh, t.own(now), k, n, limit).OK
	}
	if n <= limit-h.total {
		return 0, true
	}
	for age := h.live - 1; ; age-- {
		if h.total -= int64(h.slots[age]); n <= limit-h.total {
			return t.leaves(&h, age, now), true
		}
	}
}

// Reset returns how long it takes until the oldest slot of k that holds a charge leaves; 0 if none
// does.
func (t *KeyTable) Reset(now int64, k Key) time.Duration {
	var h history
	t.look(now, k, &h)
	for age := h.live - 1; age >= 0; age-- {
		if h.slots[age] != 0 {
			return t.leaves(&h, age, now)
		}
	}
	return 0
}

// look fills h with k's window as a call at now finds it. It returns false if k has no entry.
func (t *KeyTable) look(now int64, k Key, h *history) bool {
	sh, k := t.locate(k)
	if t.form.layout == LayoutWide {
		return t.lookWide(sh, t.own(now), k, h)
	}
	state, w := sh.read(k)
	if state == nil {
		return false
	}
	h.seq, h.live = t.seq(t.own(now)), t.form.live
	w = t.form.wordAt(w, h.seq)
	h.total = int64(wordTotal(w))
	h.slots[0] = uint32(w & wordCountMask)
	h.slots[1] = uint32(w >> wordCountBits & wordCountMask)
	return true
}

func (t *KeyTable) lookWide(sh *shard, own uint64, k Key, h *history) bool {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot := s.find(k)
	if slot < 0 {
		return false
	}
	_, state := s.slot(slot)
	head, counts := state.Load(), s.countsOf(slot)
	h.seq, h.live = t.seq(own), t.form.live
	live := uint64(len(counts))
	at := int(head % live)
	for age := h.seq - head; age < live; age++ {
		h.slots[age] = counts[at]
		h.total += int64(counts[at])
		at = before(counts, at)
	}
	return true
}

// leaves is how long after now the slot of that age no longer counts.
func (t *KeyTable) leaves(h *history, age int, now int64) time.Duration {
	return time.Duration(int64(h.seq+uint64(h.live-age))*t.width - now)
}
