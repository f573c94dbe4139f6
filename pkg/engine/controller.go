package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// controller is how one control behaviour spends a rule's budget. n is at least 1. The key is that
// of the parameter value, and 0 for a rule that limits its whole resource. A controller belongs to
// one snapshot and holds the rule's limit; the window behind it may outlive the snapshot.
type controller interface {
	peek(now, n int64, k window.Key) window.Result
	acquire(now, n int64, k window.Key) (grant, window.Result)
	refund(now int64, g grant)
	release(now, n int64, k window.Key)
	until(now, n int64, k window.Key) (time.Duration, bool)
	reset(now int64, k window.Key) time.Duration
}

// grant is what an acquire charged, in the form of whichever state the controller keeps.
type grant struct {
	leap  window.Permit
	keyed window.KeyPermit
}

// windowController limits a whole resource in one LeapArray.
type windowController struct {
	w     *window.LeapArray
	limit int64
}

func (c *windowController) peek(now, n int64, _ window.Key) window.Result {
	return c.w.Peek(now, n, c.limit)
}

func (c *windowController) acquire(now, n int64, _ window.Key) (grant, window.Result) {
	p, r := c.w.TryAcquire(now, n, c.limit)
	return grant{leap: p}, r
}

func (c *windowController) refund(now int64, g grant) { c.w.Refund(now, g.leap) }

func (c *windowController) release(now, n int64, _ window.Key) { c.w.Release(now, n) }

func (c *windowController) until(now, n int64, _ window.Key) (time.Duration, bool) {
	return c.w.Until(now, n, c.limit)
}

func (c *windowController) reset(now int64, _ window.Key) time.Duration { return c.w.Reset(now) }

// keyedController limits every parameter value by itself, in one KeyTable.
type keyedController struct {
	t     *window.KeyTable
	limit int64
}

func (c *keyedController) peek(now, n int64, k window.Key) window.Result {
	return c.t.Peek(now, k, n, c.limit)
}

func (c *keyedController) acquire(now, n int64, k window.Key) (grant, window.Result) {
	p, r := c.t.TryAcquire(now, k, n, c.limit)
	return grant{keyed: p}, r
}

func (c *keyedController) refund(now int64, g grant) { c.t.Refund(now, g.keyed) }

func (c *keyedController) release(now, n int64, k window.Key) { c.t.Release(now, k, n) }

func (c *keyedController) until(now, n int64, k window.Key) (time.Duration, bool) {
	return c.t.Until(now, k, n, c.limit)
}

func (c *keyedController) reset(now int64, k window.Key) time.Duration { return c.t.Reset(now, k) }
