package window

import "math"

// slotSketch counts, for keys without an entry, what each slot of their windows was charged: one
// count-min sketch for each live slot. As the cells that a key has in these are the same, they lie
// together:
//
//	| newest slot 32 | count | count | … |   that of slot q at q modulo their number
//
// The slots of a cell that have left are cleared when it is charged next. Their numbers are
// compared in 32 bits, so a cell must not stay for 2^32 slots, which is two years at the least width
// of a slot that rules have.
//
// What is read is never less than what the key was charged and not given back. It may be more, by
// what others were charged that share a cell with it in every row.
//
// A caller who comes before the newest charge of any key is served as if he came with it.
type slotSketch struct {
	sketch
	width  uint64 // ticks of the table in a slot; constant
	live   int    // slots that count; constant
	newest uint64 // tick of the newest charge; guarded by mu
}

// slotCell is how many words the cell of a window of so many live slots has.
func slotCell(live int) int { return 1 + live }

// look fills h with what k holds at the tick seq, and returns the tick that a call is served in.
func (s *slotSketch) look(k Key, seq uint64, h *history) uint64 {
	*h = history{seq: seq / s.width, live: s.live}
	if !s.used.Load() {
		return seq
	}
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells == nil {
		return seq
	}
	seq = max(seq, s.newest)
	s.read(s.places(k), seq, h)
	return seq
}

// charge adds n to k if what k holds at the tick seq, which the table's clock has reached, then is
// at most limit. It returns the slot that it charged.
func (s *slotSketch) charge(k Key, seq uint64, n, limit int64) (slot uint64, r Result) {
	lock(&s.mu)
	defer s.mu.Unlock()
	s.allocate()
	seq = max(seq, s.newest)
	var h history
	places := s.places(k)
	s.read(places, seq, &h)
	r = h.answer(n, limit)
	if !r.OK {
		return 0, r
	}
	for _, at := range places {
		s.turn(s.cells[at:at+s.words], h.seq)
		c := &s.cells[at+1+int(h.seq%uint64(s.live))]
		*c += min(uint32(n), math.MaxUint32-*c)
	}
	s.newest = seq
	s.until = (h.seq + uint64(s.live)) * s.width
	r.Remaining -= n
	return h.seq, r
}

// refund takes n, which k was charged in the slot, out again, if the slot still counts at the tick
// seq. A count that once was as high as counts go stays there: what it left out is not known.
func (s *slotSketch) refund(k Key, seq, slot uint64, n int64) {
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells == nil || max(seq, s.newest)/s.width-slot >= uint64(s.live) {
		return
	}
	for _, at := range s.places(k) {
		c := &s.cells[at+1+int(slot%uint64(s.live))]
		if *c != math.MaxUint32 {
			*c -= min(*c, uint32(n))
		}
	}
}

// read fills h with what the cells hold at the tick seq, no earlier than the newest charge. The lock
// is held.
func (s *slotSketch) read(places [sketchRows]int, seq uint64, h *history) {
	*h = history{seq: seq / s.width, live: s.live}
	for row, at := range places {
		cell := s.cells[at : at+s.words]
		for age := range uint64(s.live) {
			count := uint32(0)
			if age >= uint64(uint32(h.seq)-cell[0]) {
				count = cell[1+(h.seq-age)%uint64(s.live)]
			}
			if row == 0 || count < h.slots[age] {
				h.slots[age] = count
			}
		}
	}
	for _, count := range h.slots[:s.live] {
		h.total += int64(count)
	}
}

// turn makes seq the newest slot of a cell: it clears those that have left. The lock is held.
func (s *slotSketch) turn(cell []uint32, seq uint64) {
	live := uint64(s.live)
	for age := range min(uint64(uint32(seq)-cell[0]), live) {
		cell[1+(seq-age)%live] = 0
	}
	cell[0] = uint32(seq)
}
