package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// The controllers of this file do for every parameter value by itself what their counterparts do
// for a whole resource.

// keyedQueueController makes the requests of each value wait for their turn.
type keyedQueueController struct {
	t *window.KeyThrottle
	queue
}

func fromKeyedWait(w window.Wait, untracked bool) answer {
	a := fromWait(w)
	a.untracked = untracked
	return a
}

func (c *keyedQueueController) peek(now int64, a ask, patience time.Duration, k window.Key) answer {
	maxWait, strict := c.bound(patience)
	w := fromKeyedWait(c.t.Peek(now, k, a.first, a.total, c.rate, maxWait, strict))
	if !w.ok && patience < c.maxWait {
		unhurried, _ := c.t.Peek(now, k, a.first, a.total, c.rate, c.maxWait, c.strict)
		w.late = unhurried.OK
	}
	return w
}

func (c *keyedQueueController) acquire(now, n int64, patience time.Duration, k window.Key, g *grant) answer {
	maxWait, strict := c.bound(patience)
	p, w, untracked := c.t.Acquire(now, k, n, c.rate, maxWait, strict)
	g.keyedPromise = p
	return fromKeyedWait(w, untracked)
}

func (c *keyedQueueController) refund(now int64, g *grant) bool {
	return c.t.Refund(now, g.keyedPromise)
}

// release does nothing: hits that are given back do not shorten a queue.
func (c *keyedQueueController) release(int64, int64, window.Key) {}

func (c *keyedQueueController) until(now, n int64, patience time.Duration, k window.Key) (time.Duration, bool) {
	maxWait, strict := c.bound(patience)
	return c.t.Until(now, k, n, c.rate, maxWait, strict)
}

func (c *keyedQueueController) reset(now int64, k window.Key) time.Duration {
	d, _ := c.t.Until(now, k, 1, c.rate, 0, false)
	return d
}

// keyedBucketController is `window: token-bucket` per value.
type keyedBucketController struct {
	t     *window.KeyBucket
	rate  window.Rate
	burst int64
}

func (c *keyedBucketController) peek(now int64, a ask, _ time.Duration, k window.Key) answer {
	return fromResult(c.t.Peek(now, k, a.total, c.rate, c.burst))
}

func (c *keyedBucketController) acquire(now, n int64, _ time.Duration, k window.Key, g *grant) answer {
	p, r := c.t.TryAcquire(now, k, n, c.rate, c.burst)
	g.keyedBucket = p
	return fromResult(r)
}

func (c *keyedBucketController) refund(now int64, g *grant) bool {
	c.t.Refund(now, g.keyedBucket)
	return true
}

func (c *keyedBucketController) release(now, n int64, k window.Key) { c.t.Release(now, k, n) }

func (c *keyedBucketController) until(now, n int64, _ time.Duration, k window.Key) (time.Duration, bool) {
	return c.t.Until(now, k, n, c.rate, c.burst)
}

func (c *keyedBucketController) reset(now int64, k window.Key) time.Duration {
	return c.t.Reset(now, k, c.rate)
}

// keyedBurstController is a window with a burst per value.
type keyedBurstController struct {
	t            *window.KeyBurst
	limit, burst int64
}

func (c *keyedBurstController) peek(now int64, a ask, _ time.Duration, k window.Key) answer {
	return fromResult(c.t.Peek(now, k, a.total, c.limit, c.burst))
}

func (c *keyedBurstController) acquire(now, n int64, _ time.Duration, k window.Key, g *grant) answer {
	p, r := c.t.TryAcquire(now, k, n, c.limit, c.burst)
	g.keyedBurst = p
	return fromResult(r)
}

func (c *keyedBurstController) refund(now int64, g *grant) bool {
	c.t.Refund(now, g.keyedBurst)
	return true
}

func (c *keyedBurstController) release(now, n int64, k window.Key) { c.t.Release(now, k, n) }

func (c *keyedBurstController) until(now, n int64, _ time.Duration, k window.Key) (time.Duration, bool) {
	return c.t.Until(now, k, n, c.limit, c.burst)
}

func (c *keyedBurstController) reset(now int64, k window.Key) time.Duration {
	return c.t.Reset(now, k)
}
