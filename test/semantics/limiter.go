package main

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// limiter is one budget as its clients see it.
type limiter interface {
	// acquire asks for n hits at now. If they pass, they are answered wait later.
	acquire(now, n int64) (wait time.Duration, ok bool)
	// until is how long after now the n hits that acquire has just refused would pass if nobody
	// else came; false: never.
	until(now, n int64) (time.Duration, bool)
}

type windowLimiter struct {
	w     *window.LeapArray
	limit int64
}

func (l windowLimiter) acquire(now, n int64) (time.Duration, bool) {
	_, r := l.w.TryAcquire(now, n, l.limit)
	return 0, r.OK
}

func (l windowLimiter) until(now, n int64) (time.Duration, bool) { return l.w.Until(now, n, l.limit) }

type burstLimiter struct {
	b            *window.Burst
	count, burst int64
}

func (l burstLimiter) acquire(now, n int64) (time.Duration, bool) {
	_, r := l.b.TryAcquire(now, n, l.count, l.burst)
	return 0, r.OK
}

func (l burstLimiter) until(now, n int64) (time.Duration, bool) {
	return l.b.Until(now, n, l.count, l.burst)
}

type bucketLimiter struct {
	b     *window.TokenBucket
	rate  window.Rate
	burst int64
}

func (l bucketLimiter) acquire(now, n int64) (time.Duration, bool) {
	_, r := l.b.TryAcquire(now, n, l.rate, l.burst)
	return 0, r.OK
}

func (l bucketLimiter) until(now, n int64) (time.Duration, bool) {
	return l.b.Until(now, n, l.rate, l.burst)
}

type queueLimiter struct {
	t       *window.Throttle
	rate    window.Rate
	maxWait time.Duration
}

// A rule refuses the wait that maxQueueingTimeoutMs names, hence the strict comparison.

func (l queueLimiter) acquire(now, n int64) (time.Duration, bool) {
	_, w := l.t.Acquire(now, n, l.rate, l.maxWait, true)
	return w.Wait, w.OK
}

func (l queueLimiter) until(now, n int64) (time.Duration, bool) {
	return l.t.Until(now, n, l.rate, l.maxWait, true)
}
