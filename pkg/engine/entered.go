package engine

import "github.com/sidecard/sidecard/pkg/rule"

// entrance is a resource that a request of a call has entered.
type entrance struct {
	into *resource
	hits int64
}

// enter notes that a request has entered a resource, if it is one that counts.
func (c *Call) enter(q *Request, into *resource) {
	if q.Kind == Charge {
		c.entered = append(c.entered, entrance{into, q.hits()})
	}
}

// enterRoute notes that a request has entered its route, of which own holds the rules if there are any. It
// returns the route, or nil if that is not counted by itself.
func (e *Engine) enterRoute(d *domain, own *ruleList, c *Call, q *Request) *resource {
	switch {
	case own != nil:
		c.enter(q, own.resource)
		return own.resource
	case q.Kind == Charge:
		route := e.resources.route(d.name, q.Resource)
		c.enter(q, route)
		if route != e.resources.other {
			return route
		}
	case len(d.patterns) > 0: // it counts nowhere, but the expressions that match it may be known
		return e.resources.find(d.name, rule.ModeRoute, q.Resource)
	}
	return nil
}

// hits is what a request asks for.
func (q *Request) hits() int64 { return min(max(q.Hits, 1), maxHits) }

// record counts what became of a call, in the resources that it entered and in the sum of all calls. A call
// is one there, of as many hits as its largest request.
func (e *Engine) record(now int64, c *Call) {
	if c.hits == 0 {
		return
	}
	if c.Overall == Block {
		for i := range c.entered {
			c.entered[i].into.stats.Block(now, c.hint, c.entered[i].hits)
		}
		e.inbound.stats.Block(now, c.hint, c.hits)
		return
	}
	for i := range c.entered {
		c.entered[i].into.stats.Pass(now, c.hint, c.entered[i].hits)
	}
	e.inbound.stats.Pass(now, c.hint, c.hits)
	c.recorded, c.at = true, now
}

// unrecord takes back what the last Decide counted as passed.
func (e *Engine) unrecord(now int64, c *Call) {
	if !c.recorded {
		return
	}
	c.recorded = false
	for i := range c.entered {
		c.entered[i].into.stats.Withdraw(now, c.at, c.entered[i].hits)
	}
	e.inbound.stats.Withdraw(now, c.at, c.hits)
	for i := range c.uses {
		c.uses[i].uncount()
	}
}

// beginCall counts a call as under way.
func (e *Engine) beginCall(c *Call) {
	for i := range c.entered {
		c.entered[i].into.stats.Begin(c.hint)
	}
	e.inbound.stats.Begin(c.hint)
}

// unbeginCall undoes beginCall.
func (e *Engine) unbeginCall(c *Call) {
	for i := range c.entered {
		c.entered[i].into.stats.End(c.hint)
	}
	e.inbound.stats.End(c.hint)
}
