package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// scratch is the working memory of one call, kept with it so that deciding allocates nothing.
type scratch struct {
	uses   []use
	grants []grant // per use; what it holds counts only if the use is charged
	held   int     // charged uses that a token must hold
	api    apiScratch
	// entries are the lists of rules that a request comes under, of one resource.
	entries []listed
	work    work // of enforced rules and of API groups
	shadow  work // of rules in shadow, which must not use up what enforced ones need

	explaining *explaining // nil but in Explain

	entered  []entrance // resources, request by request
	hits     int64      // the most that one of the requests asks for; 0: none asks to be charged
	hint     uint32     // tells apart calls that are decided at the same time; 0: not yet drawn
	at       int64      // when it was decided, if recorded
	recorded bool       // as passed
	again    bool       // the call is decided anew: what was seen of it has been counted already
}

// use is one rule applied to one request of a call.
type use struct {
	rule      *CompiledRule
	own       *allowance // of rule
	key       window.Key
	item      int32
	kind      Kind
	refused   bool
	charged   bool
	untracked bool // the rule's overflow policy answered
	shared    bool // an earlier request of the call charges the same rule, which counts calls
	reason    Reason
	n         int64 // what the request asks of this rule
	ask       ask   // n and what earlier requests of the call ask of the same rule and key
	left      int64 // remaining, as of the last peek or acquire
	wait      time.Duration
}

// maxHits is what larger hits are cut to: more than any limit, and small enough that the sum over
// a call does not overflow.
const maxHits = window.MaxLimit + 1

// Decide decides the call: if every enforced rule of every request allows it, all are charged;
// otherwise none is. It fills c.Verdicts and c.Overall. It is safe for concurrent use with
// different calls, allocates nothing once c's slices have grown, unless more calls are under way than
// ever before, and keeps nothing of the requests' strings but what c holds.
//
// A call may be refused falsely only while another call has charged some of its rules and has not
// yet charged the rest or given them back; CompiledRule.LostRaces counts the refusals that were
// discovered so late.
func (e *Engine) Decide(now int64, c *Call) { e.decide(e.snapshot.Load(), now, c) }

func (e *Engine) decide(s *snapshot, now int64, c *Call) {
	c.begin()
	if c.hint == 0 {
		c.hint = e.hints.Add(1)
	}
	d := s.domain(c.Domain)
	for i := range c.Items {
		if q := &c.Items[i]; q.Kind == Charge {
			c.hits = max(c.hits, q.hits())
		}
	}
	for i := range c.Items {
		for _, r := range s.system {
			c.peekSystem(now, r, i)
		}
		e.collect(now, d, c, i)
	}
	if c.refusedBy() < 0 {
		c.charge(now)
	} else {
		c.Overall = Block
	}
	if c.Overall == Pass {
		e.issue(now, c)
	}
	if c.Overall == Block {
		c.Wait = 0
	}
	c.finish(now)
	e.record(now, c)
}

// Redecide decides anew a call that passed and whose answer has not been given: it gives back, as Cancel does,
// what the last Decide charged. The call is counted once, as what it becomes now.
func (e *Engine) Redecide(now int64, c *Call) {
	e.Cancel(now, c)
	c.again = true
	e.Decide(now, c)
	c.again = false
}

// Refuse refuses a call that passed and that has waited for a time, because it cannot be made to wait for the rest:
// it gives back, as Cancel does, what the last Decide charged, and turns the verdicts that want to wait longer into
// refusals. It reads no string of the requests.
func (e *Engine) Refuse(now int64, c *Call, waited time.Duration) {
	e.Cancel(now, c)
	c.Overall, c.Wait = Block, 0
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		if left := v.Wait - waited; left > 0 {
			v.Code, v.Reason = Block, ReasonDeadline
			v.Rule, v.Limit, v.Unlimited = v.Queue, v.queueLimit, false
			v.Remaining, v.Reset, v.Wait = 0, left, 0
			v.Rule.Blocked.Add(1)
		}
	}
	for i := range c.uses {
		if u := &c.uses[i]; u.refused { // in shadow, which counts whatever becomes of the call
			u.rule.ShadowBlock.Add(1)
		}
	}
	e.record(now, c)
}

// Cancel gives back all that the last Decide of the call charged and that is still in a live slot,
// and its places in queues while they are the newest; CompiledRule.UnusedPlaces counts the others.
// The call's Token ends, and the call no longer counts as passed. It reads no string of the requests,
// whose buffer may be gone. A second Cancel does nothing.
func (e *Engine) Cancel(now int64, c *Call) {
	e.Withdraw(now, c)
	c.refund(now)
	e.unrecord(now, c)
}

func (c *Call) begin() {
	clear(c.uses) // a call at rest keeps no more than its last rules from being collected
	c.uses, c.entered, c.hits, c.recorded = c.uses[:0], c.entered[:0], 0, false
	c.Overall, c.Wait, c.Token, c.held = Pass, 0, Token{}, 0
	c.work.left, c.shadow.left = maxWork, maxWork
	if cap(c.Verdicts) < len(c.Items) {
		c.Verdicts = make([]Verdict, len(c.Items))
	}
	c.Verdicts = c.Verdicts[:len(c.Items)]
	clear(c.Verdicts)
}

