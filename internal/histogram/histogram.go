// Package histogram counts durations in buckets while requests wait for nothing but the additions.
package histogram

import (
	"sync/atomic"
	"time"
)

// bounds are the upper limits of the buckets, each included: 1, 2 and 5 times each power of ten from
// a microsecond to ten seconds. The buckets of all histograms are the same, so that the zero value of
// each is ready, and a decision of microseconds and a wait of seconds are both told within a factor of 2.5.
var bounds = [...]time.Duration{
	1 * time.Microsecond, 2 * time.Microsecond, 5 * time.Microsecond,
	10 * time.Microsecond, 20 * time.Microsecond, 50 * time.Microsecond,
	100 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond,
	1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
}

// Histogram counts durations. The zero value is empty and ready. All methods are safe for concurrent
// use; it must not be copied.
type Histogram struct {
	counts [len(bounds) + 1]atomic.Uint64 // the last is of those above all bounds
	sum    atomic.Int64                   // nanoseconds
}

// Observe counts d; below zero it counts as zero. It allocates nothing and never waits.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(int64(d))
}

// Bucket is one upper limit and what does not exceed it.
type Bucket struct {
	Bound time.Duration
	Count uint64 // durations of at most Bound, those of smaller buckets included
}

// State is what a histogram holds at one moment. Count fits the buckets exactly; a duration that is
// being observed may be part of them and not yet of Sum. Nothing of it ever goes down.
type State struct {
	Count   uint64 // all durations, also those above all bounds
	Sum     time.Duration
	Buckets []Bucket // by rising bound
}

// Read returns what the histogram holds.
func (h *Histogram) Read() State {
	s := State{Sum: time.Duration(h.sum.Load()), Buckets: make([]Bucket, len(bounds))}
	for i, bound := range bounds {
		s.Count += h.counts[i].Load()
		s.Buckets[i] = Bucket{bound, s.Count}
	}
	s.Count += h.counts[len(bounds)].Load()
	return s
}
