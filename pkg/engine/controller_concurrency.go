package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// unlike what leaves a window, nobody knows when calls under way will end: until and reset know
// nothing.
type untimed struct{}

func (untimed) until(int64, int64, time.Duration, window.Key) (time.Duration, bool) { return 0, false }

func (untimed) reset(int64, window.Key) time.Duration { return 0 }

// concurrencyController refuses what exceeds a number of calls under way, for a whole resource.
type concurrencyController struct {
	f     *window.Inflight
	limit int64
	untimed
}

func (c *concurrencyController) peek(_ int64, a ask, _ time.Duration, _ window.Key) answer {
	return fromResult(c.f.Peek(a.total, c.limit))
}

func (c *concurrencyController) acquire(_, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	r := c.f.TryAcquire(n, c.limit)
	g.held = hold{n: uint32(n)}
	return fromResult(r)
}

func (c *concurrencyController) refund(now int64, g *grant) bool {
	c.end(now, g.held, ending{how: withdrawn})
	return true
}

// release ends calls that nobody has a token for, for Envoy configurations that give hits back when a
// stream ends. Those of a token that is completed as well are given back twice; below zero nothing is.
func (c *concurrencyController) release(_, n int64, _ window.Key) { c.f.Release(n) }

func (c *concurrencyController) needsEnd(hold) bool { return true }

func (c *concurrencyController) end(_ int64, h hold, _ ending) { c.f.Release(int64(h.n)) }

// keyedConcurrencyController does so for every parameter value by itself.
type keyedConcurrencyController struct {
	t     *window.KeyInflight
	limit int64
	untimed
}

func (c *keyedConcurrencyController) peek(_ int64, a ask, _ time.Duration, k window.Key) answer {
	return fromResult(c.t.Peek(k, a.total, c.limit))
}

func (c *keyedConcurrencyController) acquire(_, n int64, _ time.Duration, k window.Key, g *grant) answer {
	calls, r := c.t.TryAcquire(k, n, c.limit)
	g.held = hold{calls: calls}
	return fromResult(r)
}

func (c *keyedConcurrencyController) refund(now int64, g *grant) bool {
	c.end(now, g.held, ending{how: withdrawn})
	return true
}

// release does nothing: of whose calls hits are given back is not known for certain.
func (c *keyedConcurrencyController) release(int64, int64, window.Key) {}

func (c *keyedConcurrencyController) needsEnd(hold) bool { return true }

func (c *keyedConcurrencyController) end(_ int64, h hold, _ ending) { c.t.Release(h.calls) }
