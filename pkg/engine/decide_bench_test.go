package engine_test

import (
	"fmt"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Every request of the benchmarks has its own path and its own user.
const benchKeys = 10_000

// benchSet holds two rules for the route orders, one of them per user, and as many others that do
// not concern it: half are of other routes, half of API groups over other paths.
func benchSet(limit int64, others int) rule.Set {
	set := rule.Set{Limits: []rule.LimitRule{flow("route", "orders", limit), perUser("user", "orders", limit)}}
	for i := range others {
		name := fmt.Sprintf("other-%05d", i)
		r := flow(name, name, limit)
		if i%2 == 1 {
			r = ofAPI(r)
			set.APIs = append(set.APIs, api(name, rule.PredicateItem{Pattern: "/" + name + "/**", Match: rule.PathPrefix}))
		}
		set.Limits = append(set.Limits, r)
	}
	return set
}

// oneUser is the least that can stand behind a request: it tells the decision's cost apart from
// that of looking attributes up.
type oneUser struct{ name string }

func (u *oneUser) Param(rule.ParamSource, string) (string, engine.Presence) {
	return u.name, engine.Present
}

type benchInput struct{ path, user string }

func benchInputs() []benchInput {
	in := make([]benchInput, benchKeys)
	for i := range in {
		in[i] = benchInput{fmt.Sprintf("/orders/%06d", i), fmt.Sprintf("user-%06d", i)}
	}
	return in
}

// fillBag does what the rate limit service does for each descriptor.
func fillBag(bag *attr.Bag, q *engine.Request, in benchInput) {
	bag.Reset()
	bag.Add("route", "orders")
	bag.Add("path", in.path)
	bag.Add("method", "GET")
	bag.Add("host", "shop.example.com")
	bag.Add("remote_address", "10.0.0.1")
	bag.Add("header.x-user-id", in.user)
	bag.Request(q)
	q.Hits = 1
}

// benchStep is the virtual time between two decisions: 50 000 a second.
const benchStep = 20_000

// BenchmarkDecide is the cost of a decision once its request is known.
func BenchmarkDecide(b *testing.B) {
	for _, others := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			benchDecide(b, benchSet(1e7, others), engine.Pass)
		})
	}
	b.Run("refused", func(b *testing.B) {
		benchDecide(b, benchSet(0, 10), engine.Block)
	})
}

func benchDecide(b *testing.B, set rule.Set, want engine.Code) {
	benchDecideOn(b, newEngine(b, set), want)
}

func benchDecideOn(b *testing.B, e *engine.Engine, want engine.Code) {
	inputs := benchInputs()
	var user oneUser
	c := engine.Call{Domain: "shop", Items: []engine.Request{{
		Resource: "orders", Method: "GET", Host: "shop.example.com", ClientIP: "10.0.0.1", Attrs: &user, Hits: 1,
	}}}
	now, i := start, 0
	b.ReportAllocs()
	for b.Loop() {
		in := &inputs[i%benchKeys]
		c.Items[0].Path, user.name = in.path, in.user
		e.Decide(now, &c)
		if c.Overall != want {
			b.Fatalf("decision %d: %v", i, c.Overall)
		}
		now += benchStep
		i++
	}
}

// BenchmarkDecideFromAttributes adds what turns the entries of a descriptor into a request.
func BenchmarkDecideFromAttributes(b *testing.B) {
	for _, others := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			e := newEngine(b, benchSet(1e7, others))
			inputs := benchInputs()
			var bag attr.Bag
			c := engine.Call{Domain: "shop", Items: make([]engine.Request, 1)}
			now, i := start, 0
			b.ReportAllocs()
			for b.Loop() {
				fillBag(&bag, &c.Items[0], inputs[i%benchKeys])
				e.Decide(now, &c)
				if c.Overall != engine.Pass {
					b.Fatalf("decision %d was refused", i)
				}
				now += benchStep
				i++
			}
		})
	}
}

// TestDecideFromAttributesAllocatesNothing includes values that the key table has not seen and
// slots that have to be rotated.
func TestDecideFromAttributesAllocatesNothing(t *testing.T) {
	e := newEngine(t, benchSet(1e7, 100))
	inputs := benchInputs()[:500]
	var bag attr.Bag
	c := engine.Call{Domain: "shop", Items: make([]engine.Request, 1)}
	now, i := start, 0
	if got := testing.AllocsPerRun(2000, func() {
		fillBag(&bag, &c.Items[0], inputs[i%len(inputs)])
		e.Decide(now, &c)
		now += 1_000_000
		i++
	}); got != 0 {
		t.Errorf("%v allocations a decision", got)
	}
	if r := e.Rules()[1]; r.Keys.Keys == 0 || r.Rule.Passed.Load() != int64(i) {
		t.Errorf("%d keys, %d of %d passed: the rule per user did not take part", r.Keys.Keys, r.Rule.Passed.Load(), i)
	}
}
