package admin

import "container/heap"

// spaceSaving finds the values that occur most often in a stream, in a fixed number of counters: Metwally, Agrawal and
// El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams" (2005). A value without a counter
// takes over the smallest one, count included, and remembers how much of it was not its own. So with m counters and a
// total weight of n:
//
//   - a count is never too small, and too large by at most its error, which is at most n/m;
//   - every value whose true count is above n/m has a counter.
//
// It is not safe for concurrent use. Make it with newSpaceSaving.
type spaceSaving struct {
	byHash   map[uint64]*counter
	smallest counters
	total    int64 // weight
}

// counter counts one value.
type counter struct {
	hash  uint64
	value seen
	count int64
	over  int64 // at most this much of count belongs to others
	index int   // in the heap
}

func newSpaceSaving(m int) *spaceSaving {
	return &spaceSaving{byHash: make(map[uint64]*counter, m), smallest: make(counters, 0, m)}
}

// add counts a value, which hash stands for, with a weight of at least 1.
func (s *spaceSaving) add(hash uint64, value seen, weight int64) {
	s.total += weight
	c := s.byHash[hash]
	switch {
	case c != nil:
		c.count += weight
	case len(s.smallest) < cap(s.smallest):
		c = &counter{hash: hash, value: value, count: weight, index: len(s.smallest)}
		s.byHash[hash] = c
		heap.Push(&s.smallest, c)
		return
	default:
		c = s.smallest[0]
		delete(s.byHash, c.hash)
		s.byHash[hash] = c
		c.hash, c.value, c.over = hash, value, c.count
		c.count += weight
	}
	heap.Fix(&s.smallest, c.index)
}

// floor is the most that a value without a counter may have occurred.
func (s *spaceSaving) floor() int64 {
	if len(s.smallest) < cap(s.smallest) {
		return 0
	}
	return s.smallest[0].count
}

// counters is a heap with the smallest count first. Its methods are those of heap.Interface.
type counters []*counter

func (h counters) Len() int           { return len(h) }
func (h counters) Less(i, j int) bool { return h[i].count < h[j].count }

func (h counters) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push adds a counter; its capacity is never exceeded.
func (h *counters) Push(c any) { *h = append(*h, c.(*counter)) }

// Pop takes the last one off.
func (h *counters) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
