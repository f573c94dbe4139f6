package metrics

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
)

func blockedOf(id string, n int64) engine.RuleState {
	c := new(engine.Counters)
	c.Blocked.Store(n)
	return engine.RuleState{Rule: &engine.CompiledRule{ID: id, Counters: c}}
}

// totalsOf reads a ledger.
func totalsOf(l *ledger[*engine.Counters, string], rules ...engine.RuleState) map[string]counts {
	var into []engine.RuleState
	_, totals := l.read(byRule(func() []engine.RuleState { return rules }, idOf, &into))
	return totals
}

// blockedBy reads a ledger and returns what the rules have blocked by label.
func blockedBy(l *ledger[*engine.Counters, string], rules ...engine.RuleState) map[string]int64 {
	totals := totalsOf(l, rules...)
	out := make(map[string]int64)
	for k, n := range totals {
		out[k] = n[blocked]
	}
	return out
}

func TestLedger(t *testing.T) {
	t.Parallel()
	l := newLedger(2, Other, countsOf)
	a, b := blockedOf("a", 1), blockedOf("b", 10)
	steps := []struct {
		name  string
		rules []engine.RuleState
		want  map[string]int64
	}{
		{"both", []engine.RuleState{a, b}, map[string]int64{"a": 1, "b": 10}},
		{"one leaves", []engine.RuleState{b}, map[string]int64{"b": 10}},
		{"it comes back, counting from nothing", []engine.RuleState{blockedOf("a", 2), b}, map[string]int64{"a": 3, "b": 10}},
		{"a third has no room", []engine.RuleState{blockedOf("a", 5), b, blockedOf("c", 100)}, map[string]int64{"a": 8, "b": 10, Other: 100}},
		{"a fourth neither", []engine.RuleState{blockedOf("a", 5), b, blockedOf("d", 100)}, map[string]int64{"a": 13, "b": 10, Other: 200}},
		{"one has left, a fifth takes its place", []engine.RuleState{b, blockedOf("e", 7)}, map[string]int64{"b": 10, "e": 7}},
		{"it is back without room, and others' counts stay", []engine.RuleState{blockedOf("a", 1), b, blockedOf("e", 0)}, map[string]int64{Other: 201, "b": 10, "e": 7}},
		{"two of a name", []engine.RuleState{blockedOf("e", 1), b, blockedOf("e", 2)}, map[string]int64{"b": 10, "e": 10}},
		{"none", nil, map[string]int64{}},
	}
	for _, s := range steps {
		if got := blockedBy(l, s.rules...); !maps.Equal(got, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, got, s.want)
		}
	}
}

// Whatever is decided or given up during a scrape, no counter goes down.
func TestOutcomesNeverGoDown(t *testing.T) {
	t.Parallel()
	r := engine.RuleState{Rule: &engine.CompiledRule{ID: "a", Counters: new(engine.Counters)}}
	l := newLedger(2, Other, countsOf)
	for _, step := range []struct{ passed, waited, shadow, atOnce, late, would int64 }{
		{5, 1, 1, 4, 1, 1},
		{6, 1, 1, 5, 1, 1}, // one that waits, of which only half has been counted
		{6, 2, 1, 5, 2, 1}, // now all of it: 4 have passed at once
		{7, 2, 2, 5, 2, 2},
		{6, 1, 1, 5, 2, 2}, // one was given up
		{8, 2, 3, 6, 2, 3},
		{8, 9, 3, 6, 9, 3},
	} {
		r.Rule.Passed.Store(step.passed)
		r.Rule.Waited.Store(step.waited)
		r.Rule.ShadowBlock.Store(step.shadow)
		n := totalsOf(l, r)["a"]
		if n[passedAtOnce] != step.atOnce || n[waited] != step.late || n[shadowBlocked] != step.would {
			t.Errorf("%+v: got %v", step, n)
		}
	}
}

