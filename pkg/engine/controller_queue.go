package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// queue is uniform queueing as a rule words it: requests are let through one by one at the rate,
// and those that would wait longer than maxWait are refused; if strict, those that would wait as long
// are as well. Sentinel's comparison is strict for gateway and parameter rules, and not for flow rules.
type queue struct {
	rate    window.Rate
	maxWait time.Duration
	strict  bool
}

func queueOf(g *rule.LimitRule) queue {
	return queue{rateOf(g), g.MaxQueueing, g.Kind != rule.LimitFlow}
}

// bound returns the wait that a caller with the given patience is promised at most, and whether
// that wait itself is too long.
func (q queue) bound(patience time.Duration) (maxWait time.Duration, strict bool) {
	if patience < q.maxWait {
		return patience, false
	}
	return q.maxWait, q.strict
}

func fromWait(w window.Wait) answer {
	return answer{ok: w.OK, remaining: w.Remaining, wait: w.Wait}
}

// queueController makes the requests of a whole resource wait for their turn.
type queueController struct {
	t *window.Throttle
	queue
}

func (c *queueController) peek(now int64, a ask, patience time.Duration, _ window.Key) answer {
	maxWait, strict := c.bound(patience)
	w := fromWait(c.t.Peek(now, a.first, a.total, c.rate, maxWait, strict))
	w.late = !w.ok && patience < c.maxWait && c.t.Peek(now, a.first, a.total, c.rate, c.maxWait, c.strict).OK
	return w
}

func (c *queueController) acquire(now, n int64, patience time.Duration, _ window.Key, g *grant) answer {
	maxWait, strict := c.bound(patience)
	p, w := c.t.Acquire(now, n, c.rate, maxWait, strict)
	g.promise = p
	return fromWait(w)
}

func (c *queueController) refund(now int64, g *grant) bool { return c.t.Refund(now, g.promise) }

// release does nothing: hits that are given back do not shorten a queue.
func (c *queueController) release(int64, int64, window.Key) {}

func (c *queueController) until(now, n int64, patience time.Duration, _ window.Key) (time.Duration, bool) {
	maxWait, strict := c.bound(patience)
	return c.t.Until(now, n, c.rate, maxWait, strict)
}

func (c *queueController) reset(now int64, _ window.Key) time.Duration {
	d, _ := c.t.Until(now, 1, c.rate, 0, false)
	return d
}
