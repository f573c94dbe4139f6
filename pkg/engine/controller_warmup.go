package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// warmUpController is a window whose limit climbs while requests keep coming, for a whole resource.
type warmUpController struct {
	w     *window.WarmUp
	terms window.WarmUpTerms
}

func (c *warmUpController) adjust(now int64) { c.w.Adjust(now, c.terms) }

func (c *warmUpController) peek(now int64, a ask, _ time.Duration, _ window.Key) answer {
	return fromResult(c.w.Peek(now, a.total))
}

func (c *warmUpController) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	var r window.Result
	g.warmUp, r = c.w.TryAcquire(now, n)
	return fromResult(r)
}

func (c *warmUpController) refund(now int64, g *grant) bool {
	c.w.Refund(now, g.warmUp)
	return true
}

// release does nothing: hits that are given back do not make a window colder.
func (c *warmUpController) release(int64, int64, window.Key) {}

func (c *warmUpController) until(now, n int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	return c.w.Until(now, n)
}

func (c *warmUpController) reset(now int64, _ window.Key) time.Duration { return c.w.Reset(now) }

// warmUpFeed charges the window whatever it allows.
type warmUpFeed struct{ warmUpController }

func (c *warmUpFeed) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	g.warmUp = c.w.Charge(now, n)
	return fed
}

// warmUpQueueController makes requests wait for their turn at a rate that climbs while they keep coming,
// for a whole resource.
type warmUpQueueController struct {
	q     *window.WarmUpQueue
	terms window.WarmUpTerms
	queue
}

func (c *warmUpQueueController) adjust(now int64) { c.q.Adjust(now, c.terms) }

func (c *warmUpQueueController) peek(now int64, a ask, patience time.Duration, _ window.Key) answer {
	maxWait, strict := c.bound(patience)
	w := fromWait(c.q.Peek(now, a.first, a.total, maxWait, strict))
	w.late = !w.ok && patience < c.maxWait && c.q.Peek(now, a.first, a.total, c.maxWait, c.strict).OK
	return w
}

func (c *warmUpQueueController) acquire(now, n int64, patience time.Duration, _ window.Key, g *grant) answer {
	maxWait, strict := c.bound(patience)
	var w window.Wait
	g.warmUpQueue, w = c.q.Acquire(now, n, maxWait, strict)
	return fromWait(w)
}

func (c *warmUpQueueController) refund(now int64, g *grant) bool {
	return c.q.Refund(now, g.warmUpQueue)
}

// release does nothing: hits that are given back do not shorten a queue.
func (c *warmUpQueueController) release(int64, int64, window.Key) {}

func (c *warmUpQueueController) until(now, n int64, patience time.Duration, _ window.Key) (time.Duration, bool) {
	maxWait, strict := c.bound(patience)
	return c.q.Until(now, n, maxWait, strict)
}

func (c *warmUpQueueController) reset(now int64, _ window.Key) time.Duration {
	d, _ := c.q.Until(now, 1, 0, false)
	return d
}
