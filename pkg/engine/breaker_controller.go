package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// breakerController refuses calls while a circuit breaker is open. It counts calls, not hits: a call
// of several requests is let through once, and ends once. It is a tracker.
type breakerController struct {
	b *breaker
	breakerTerms
}

// unmeasured is what remains of a budget that is none, so that no budget has more.
const unmeasured = window.MaxLimit

func (c *breakerController) peek(now int64, _ ask, _ time.Duration, _ window.Key) answer {
	return fromBreaker(c.b.peek(now, &c.breakerTerms))
}

func (c *breakerController) acquire(now, _ int64, _ time.Duration, _ window.Key, g *grant) answer {
	p, ok := c.b.acquire(now, &c.breakerTerms)
	g.held = hold{n: uint32(p)}
	return fromBreaker(ok)
}

func fromBreaker(ok bool) answer {
	a := answer{ok: ok}
	if ok {
		a.remaining = unmeasured
	}
	return a
}

func (c *breakerController) refund(_ int64, g *grant) bool {
	c.b.refund(breakerPermit(g.held.n))
	return true
}

// release does nothing: a breaker has no budget that hits could be given back to.
func (c *breakerController) release(int64, int64, window.Key) {}

func (c *breakerController) until(now, _ int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	return c.b.until(now, &c.breakerTerms)
}

// reset is 0: nothing is charged that could be forgotten.
func (c *breakerController) reset(int64, window.Key) time.Duration { return 0 }

// adjust puts the terms in force, by which calls that end from now on are judged.
func (c *breakerController) adjust(int64) { c.b.terms.Store(&c.breakerTerms) }

// needsEnd is true of a probe: without its end the breaker opens again when its time is up.
func (c *breakerController) needsEnd(h hold) bool { return c.b.probing(breakerPermit(h.n)) }

// end judges a call by the terms that are in force now. One of which nobody knows how it ended tells
// nothing; was it a probe, then its time is up or will be.
func (c *breakerController) end(now int64, h hold, e ending) {
	inForce := breakerController{c.b, *c.b.terms.Load()}
	p := breakerPermit(h.n)
	switch e.how {
	case succeeded, failed:
		inForce.complete(now, p, e.rt, e.how == failed)
	case aborted:
		inForce.abandon(now, p, e.rt)
	case withdrawn:
		c.b.refund(p)
	}
}

// complete reports that a call ended after rt, and whether it failed. It returns false if the report
// comes too late to count.
func (c *breakerController) complete(now int64, p breakerPermit, rt time.Duration, failed bool) bool {
	return c.b.complete(now, p, c.outcome(rt, failed), &c.breakerTerms)
}

// abandon reports that the caller of a call left after rt. Whether the call would have failed is
// unknown; only that it took too long may be known already.
func (c *breakerController) abandon(now int64, p breakerPermit, rt time.Duration) bool {
	o := c.outcome(rt, false)
	if o.Slow {
		return c.b.complete(now, p, o, &c.breakerTerms)
	}
	c.b.refund(p)
	return true
}