// The twin remembers every rule that ever was. As long as there is room, both agree; no sum ever goes
// down from one reading to the next that has it, unless it was dropped for want of room and begins anew.
func TestLedgerAgainstOneThatForgetsNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(1, 8).Draw(t, "most")
		l := newLedger(most, Other, countsOf)
		names := []string{"a", "b", "c", "d", "e"}
		roomy := most >= len(names)
		var inForce []engine.RuleState
		var ever []engine.RuleState
		last := make(map[string]int64)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"count", "count", "reload", "read"}).Draw(t, "step") {
			case "count":
				if len(inForce) > 0 {
					rapid.SampledFrom(inForce).Draw(t, "rule").Rule.Blocked.Add(rapid.Int64Range(1, 9).Draw(t, "n"))
				}
			case "reload":
				var next []engine.RuleState
				for _, r := range inForce {
					if rapid.Bool().Draw(t, "stays") {
						next = append(next, r)
					}
				}
				for _, id := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 3).Draw(t, "new") {
					r := blockedOf(id, 0)
					next, ever = append(next, r), append(ever, r)
				}
				inForce = next
				blockedBy(l, inForce...)
			case "read":
				got := blockedBy(l, inForce...)
				if roomy {
					want := make(map[string]int64)
					for _, r := range inForce {
						want[r.Rule.ID] = 0
					}
					for _, r := range ever {
						if _, shown := want[r.Rule.ID]; shown {
							want[r.Rule.ID] += r.Rule.Blocked.Load()
						}
					}
					if !maps.Equal(got, want) {
						t.Fatalf("got %v, want %v", got, want)
					}
				}
				for k, n := range got {
					if (roomy || k == Other) && n < last[k] {
						t.Fatalf("%s went from %d to %d", k, last[k], n)
					}
					last[k] = n
				}
				if len(got) > most+1 {
					t.Fatalf("%d series, at most %d were asked for", len(got), most)
				}
			}
		}
	})
}

// However many rules come and go, what is kept of them is bounded.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	l := newLedger(10, Other, countsOf)
	for i := range 1000 {
		blockedBy(l, blockedOf(fmt.Sprint("a", i), 1), blockedOf(fmt.Sprint("b", i), 1))
	}
	if len(l.sums) > 11 || len(l.accounts) != 2 {
		t.Errorf("%d sums and %d accounts", len(l.sums), len(l.accounts))
	}
}

// With the real engine: what a rule counted is there when it comes back, and rules that nobody scraped are
// counted too.
func TestCountsStayOverReloads(t *testing.T) {
	t.Parallel()
	const orders = `{"id": "orders", "resource": "orders", "count": 1}`
	const search = `{"id": "search", "resource": "search", "count": 1}`
	e := newEngine(t, `{"gatewayFlowRules": [`+orders+`]}`)
	m := New(sourcesOf(e.Rules))
	reload := func(rules string) {
		apply(t, e, `{"gatewayFlowRules": [`+rules+`]}`)
		m.Applied(rules, applied)
	}
	blocks := func() []string {
		return slices.DeleteFunc(of(scraped(t, m), "decisions_total"), func(l string) bool { return l[:41] != `sidecard_decisions_total{outcome="block",` })
	}
	m.Applied("", applied)
	ask(e, "orders")
	ask(e, "orders")
	reload(search)
	ask(e, "search")
	ask(e, "search")
	ask(e, "search")
	reload(orders)
	ask(e, "orders")
	ask(e, "orders")
	want := []string{`sidecard_decisions_total{outcome="block",resource="orders",rule="orders"} 2`}
	if got := blocks(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	reload(orders + "," + search)
	want = append(want, `sidecard_decisions_total{outcome="block",resource="search",rule="search"} 2`)
	if got := blocks(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An item whose labels change goes on under the new ones from there, and what it counted before stays where it was.
func TestLedgerWithLabelsThatChange(t *testing.T) {
	t.Parallel()
	of := map[int]int64{1: 5, 2: 7}
	l := newLedger(10, Other, func(i int) counts { return counts{of[i]} })
	read := func(items ...entry[int, string]) map[string]int64 {
		_, totals := l.read(func() []entry[int, string] { return items })
		out := make(map[string]int64)
		for k, n := range totals {
			out[k] = n[0]
		}
		return out
	}
	for i, step := range []struct {
		more  int64 // that item 1 has counted since
		items []entry[int, string]
		want  map[string]int64
	}{
		{0, []entry[int, string]{{1, Other}, {2, Other}}, map[string]int64{Other: 12}},
		{1, []entry[int, string]{{1, "one"}, {2, Other}}, map[string]int64{"one": 0, Other: 13}},
		{2, []entry[int, string]{{1, "one"}, {2, Other}}, map[string]int64{"one": 2, Other: 13}},
		{1, []entry[int, string]{{1, Other}, {2, Other}}, map[string]int64{Other: 13}},
		{4, []entry[int, string]{{1, Other}, {2, Other}}, map[string]int64{Other: 17}},
		{0, []entry[int, string]{{1, "one"}}, map[string]int64{"one": 3}},
		{1, []entry[int, string]{{1, "one"}, {2, "two"}}, map[string]int64{"one": 4, "two": 7}},
	} {
		of[1] += step.more
		if got := read(step.items...); !maps.Equal(got, step.want) {
			t.Errorf("step %d: got %v, want %v", i, got, step.want)
		}
	}
}
