package window

import (
	"errors"
	"sync"
	"time"
)

// MaxRingSize is the largest number of calls that an OutcomeRing holds.
const MaxRingSize = 1 << 20

// ErrRingSize is returned for an OutcomeRing whose size is out of range.
var ErrRingSize = errors.New("the number of calls must be 1 to 1048576")

// OutcomeRing tells how the last calls ended, as many as its size, however long ago that was. It
// does not know how many are enough to judge by; Since lets its user decide not to wait for more.
//
// Every Record is told exactly what the ring then holds, under any concurrency; calls that end at
// once are taken in one order or another.
//
// now is in nanoseconds since the Unix epoch and not negative. No method allocates. An OutcomeRing is
// safe for concurrent use, each method takes a short lock; make it with NewOutcomeRing, the zero
// value is not usable.
type OutcomeRing struct {
	mu   sync.Mutex
	sum  Tally    // guarded by mu
	next int      // place of the next call; guarded by mu
	ring []uint64 // RT in nanoseconds << 2 | slow << 1 | error; 8 bytes a call; guarded by mu
	_    [2*cacheLine - 80]byte
}

// NewOutcomeRing returns an empty ring. The error is ErrRingSize if size is not 1 to MaxRingSize.
func NewOutcomeRing(size int) (*OutcomeRing, error) {
	if size < 1 || size > MaxRingSize {
		return nil, ErrRingSize
	}
	return &OutcomeRing{ring: make([]uint64, size)}, nil
}

// Record counts a call that ended now, in the place of the oldest if the ring is full, and returns
// what the ring then holds.
func (r *OutcomeRing) Record(now int64, o Outcome) Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.sum.Total {
	case 0:
		r.sum.Since = now
	case int64(len(r.ring)):
		r.drop(r.ring[r.next])
	}
	r.ring[r.next] = packOutcome(o)
	if r.next++; r.next == len(r.ring) {
		r.next = 0
	}
	// The times of MaxRingSize calls of MaxRT each are below the largest value, so drop is exact.
	r.sum = r.sum.Plus(o)
	return r.sum
}

// Tally returns what the ring holds. What time it is plays no part.
func (r *OutcomeRing) Tally(int64) Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum
}

// Reset empties the ring.
func (r *OutcomeRing) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum, r.next = Tally{}, 0
}

// drop takes a call out of the sum.
func (r *OutcomeRing) drop(v uint64) {
	r.sum.Total--
	r.sum.Slow -= int64(v >> 1 & 1)
	r.sum.Errors -= int64(v & 1)
	r.sum.RT -= time.Duration(v >> 2)
}

func packOutcome(o Outcome) uint64 {
	v := uint64(clipRT(o.RT)) << 2
	if o.Slow {
		v |= 2
	}
	if o.Error {
		v |= 1
	}
	return v
}
