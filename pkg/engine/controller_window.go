package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// windowController rejects what exceeds a LeapArray: one budget for the whole resource.
type windowController struct {
	w     *window.LeapArray
	limit int64
}

func (c *windowController) peek(now int64, a ask, _ time.Duration, _ window.Key) answer {
	return fromResult(c.w.Peek(now, a.total, c.limit))
}

func (c *windowController) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	var r window.Result
	g.leap, r = c.w.TryAcquire(now, n, c.limit)
	return fromResult(r)
}

func (c *windowController) refund(now int64, g *grant) bool {
	c.w.Refund(now, g.leap)
	return true
}

func (c *windowController) release(now, n int64, _ window.Key) { c.w.Release(now, n) }

func (c *windowController) until(now, n int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	return c.w.Until(now, n, c.limit)
}

func (c *windowController) reset(now int64, _ window.Key) time.Duration { return c.w.Reset(now) }

// keyedWindowController does so for every parameter value by itself, in a KeyTable.
type keyedWindowController struct {
	t     *window.KeyTable
	limit int64
}

func (c *keyedWindowController) peek(now int64, a ask, _ time.Duration, k window.Key) answer {
	return fromResult(c.t.Peek(now, k, a.total, c.limit))
}

func (c *keyedWindowController) acquire(now, n int64, _ time.Duration, k window.Key, g *grant) answer {
	var r window.Result
	g.keyed, r = c.t.TryAcquire(now, k, n, c.limit)
	return fromResult(r)
}

func (c *keyedWindowController) refund(now int64, g *grant) bool {
	c.t.Refund(now, g.keyed)
	return true
}

func (c *keyedWindowController) release(now, n int64, k window.Key) { c.t.Release(now, k, n) }

func (c *keyedWindowController) until(now, n int64, _ time.Duration, k window.Key) (time.Duration, bool) {
	return c.t.Until(now, k, n, c.limit)
}

func (c *keyedWindowController) reset(now int64, k window.Key) time.Duration {
	return c.t.Reset(now, k)
}
