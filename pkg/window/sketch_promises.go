package window

import "time"

// promiseSketch knows, for keys without an entry, when their newest promises fall due: each cell
// holds the latest moment, in whole nanoseconds, that was promised to any key that has it. What is
// read for a key, the earliest of its cells, is never before what the key was promised. It may be
// later, by what others were promised that share a cell with it in every row.
type promiseSketch struct {
	sketch
	// last is the newest promise of all, which is the only one that can be taken back: of earlier
	// ones it is not known whose promises the cells would have to show again.
	last struct {
		id     uint64 // 0: none, or taken back
		until  uint64 // tick from which on it has expired
		before [sketchRows]uint64
	} // guarded by mu
	promises uint64 // that were made; guarded by mu
}

// promiseCell is how many words a cell has.
const promiseCell = 2

// look returns the state of k.
func (s *promiseSketch) look(k Key) throttleState {
	if !s.used.Load() {
		return throttleState{}
	}
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells == nil {
		return throttleState{}
	}
	return s.read(s.places(k))
}

// acquire is that of a throttleState, for k. id is what refund needs.
func (s *promiseSketch) acquire(k Key, now, n int64, r Rate, maxWait time.Duration, strict bool) (id uint64, w Wait) {
	lock(&s.mu)
	defer s.mu.Unlock()
	s.allocate()
	places := s.places(k)
	after, w := s.read(places).acquire(now, n, r, maxWait, strict)
	if !w.OK {
		return 0, w
	}
	s.promises++
	s.last.id = s.promises
	moment := uint64(after.last.up())
	for row, at := range places {
		cell := s.cells[at : at+promiseCell]
		s.last.before[row] = word64(cell)
		putWord64(cell, max(word64(cell), moment))
	}
	s.last.until = after.neutral(r)
	s.until = max(s.until, s.last.until)
	return s.promises, w
}

// refund takes back what acquire promised k, if it is the newest promise of all and has not expired
// by the tick seq: else k may have had an entry and a later promise since.
func (s *promiseSketch) refund(k Key, seq, id uint64) bool {
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells == nil || id != s.last.id || s.last.until <= seq {
		return false
	}
	for row, at := range s.places(k) {
		putWord64(s.cells[at:at+promiseCell], s.last.before[row])
	}
	s.last.id = 0
	return true
}

// read returns the state that the cells show. The lock is held.
func (s *promiseSketch) read(places [sketchRows]int) throttleState {
	moment := word64(s.cells[places[0]:])
	for _, at := range places[1:] {
		moment = min(moment, word64(s.cells[at:]))
	}
	if moment == 0 {
		return throttleState{}
	}
	return throttleState{instant{ns: int64(moment), of: 1}}
}
