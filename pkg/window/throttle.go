package window

import (
	"sync"
	"time"
)

// Throttle spaces requests evenly: each is promised a moment, at which it is to be answered, that
// lies its cost after the moment promised before it. The cost of n hits is n times
// Interval*Denominator/Count. A request that would wait too long is refused and changes nothing.
//
// Exactly, without any rounding that could add up: the promised moments leave at least the cost of
// the later request between them, so every span of one Interval, start and end included, holds at
// most Count/Denominator, rounded up, and one more; a span that includes its start only, at most
// Count/Denominator, rounded up. Waits are given in whole nanoseconds, rounded up. Where Count
// exceeds the nanoseconds of the interval, several requests fall on one nanosecond, and the first
// of the two bounds grows by what falls on one.
//
// Rate and longest wait are those of each call, so a changed rule acts at once: promises that were
// made stand, and new ones follow the newest of them at the new cost.
//
// now is in nanoseconds since the Unix epoch and not negative; a caller whose clock lies behind
// waits the longer. No method allocates. A Throttle is safe for concurrent use; the zero value is
// ready, and must not be copied after its first use.
type Throttle struct {
	mu    sync.Mutex
	state throttleState // guarded by mu
	_     [cacheLine - 24]byte
}

// NewThrottle returns a Throttle that has promised nothing: its first request passes at once.
func NewThrottle() *Throttle { return &Throttle{} }

// Wait is the answer of a Throttle.
type Wait struct {
	OK        bool
	Wait      time.Duration // if OK: from now until the request is to be answered
	Remaining int64         // how many single requests would be promised a moment now, after this one if it was; at most MaxLimit
}

// Promise is what an Acquire took: the proof that a Refund needs. The zero value is of a refusal,
// and refunds nothing. A promise is refunded at most once.
type Promise struct{ before, after throttleState }

// Peek answers what the last of several Acquires would be answered that together ask for total
// hits, first of them in the first; for a single request both are its hits. It changes nothing.
func (t *Throttle) Peek(now, first, total int64, r Rate, maxWait time.Duration, strict bool) Wait {
	t.mu.Lock()
	s := t.state
	t.mu.Unlock()
	return s.peek(now, first, total, r, maxWait, strict)
}

// Acquire promises n hits a moment if it lies no more than maxWait after now, or, if strict, less
// than maxWait after; now itself is always allowed. Otherwise it changes nothing. n below 1 is
// refused, and so is n above r.Limit. A maxWait below 0 acts as 0, one above 36 years as 36 years.
func (t *Throttle) Acquire(now, n int64, r Rate, maxWait time.Duration, strict bool) (Promise, Wait) {
	t.mu.Lock()
	before := t.state
	after, w := before.acquire(now, n, r, maxWait, strict)
	t.state = after
	t.mu.Unlock()
	if !w.OK {
		return Promise{}, w
	}
	return Promise{before, after}, w
}

// Refund takes back the newest promise: the next request gets its place. It returns false, and
// changes nothing, if there has been a later promise, which stands, so that the place stays unused;
// and for the zero Promise. What time it is plays no part.
func (t *Throttle) Refund(_ int64, p Promise) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	after, ok := t.state.refund(p)
	t.state = after
	return ok
}

// Until returns how long it takes until a call of n hits would not be refused, if nobody else came:
// at that moment it would not be, a nanosecond earlier it would. It is 0 if it would not be now,
// and false if it always will be (n above r.Limit, or below 1).
func (t *Throttle) Until(now, n int64, r Rate, maxWait time.Duration, strict bool) (time.Duration, bool) {
	t.mu.Lock()
	s := t.state
	t.mu.Unlock()
	return s.until(now, n, r, maxWait, strict)
}
