// Package explain answers why a request is limited or not: what was understood of its attributes, which API groups it
// enters, what each rule makes of it, and what the client gets. The view is the same for rules that are read from files
// and for those of a running daemon, as text and as JSON.
package explain

import (
	"math"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
)

// Attribute is one that a descriptor would carry.
type Attribute struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Question is a request to be explained.
type Question struct {
	Domain     string
	Attributes []Attribute // of a key that is there twice the first counts
	Hits       int64       // 0: 1
}

// Envoy is what a client gets through Envoy.
type Envoy struct {
	Status  int      `json:"status,omitempty"` // absent: that of the application
	Headers []Header `json:"headers"`          // that Envoy adds
	Body    string   `json:"body,omitempty"`
}

// Header is a header of an answer.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Options say how to explain.
type Options struct {
	// Envoy foretells what becomes of a verdict; required.
	Envoy func(v *engine.Verdict) Envoy
	// Charge says that the engine is nobody else's: the request is then made, after it has been explained, so that the
	// answer is what the first of such requests gets. Else the answer is foretold, and its reset is that of now.
	Charge bool
}

// Of explains a request to an engine, which changes nothing but by Options.Charge.
func Of(e *engine.Engine, now int64, ask Question, o Options) View {
	var bag attr.Bag
	for _, a := range ask.Attributes {
		bag.Add(a.Key, a.Value)
	}
	q := engine.Request{Hits: max(ask.Hits, 1)}
	bag.Request(&q)
	x := e.Explain(now, ask.Domain, q, math.MaxInt64)
	v := View{
		Revision: e.Revision(), Domain: ask.Domain,
		Request: Request{
			Resource: q.Resource, Path: q.Path, PathTooLarge: q.PathTooLarge, Method: q.Method, Host: q.Host,
			ClientIP: q.ClientIP, Origin: q.Origin, Hits: q.Hits, Description: bag.Describe(),
		},
		Groups: []Group{}, Rules: []Rule{},
	}
	for i := range x.Groups {
		v.Groups = append(v.Groups, viewGroup(&x.Groups[i]))
	}
	for i := range x.Rules {
		v.Rules = append(v.Rules, viewRule(&x.Rules[i], &x.Verdict))
	}
	verdict := x.Verdict
	if o.Charge {
		c := engine.Call{Domain: ask.Domain, Items: []engine.Request{q}, MaxWait: math.MaxInt64}
		e.Decide(now, &c)
		verdict = c.Verdicts[0]
	} else if verdict.Code == engine.Pass && verdict.Rule != nil {
		verdict.Remaining = max(verdict.Remaining-q.Hits, 0)
	}
	v.Answer = viewAnswer(&verdict)
	v.Envoy = o.Envoy(&verdict)
	return v
}

// millis rounds up, so that whoever waits so long has waited long enough.
func millis(d time.Duration) int64 {
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond > 0 {
		ms++
	}
	return ms
}

func viewGroup(g *engine.GroupMatch) Group {
	v := Group{Name: g.Name, Matched: g.Matched, Unknown: g.Unknown}
	for i := range g.Items {
		it := &g.Items[i]
		w := Item{Pattern: it.Item.Pattern, Host: it.Item.Host, Methods: it.Item.Methods, Other: it.Item.Other, Held: it.Held, Failed: it.Failed}
		if w.Pattern != "" {
			w.Match = it.Item.Match.String()
		}
		v.Items = append(v.Items, w)
		v.Nearly = v.Nearly || !g.Matched && len(it.Held) > 0 && len(it.Failed) > 0
	}
	return v
}

func viewRule(m *engine.RuleMatch, verdict *engine.Verdict) Rule {
	r := m.Rule
	v := Rule{
		ID: r.ID, Kind: string(m.Kind), Domain: r.Domain, Resource: r.Resource, Origin: m.Origin, RefResource: r.RefResource, Shadow: r.Shadow, Unlimited: m.Unlimited || m.Skip != "" && r.Unlimited,
		Verdict: outcomePass, Decides: r == verdict.Rule || verdict.Code == engine.Pass && r == verdict.Queue,
		Skipped: string(m.Skip), WaitMs: millis(m.Wait), RetryAfterMs: millis(m.Retry),
	}
	switch {
	case m.Skip != "":
		v.Verdict = outcomeSkipped
	case m.Refuses:
		v.Verdict, v.Reason = outcomeBlock, m.Reason.String()
	case m.Wait > 0:
		v.Verdict = outcomeWait
	}
	if !v.Unlimited && r.HasLimit() {
		limit := m.Limit
		if m.Skip != "" {
			limit = r.Limit + r.Burst
		}
		v.Limit, v.IntervalSec = &limit, int64(r.Interval/time.Second)
		if m.Skip == "" && !m.Queues {
			v.Remaining = &m.Remaining
			if !m.WarmsUp {
				v.Used = &m.Used
			}
		}
	}
	if m.Kind != engine.KindSystem {
		v.Mode = r.Mode.String()
	}
	if m.Breaker != nil {
		v.Breaker = m.Breaker.State.String()
	}
	if p := m.Param; p != nil {
		v.Param = &Param{Source: p.Source.String(), Name: p.Name, Found: found(p.Found), Value: p.Value, Pattern: p.Pattern, Shared: p.Shared, Special: p.Special}
		if p.Pattern != "" {
			v.Param.Match = p.Match.String()
		}
	}
	return v
}

func found(p engine.Presence) string {
	switch p {
	case engine.Present:
		return "present"
	case engine.TooLarge:
		return "too-large"
	}
	return "absent"
}

func viewAnswer(v *engine.Verdict) Answer {
	a := Answer{Outcome: outcomePass, Allowed: v.Code == engine.Pass, Matched: v.Matched, WaitMs: millis(v.Wait)}
	decides := v.Rule
	switch {
	case v.Code == engine.Block:
		a.Outcome, a.Reason, a.RetryAfterMs = outcomeBlock, v.Reason.String(), millis(v.Reset)
	case v.Wait > 0:
		a.Outcome, decides = outcomeWait, v.Queue
	}
	if decides != nil {
		a.Rule = decides.ID
	}
	if v.Rule != nil && !v.Unlimited && v.Rule.HasLimit() {
		a.Limit, a.Remaining = &v.Limit, &v.Remaining
	}
	if v.ShadowRule != nil {
		a.ShadowRule = v.ShadowRule.ID
	}
	return a
}
