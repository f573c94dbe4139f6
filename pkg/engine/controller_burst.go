package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// burstController is a window with a burst, for a whole resource: the window admits limit + burst,
// and a bucket beside it sees to it that a client who keeps coming gets limit per interval.
type burstController struct {
	b            *window.Burst
	limit, burst int64
}

func (c *burstController) peek(now int64, a ask, _ time.Duration, _ window.Key) answer {
	return fromResult(c.b.Peek(now, a.total, c.limit, c.burst))
}

func (c *burstController) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	p, r := c.b.TryAcquire(now, n, c.limit, c.burst)
	g.burst = p
	return fromResult(r)
}

func (c *burstController) refund(now int64, g *grant) bool {
	c.b.Refund(now, g.burst)
	return true
}

func (c *burstController) release(now, n int64, _ window.Key) { c.b.Release(now, n) }

func (c *burstController) until(now, n int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	return c.b.Until(now, n, c.limit, c.burst)
}

func (c *burstController) reset(now int64, _ window.Key) time.Duration { return c.b.Reset(now) }
