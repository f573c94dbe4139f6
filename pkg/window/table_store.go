package window

import (
	"math"
	"sync/atomic"
)

// groupSlots is how many entries a group holds.
const groupSlots = 8

// vacant is the state of a slot that has no entry, or whose entry is being moved or replaced. No
// entry's state equals it, so no compare-and-swap of a state can succeed meanwhile.
const vacant = math.MaxUint64

// group is two cache lines: those of its keys and of their states.
//
//	key   | k0 | k1 | k2 | k3 | k4 | k5 | k6 | k7 |   0: no entry
//	state | s0 | s1 | s2 | s3 | s4 | s5 | s6 | s7 |   vacant: no entry, or one that is on the move
//
// Keys, and states from and to vacant, change under the shard's lock. A state that is not vacant
// may be changed by anybody, in one compare-and-swap.
type group struct {
	key   [groupSlots]atomic.Uint64
	state [groupSlots]atomic.Uint64
}

// store is the memory of a shard until the shard is resized. It holds no pointer to anything, so
// the garbage collector does not look into it.
//
// A blank store is what a shard has that holds no entry: one group, which no key is ever given a slot
// in, so that all such shards of a table share one store.
type store struct {
	groups []group
	side   []uint32 // what lies beside the state of slot i: words from i*words on; guarded by the shard's lock
	words  int
	blank  bool
}

func newStore(groups int, f form) *store {
	s := &store{groups: make([]group, groups), words: f.side}
	for i := range s.groups {
		for j := range groupSlots {
			s.groups[i].state[j].Store(vacant)
		}
	}
	if s.words != 0 {
		s.side = make([]uint32, groups*groupSlots*s.words)
	}
	return s
}

// newBlank returns a blank store.
func newBlank() *store {
	s := newStore(1, form{})
	s.blank = true
	return s
}

// size is how many groups can hold entries.
func (s *store) size() int {
	if s.blank {
		return 0
	}
	return len(s.groups)
}

// choiceBits is how many bits of a key choose each of its two groups. With those of the shard they
// make at most 64.
const choiceBits = 29

// choices returns the two groups that k may be in, two different ones if there are two. They depend
// on different bits of the key, so keys that share one group seldom share the other.
func (s *store) choices(k Key) (a, b int) {
	const mask = 1<<choiceBits - 1
	n := uint64(len(s.groups))
	x := uint64(k) >> choiceBits & mask * n >> choiceBits
	y := x + 1 + uint64(k)&mask*(n-1)>>choiceBits
	if y >= n {
		y -= n
	}
	return int(x), int(y)
}

// find returns the slot that has k, or -1.
func (s *store) find(k Key) int {
	a, b := s.choices(k)
	g := &s.groups[a]
	step(&g.key[0]) // once a group, for there to be fewer orders to try
	for i := range groupSlots {
		if g.key[i].Load() == uint64(k) {
			return a*groupSlots + i
		}
	}
	g = &s.groups[b]
	step(&g.key[0])
	for i := range groupSlots {
		if g.key[i].Load() == uint64(k) {
			return b*groupSlots + i
		}
	}
	return -1
}

// slot returns the key and the state of slot i.
func (s *store) slot(i int) (key, state *atomic.Uint64) {
	g := &s.groups[i/groupSlots]
	return &g.key[i%groupSlots], &g.state[i%groupSlots]
}

// sideOf returns the counters of slot i. The shard's lock is held.
func (s *store) sideOf(i int) []uint32 {
	return s.side[i*s.words : (i+1)*s.words]
}

// empty returns a slot without an entry that k could take, from the emptier of its groups, or -1.
func (s *store) empty(k Key) int {
	if s.blank {
		return -1
	}
	a, b := s.choices(k)
	slot, most := -1, 0
	for _, at := range [2]int{a, b} {
		g := &s.groups[at]
		free, last := 0, 0
		for i := range groupSlots {
			if g.state[i].Load() == vacant {
				free, last = free+1, i
			}
		}
		if free > most {
			slot, most = at*groupSlots+last, free
		}
	}
	return slot
}
