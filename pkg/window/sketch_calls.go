package window

// callSketch counts, for keys without an entry, the calls that are under way: a count-min sketch whose
// cells each hold the sum over the keys that have it, to which every release of a call is subtracted
// again. What is read for a key is never less than what it has under way. It may be more, by what
// others have that share a cell with it in every row.
type callSketch struct {
	sketch
	calls int64 // under way, all keys together; guarded by mu
}

// look returns how many calls of k are under way at most.
func (s *callSketch) look(k Key) int64 {
	if !s.used.Load() {
		return 0
	}
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells == nil {
		return 0
	}
	places := s.places(k)
	least := s.cells[places[0]]
	for _, at := range places[1:] {
		least = min(least, s.cells[at])
	}
	return int64(least)
}

// add counts n calls of k more. A cell holds 2^32-1, more than can be under way at a time: each of
// them is held by a caller, in far less memory than there is address space.
func (s *callSketch) add(k Key, n uint32) {
	lock(&s.mu)
	defer s.mu.Unlock()
	s.allocate()
	for _, at := range s.places(k) {
		s.cells[at] += n
	}
	s.calls += int64(n)
	s.until = stateBusy
}

// subtract takes n calls of k, which were added, out again. The cells stay until they hold none.
func (s *callSketch) subtract(k Key, n uint32) {
	lock(&s.mu)
	defer s.mu.Unlock()
	for _, at := range s.places(k) {
		s.cells[at] -= n
	}
	if s.calls -= int64(n); s.calls == 0 {
		s.until = stateIdle
	}
}
