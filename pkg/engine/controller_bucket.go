package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// bucketController is `window: token-bucket`: Sentinel's own check of gateway rules, for a whole
// resource.
type bucketController struct {
	b     *window.TokenBucket
	rate  window.Rate
	burst int64
}

func (c *bucketController) peek(now int64, a ask, _ time.Duration, _ window.Key) answer {
	return fromResult(c.b.Peek(now, a.total, c.rate, c.burst))
}

func (c *bucketController) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	p, r := c.b.TryAcquire(now, n, c.rate, c.burst)
	g.bucket = p
	return fromResult(r)
}

func (c *bucketController) refund(_ int64, g *grant) bool {
	c.b.Refund(g.bucket)
	return true
}

func (c *bucketController) release(_, n int64, _ window.Key) { c.b.Release(n) }

func (c *bucketController) until(now, n int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	return c.b.Until(now, n, c.rate, c.burst)
}

func (c *bucketController) reset(now int64, _ window.Key) time.Duration {
	return c.b.Reset(now, c.rate)
}