// collect peeks every rule that concerns request i: those of its route, then those of expressions that
// its route matches, then those of the API groups that it enters.
func (e *Engine) collect(now int64, d *domain, c *Call, i int) {
	q := &c.Items[i]
	if q.Resource != "" {
		own := d.routes[q.Resource]
		route := e.enterRoute(d, own, c, q)
		c.entries = d.entries(own, route, q.Resource, &c.work, c.entries[:0])
		c.peekLists(now, i, c.entries)
	}
	if d.apis == nil {
		return
	}
	for _, g := range d.apis.match(q, &c.api, &c.work) {
		list := d.groups[g.group]
		c.enter(q, list.resource)
		c.entries = append(c.entries[:0], listed{list, g.unknown})
		c.peekLists(now, i, c.entries)
	}
}

// peekSystem peeks a system rule, which hits that are given back do not concern.
func (c *Call) peekSystem(now int64, r *CompiledRule, i int) {
	if c.Items[i].Kind != Refund {
		c.peek(now, r, i, ReasonNone)
	}
}

func (c *Call) peek(now int64, r *CompiledRule, i int, reason Reason) {
	q := &c.Items[i]
	if r.feeds && reason != ReasonNone {
		return
	}
	w := &c.work
	if r.Shadow {
		w = &c.shadow
	}
	k, own, why, applies := r.keyOf(q, &c.api, w, c.again)
	if !applies {
		return
	}
	// Whether the request comes under an authority rule does not matter if that lets it pass.
	if reason == ReasonNone || r.authority != nil && why == ReasonNone {
		reason = why
	}
	u := use{rule: r, own: own, key: k, item: int32(i), kind: q.Kind, reason: reason}
	u.n = q.hits()
	switch {
	case r.once:
		u.n = 1
	case r.system && q.Kind == Charge:
		u.n = c.hits
	}
	switch {
	case q.Kind == Refund:
		// Nothing to ask: a refund is given whatever the budget is.
	case own.ctl == nil && reason == ReasonInputTooLarge && (why == ReasonNone || why == ReasonInputTooLarge && r.special == nil):
		u.reason = ReasonNone // whatever the input is, the rule would let it pass
	case reason != ReasonNone:
		u.refused = true
	case own.ctl == nil:
	default:
		u.ask = c.asked(r, k, u.n)
		if u.shared = r.perCall() && u.ask.total > u.n; u.shared {
			u.ask = ask{u.n, u.n}
		}
		u.take(own.ctl.peek(now, u.ask, c.MaxWait, k))
	}
	c.uses = append(c.uses, u)
}

// take notes the controller's answer.
func (u *use) take(a answer) {
	// A long queue has room for more than passes in an interval; no view is served by saying so.
	u.left = min(a.remaining, u.own.limit)
	u.wait, u.untracked = a.wait, a.untracked
	if a.ok {
		return
	}
	u.refused = true
	switch {
	case a.untracked && u.rule.refusesOverflow:
		u.reason = ReasonKeyOverflow
	case u.rule.Breaker:
		u.reason = ReasonBreaker
	case a.reason != ReasonNone:
		u.reason = a.reason
	case a.late:
		u.reason = ReasonDeadline
	default:
		u.reason = ReasonLimit
	}
}

// asked returns what a request that asks n of a rule and key asks together with those before it.
// Only a call of several requests pays for the search.
func (c *Call) asked(r *CompiledRule, k window.Key, n int64) ask {
	a := ask{first: n, total: n}
	if len(c.Items) == 1 {
		return a
	}
	found := false
	for i := range c.uses {
		u := &c.uses[i]
		if u.rule != r || u.key != k || u.kind != Charge {
			continue
		}
		if !found {
			found, a.first = true, u.n
		}
		a.total += u.n
	}
	return a
}

// refusedBy returns the index of an enforced use that refuses, or -1.
func (c *Call) refusedBy() int {
	for i := range c.uses {
		if u := &c.uses[i]; u.refused && !u.rule.Shadow {
			return i
		}
	}
	return -1
}

// charge acquires from all enforced rules, or from none, and then from the shadow rules that have
// room.
func (c *Call) charge(now int64) {
	if len(c.grants) < len(c.uses) {
		c.grants = make([]grant, max(len(c.uses), 2*len(c.grants)))
	}
	for t := range turns {
		for i := range c.uses {
			u := &c.uses[i]
			if u.rule.Shadow || u.rule.turn != t || !c.acquire(now, i) {
				continue
			}
			c.refund(now)
			u.rule.LostRaces.Add(1)
			c.Overall = Block
			return
		}
	}
	for i := range c.uses {
		if u := &c.uses[i]; u.rule.Shadow && !u.refused {
			c.acquire(now, i)
		}
	}
}

// acquire charges one use, and returns true if the rule refused after all.
func (c *Call) acquire(now int64, i int) (lost bool) {
	u := &c.uses[i]
	if u.kind != Charge || u.own.ctl == nil || u.shared {
		return false
	}
	a := u.own.ctl.acquire(now, u.n, c.MaxWait, u.key, &c.grants[i])
	u.charged = a.ok
	u.take(a)
	if a.ok && !u.rule.Shadow {
		c.Wait = max(c.Wait, a.wait)
	}
	if u.holds(&c.grants[i]) {
		c.held++
	}
	return u.refused
}

// refund gives back what was charged, the last charge first: a place in a queue can be given back
// only while it is the newest.
func (c *Call) refund(now int64) {
	for i := len(c.uses) - 1; i >= 0; i-- {
		u := &c.uses[i]
		if !u.charged {
			continue
		}
		u.charged = false
		if !u.own.ctl.refund(now, &c.grants[i]) {
			u.rule.UnusedPlaces.Add(1)
		}
	}
}
