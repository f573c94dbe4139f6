package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// relatedController refuses by what another resource has used, and takes nothing itself. What it looks
// at is the memory of the rule, which a feed of that resource fills.
type relatedController struct{ controller }

func (c *relatedController) adjust(now int64) {
	if a, ok := c.controller.(adjustable); ok {
		a.adjust(now)
	}
}

func (c *relatedController) acquire(now, n int64, patience time.Duration, k window.Key, _ *grant) answer {
	return c.peek(now, ask{n, n}, patience, k)
}

func (c *relatedController) refund(int64, *grant) bool { return true }

func (c *relatedController) release(int64, int64, window.Key) {}

// feedController charges what a resource uses to a memory that a rule of another resource looks at.
// It refuses nothing.
type feedController struct{ controller }

func (c *feedController) peek(int64, ask, time.Duration, window.Key) answer { return fed }

func (c *feedController) acquire(now, n int64, patience time.Duration, k window.Key, g *grant) answer {
	c.controller.acquire(now, n, patience, k, g) // refused beyond MaxLimit, and then nothing is granted
	return fed
}

var fed = answer{ok: true, remaining: unmeasured}

// callsFeedController does so with calls under way. It is a tracker.
type callsFeedController struct{ concurrencyController }

func (c *callsFeedController) peek(int64, ask, time.Duration, window.Key) answer { return fed }

func (c *callsFeedController) acquire(now, n int64, patience time.Duration, k window.Key, g *grant) answer {
	if !c.concurrencyController.acquire(now, n, patience, k, g).ok {
		g.held = hold{}
	}
	return fed
}

// needsEnd is false: where there is no room for a token, the call goes on uncounted.
func (c *callsFeedController) needsEnd(hold) bool { return false }

// feed returns what charges the use of the rule's refResource to its memory. It is filed with the
// rules of that resource, but is none of the set.
func (r *CompiledRule) feed(g *rule.LimitRule) *CompiledRule {
	f := &CompiledRule{
		ID: g.ID, Domain: g.Domain, Resource: g.RefResource, Mode: g.Mode,
		Limit: window.MaxLimit, Counters: new(Counters), memory: r.memory, feeds: true,
	}
	f.limit = f.Limit
	if g.Mode == rule.ModeRegex {
		f.Mode = rule.ModeRoute
	}
	switch m := r.memory; {
	case m.calls != nil:
		t := &callsFeedController{concurrencyController{f: m.calls, limit: window.MaxLimit}}
		f.ctl, f.tracker, f.lease = t, t, g.Lease
	case m.warmUp != nil:
		f.ctl = &feedController{&warmUpFeed{warmUpController{w: m.warmUp}}}
	default:
		f.ctl = &feedController{&windowController{w: m.leap, limit: window.MaxLimit}}
	}
	return f
}
