package window

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// sketchRows is how many cells each key has in a sketch, one in each row. What a key did is counted
// in all of them, and read from those that others counted least in.
const sketchRows = 4

// leastColumns is how many cells a row has at least.
const leastColumns = 64

// sketch is the memory of a count-min sketch: four rows of cells, each key with one cell in each,
// by four hashes that nobody can foresee without the seed. It is allocated when the first key finds
// no room, and dropped by Maintain. What the cells hold is known to slotSketch and promiseSketch.
//
// A key's charges in a sketch change only under the lock of the key's shard, so whoever makes an
// entry for the key finds all of them. The cells change under the sketch's own lock, which is taken
// after that of the shard.
type sketch struct {
	columns uint64 // of each row; constant
	words   int    // of each cell; constant
	size    int64  // bytes, when allocated; constant
	salt    uint64 // secret; constant

	used  atomic.Bool // cells is allocated; written under mu
	mu    sync.Mutex
	cells []uint32 // guarded by mu
	until uint64   // tick of the table from which on all that cells hold has expired; guarded by mu
}

// init sizes the sketch for a table of so many slots at full size: a row has a cell for eight of
// them.
func (s *sketch) init(slots, words int, seed maphash.Seed) {
	s.columns = uint64(sketchColumns(slots))
	s.words = words
	s.size = sketchBytes(slots, words)
	s.salt = maphash.String(seed, "sketch")
}

func sketchColumns(slots int) int { return max(slots/8, leastColumns) }

func sketchBytes(slots, words int) int64 {
	return allocated(4 * sketchRows * int64(sketchColumns(slots)) * int64(words))
}

// allocate makes the cells, if there are none. The lock is held.
func (s *sketch) allocate() {
	if s.cells == nil {
		s.cells = make([]uint32, sketchRows*int(s.columns)*s.words)
		s.used.Store(true)
	}
}

// drop gives the memory back if all that it holds has expired by the tick seq, which the table's
// clock has reached: no caller will be served in an earlier one.
func (s *sketch) drop(seq uint64) {
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.cells != nil && s.until <= seq {
		s.cells = nil
		s.used.Store(false)
	}
}

// places returns where the cells of k begin.
func (s *sketch) places(k Key) (at [sketchRows]int) {
	h := uint64(k) ^ s.salt
	for row := range at {
		h = scatter(h)
		column := h >> 32 * s.columns >> 32
		at[row] = (row*int(s.columns) + int(column)) * s.words
	}
	return at
}

// scatter makes of 64 bits 64 others (the mixer of SplitMix64).
func scatter(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
