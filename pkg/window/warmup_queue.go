package window

import (
	"sync"
	"time"
)

// WarmUpQueue is a Throttle whose rate climbs while requests keep coming: after a quiet time requests
// are ColdFactor times as far apart as once it is warm (see WarmUpTerms). The rate changes once an
// interval, as what a WarmUp allows does; a request counts in the interval in which it came, however
// long it waits. An interval's worth of requests may take up to a nanosecond longer than the exact rate
// says, and never less.
//
// now is in nanoseconds since the Unix epoch and not negative. No method allocates. A WarmUpQueue is safe
// for concurrent use; make it with NewWarmUpQueue, the zero value is not usable.
type WarmUpQueue struct {
	interval int64

	mu     sync.Mutex
	queue  throttleState
	warmth warmth
	passed int64 // in the interval of warmth
}

// WarmUpPromise is what an Acquire took: the proof that a Refund needs. The zero value refunds nothing.
// A promise is refunded at most once.
type WarmUpPromise struct {
	promise Promise
	at, n   int64
}

// NewWarmUpQueue returns a queue that has promised nothing and is cold. The interval is positive and at
// most 36 years; where ColdFactor intervals are more than 73 years, the coldest rate is Limit in those.
func NewWarmUpQueue(now int64, interval time.Duration, t WarmUpTerms) *WarmUpQueue {
	q := &WarmUpQueue{interval: min(max(int64(interval), 1), maxInterval)}
	q.warmth = newWarmth(t.over(q.interval), now/q.interval)
	return q
}

// Adjust puts other terms in force, at once: it stays as cold or warm as it is, and promises stand.
func (q *WarmUpQueue) Adjust(now int64, t WarmUpTerms) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin(now)
	if q.warmth.given != t {
		q.warmth = q.warmth.adjust(t.over(q.interval))
	}
}

// begin brings the state to the interval of now, if that is later, and returns the rate of then.
func (q *WarmUpQueue) begin(now int64) Rate {
	if at := now / q.interval; at > q.warmth.at {
		if at > q.warmth.at+1 {
			q.passed = 0
		}
		q.warmth, q.passed = q.warmth.next(at, q.passed), 0
	}
	return q.warmth.rate(q.interval)
}

// Peek answers what the last of several Acquires would be answered that together ask for total hits,
// first of them in the first; for a single request both are its hits.
func (q *WarmUpQueue) Peek(now, first, total int64, maxWait time.Duration, strict bool) Wait {
	q.mu.Lock()
	r, s := q.begin(now), q.queue
	q.mu.Unlock()
	return s.peek(now, first, total, r, maxWait, strict)
}

// Acquire promises n hits a moment as Throttle.Acquire does, at the rate of now.
func (q *WarmUpQueue) Acquire(now, n int64, maxWait time.Duration, strict bool) (WarmUpPromise, Wait) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.begin(now)
	before := q.queue
	after, w := before.acquire(now, n, r, maxWait, strict)
	if !w.OK {
		return WarmUpPromise{}, w
	}
	q.queue = after
	q.passed += n
	return WarmUpPromise{Promise{before, after}, q.warmth.at, n}, w
}

// Refund takes back a promise: it no longer warms the queue, and if it is the newest the next request
// gets its place. It returns false if it is not, so that the place stays unused, and for the zero value.
func (q *WarmUpQueue) Refund(now int64, p WarmUpPromise) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.begin(now)
	if p.at == q.warmth.at {
		q.passed -= p.n
	}
	after, ok := q.queue.refund(p.promise)
	q.queue = after
	return ok
}

// Until returns how long it takes until a call of n hits would not be refused, if nobody else came. It is
// false if it always will be (n above the Limit, or below 1). Within the interval of now and the next it
// is the first such moment; beyond, it is one at which the call would not be refused however cold it is by then.
func (q *WarmUpQueue) Until(now, n int64, maxWait time.Duration, strict bool) (time.Duration, bool) {
	q.mu.Lock()
	q.begin(now)
	s, warm, passed := q.queue, q.warmth, q.passed
	q.mu.Unlock()
	coldest := warm
	coldest.tokens = max(warm.tokens, warm.most)
	for i, then := range [...]warmth{warm, warm.next(warm.at+1, passed), coldest} {
		d, ok := s.until(now, n, then.rate(q.interval), maxWait, strict)
		if !ok {
			return 0, false
		}
		if i > 0 {
			d = max(d, time.Duration((warm.at+int64(i))*q.interval-now))
		}
		if i == 2 || now+int64(d) < (warm.at+int64(i)+1)*q.interval {
			return d, true
		}
	}
	return 0, false
}
