package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// flow returns a route rule of limit per second.
func flow(id, resource string, limit int64) rule.LimitRule {
	return rule.LimitRule{
		ID: id, Resource: resource, Limit: limit, Interval: time.Second, SampleCount: 10, MaxKeys: 1 << 20,
	}
}

// perUser returns a route rule of limit per second and value of the header x-user-id.
func perUser(id, resource string, limit int64) rule.LimitRule {
	r := flow(id, resource, limit)
	r.SampleCount = 2
	r.Param = &rule.ParamItem{Source: rule.SourceHeader, FieldName: "X-User-Id"}
	return r
}

func ofAPI(r rule.LimitRule) rule.LimitRule {
	r.Mode = rule.ModeAPI
	return r
}

func api(name string, items ...rule.PredicateItem) rule.APIDefinition {
	return rule.APIDefinition{Name: name, Items: items}
}

func newEngine(t testing.TB, set rule.Set) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Options{})
	apply(t, e, set)
	return e
}

func apply(t testing.TB, e *engine.Engine, set rule.Set) engine.Changes {
	t.Helper()
	changes, err := e.Apply(start, set)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// passes counts how many of n calls of one request each pass at now.
func passes(e *engine.Engine, now int64, n int, q engine.Request) int {
	var c engine.Call
	passed := 0
	for range n {
		c.Items = append(c.Items[:0], q)
		if e.Decide(now, &c); c.Overall == engine.Pass {
			passed++
		}
	}
	return passed
}

func request(resource, path, user string) engine.Request {
	return engine.Request{Resource: resource, Path: path, Hits: 1, Attrs: params{{rule.SourceHeader, "x-user-id"}: user}}
}

func TestRefusalBySecondRuleChargesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits: []rule.LimitRule{flow("route", "orders", 10), ofAPI(flow("group", "writes", 2))},
		APIs:   []rule.APIDefinition{api("writes", rule.PredicateItem{Pattern: "/orders", Match: rule.PathPrefix})},
	})
	if got := passes(e, start, 5, request("orders", "/orders/7", "")); got != 2 {
		t.Fatalf("%d of 5 passed, want the group's 2", got)
	}
	if got := passes(e, start, 20, request("orders", "/other", "")); got != 8 {
		t.Errorf("%d more passed on the route alone, want 8: the three refused calls must not be charged", got)
	}
}

func TestSeveralDescriptorsAreOneCall(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 3), flow("b", "b", 1)}})
	var c engine.Call
	c.Items = []engine.Request{request("a", "", ""), request("b", "", "")}
	e.Decide(start, &c)
	if c.Overall != engine.Pass {
		t.Fatal("first call refused")
	}
	e.Decide(start, &c)
	if c.Overall != engine.Block || c.Verdicts[0].Code != engine.Pass || c.Verdicts[1].Code != engine.Block {
		t.Fatalf("got %v, %v, %v", c.Overall, c.Verdicts[0].Code, c.Verdicts[1].Code)
	}
	if v := c.Verdicts[0]; v.Remaining != 2 || v.Rule.ID != "a" {
		t.Errorf("the passing descriptor of a refused call: rule %s, remaining %d; want a, 2 (what is left now)", v.Rule.ID, v.Remaining)
	}
	c.Items = []engine.Request{request("a", "", ""), request("a", "", ""), request("a", "", "")}
	e.Decide(start, &c)
	if c.Overall != engine.Block {
		t.Error("three requests of one call on a rule with room for two passed")
	}
}

func TestDecidingRule(t *testing.T) {
	t.Parallel()
	slow := flow("slow", "r", 1)
	slow.Interval = 60 * time.Second
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("fast", "r", 1), slow, flow("wide", "r", 9)}})
	var c engine.Call
	c.Items = []engine.Request{request("r", "", "")}
	e.Decide(start, &c)
	if v := c.Verdicts[0]; v.Rule.ID != "fast" || v.Remaining != 0 {
		t.Errorf("pass: rule %s, remaining %d; want fast (smallest remaining, first in the file), 0", v.Rule.ID, v.Remaining)
	}
	e.Decide(start, &c)
	if v := c.Verdicts[0]; v.Rule.ID != "slow" || v.Reset < 50*time.Second {
		t.Errorf("block: rule %s, reset %s; want slow, the longest wait", v.Rule.ID, v.Reset)
	}
	c.Items[0].Hits = 2
	e.Decide(start, &c)
	if v := c.Verdicts[0]; v.Rule.ID != "fast" || v.Reset != 0 {
		t.Errorf("hits above the limit: rule %s, reset %s; want fast, 0 (never fits)", v.Rule.ID, v.Reset)
	}
}

func TestShadowNeverRefusesNorBlocksOthers(t *testing.T) {
	t.Parallel()
	shadow := flow("shadow", "r", 1)
	shadow.Shadow = true
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{shadow, flow("real", "r", 3)}})
	var c engine.Call
	for i, want := range []struct {
		code   engine.Code
		shadow bool
	}{{engine.Pass, false}, {engine.Pass, true}, {engine.Pass, true}, {engine.Block, true}} {
		c.Items = []engine.Request{request("r", "", "")}
		e.Decide(start, &c)
		v := c.Verdicts[0]
		if v.Code != want.code || (v.ShadowRule != nil) != want.shadow || v.Rule.ID != "real" {
			t.Errorf("call %d: code %v, shadow %v, rule %s", i, v.Code, v.ShadowRule != nil, v.Rule.ID)
		}
	}
	if r := e.Rules()[0].Rule; r.Passed.Load() != 1 || r.ShadowBlock.Load() != 3 || r.Blocked.Load() != 0 {
		t.Errorf("shadow rule counted passed %d, shadow block %d, blocked %d", r.Passed.Load(), r.ShadowBlock.Load(), r.Blocked.Load())
	}
}

func TestPathTooLargeRefusesGroupsThatLookAtPaths(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits: []rule.LimitRule{ofAPI(flow("paths", "paths", 9)), ofAPI(flow("hosts", "hosts", 9))},
		APIs: []rule.APIDefinition{
			api("paths", rule.PredicateItem{Pattern: "/a"}),
			api("hosts", rule.PredicateItem{Host: "h"}),
		},
	})
	var c engine.Call
	c.Items = []engine.Request{{PathTooLarge: true, Host: "h", Hits: 1}}
	e.Decide(start, &c)
	if v := c.Verdicts[0]; v.Code != engine.Block || v.Rule.ID != "paths" || v.Reason != engine.ReasonInputTooLarge {
		t.Errorf("got %+v", v)
	}
}

// However many regular expressions there are, a call tries only so many bytes on them. What was not
// tried refuses; a path of ordinary length is always tried.
func TestRegularExpressionsWithinBounds(t *testing.T) {
	t.Parallel()
	var set rule.Set
	for i := range 300 {
		name := fmt.Sprint("g", i)
		set.Limits = append(set.Limits, ofAPI(flow(name, name, 1000)))
		set.APIs = append(set.APIs, api(name, rule.PredicateItem{Pattern: fmt.Sprintf("/(a|b)*x%d", i), Match: rule.PathRegex}))
	}
	whole := perUser("regex", "users", 1000)
	whole.Param.Pattern, whole.Param.Match = "(a|b)*x", rule.MatchRegex
	for i := range 20 {
		r := whole
		r.ID = fmt.Sprint("regex", i)
		set.Limits = append(set.Limits, r)
	}
	e := newEngine(t, set)
	var c engine.Call
	long := strings.Repeat("ab", 30<<10)
	for _, tt := range []struct {
		name   string
		q      engine.Request
		reason engine.Reason
	}{
		{"short path", request("", "/abx7", ""), engine.ReasonNone},
		{"short path that matches none", request("", "/abc", ""), engine.ReasonNone},
		{"long path", request("", "/"+long, ""), engine.ReasonInputTooLarge},
		{"short value", request("users", "", "abx"), engine.ReasonNone},
		{"long value", request("users", "", long), engine.ReasonInputTooLarge},
	} {
		decide(e, start, &c, tt.q)
		if v := c.Verdicts[0]; v.Reason != tt.reason {
			t.Errorf("%s: reason %v, want %v", tt.name, v.Reason, tt.reason)
		}
	}
}

// Where it is unknown whether some group was entered, the group of all that entered none refuses.
func TestCatchAllRefusesWhatIsUnknown(t *testing.T) {
	t.Parallel()
	set := rule.Set{
		Limits: []rule.LimitRule{ofAPI(flow("rest", "rest", 9))},
		APIs:   []rule.APIDefinition{api("rest", rule.PredicateItem{Other: true})},
	}
	for i, suffix := range []string{"css", "js", "png", "svg", "woff"} {
		set.APIs = append(set.APIs, api(fmt.Sprint("static", i), rule.PredicateItem{Pattern: `.*\.` + suffix, Match: rule.PathRegex}))
	}
	e := newEngine(t, set)
	var c engine.Call
	for _, tt := range []struct {
		name   string
		q      engine.Request
		reason engine.Reason
	}{
		{"short", request("", "/login", ""), engine.ReasonNone},
		{"too long to try", request("", "/"+strings.Repeat("a", 59<<10), ""), engine.ReasonInputTooLarge},
		{"too large", engine.Request{PathTooLarge: true, Hits: 1}, engine.ReasonInputTooLarge},
	} {
		decide(e, start, &c, tt.q)
		if v := c.Verdicts[0]; v.Reason != tt.reason || v.Rule == nil || v.Rule.ID != "rest" {
			t.Errorf("%s: %+v", tt.name, v)
		}
	}
}

// Rules in shadow do not use up the work that enforced ones need, and an unlimited rule has no use for
// its input.
func TestShadowTakesNoWorkFromOthers(t *testing.T) {
	t.Parallel()
	var set rule.Set
	add := func(id string, shadow, unlimited bool) {
		r := perUser(id, "r", 10)
		r.Shadow, r.Unlimited = shadow, unlimited
		r.Param.Pattern, r.Param.Match = "a+", rule.MatchRegex
		set.Limits = append(set.Limits, r)
	}
	for i := range 6 {
		add(fmt.Sprint("shadow", i), true, false)
	}
	add("enforced", false, false)
	for i := range 6 {
		add(fmt.Sprint("unlimited", i), false, true)
	}
	e := newEngine(t, set)
	if got := passes(e, start, 1, request("r", "", strings.Repeat("a", 59<<10))); got != 1 {
		t.Error("refused for want of work that others used up")
	}
}

func TestCancelGivesBack(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("whole", "r", 1), perUser("user", "r", 1)}})
	var c engine.Call
	c.Items = []engine.Request{request("r", "", "bob")}
	e.Decide(start, &c)
	e.Cancel(start, &c)
	if got := passes(e, start, 3, request("r", "", "bob")); got != 1 {
		t.Errorf("%d passed after a cancelled call, want 1", got)
	}
	e.Cancel(start, &c) // has nothing to give back any more
	if got := passes(e, start, 3, request("r", "", "bob")); got != 0 {
		t.Errorf("%d passed after the call was cancelled again, want 0", got)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	set := rule.Set{Revision: "1", Limits: []rule.LimitRule{flow("a", "a", 5), perUser("b", "b", 5), flow("gone", "g", 1)}}
	e := newEngine(t, set)
	used := func(resource string, n int) {
		if got := passes(e, start, n, request(resource, "", "bob")); got != n {
			t.Fatalf("%s: %d of %d passed", resource, got, n)
		}
	}
	used("a", 3)
	used("b", 3)
	set.Revision = "2"
	set.Limits = []rule.LimitRule{flow("a", "a", 4), perUser("b", "b", 3), flow("new", "n", 1)}
	changes := apply(t, e, set)
	if !slices.Equal(changes.Added, []string{"new"}) || !slices.Equal(changes.Removed, []string{"gone"}) || changes.Fresh != nil {
		t.Errorf("changes %+v", changes)
	}
	if got := passes(e, start, 5, request("a", "", "")); got != 1 {
		t.Errorf("a: %d passed after the limit went from 5 to 4 with 3 used, want 1", got)
	}
	if got := passes(e, start, 5, request("b", "", "bob")); got != 0 {
		t.Errorf("b: %d passed after the limit went from 5 to 3 with 3 used, want 0", got)
	}
	if got := e.Rules()[0].Rule.Passed.Load(); got != 4 {
		t.Errorf("counter of a is %d after the reload, want 4", got)
	}
	set.Limits[0].Interval = 2 * time.Second
	changes = apply(t, e, set)
	if !slices.Equal(changes.Fresh, []string{"a"}) {
		t.Errorf("a new interval: changes %+v, want a fresh", changes)
	}
	if got := passes(e, start, 9, request("a", "", "")); got != 4 {
		t.Errorf("a fresh window of 4 let %d pass", got)
	}
}

func TestBadSetChangesNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Revision: "good", Limits: []rule.LimitRule{flow("a", "a", 1)}})
	bad := flow("b", "b", 1)
	bad.SampleCount = 7
	if _, err := e.Apply(start, rule.Set{Revision: "bad", Limits: []rule.LimitRule{flow("a", "a", 9), bad}}); err == nil {
		t.Fatal("a sample count that does not divide the interval was accepted")
	}
	if e.Revision() != "good" || passes(e, start, 5, request("a", "", "")) != 1 {
		t.Error("the refused set left a trace")
	}
}

// Keys of a rule that has left no longer count towards the bound of all rules together.
func TestReloadReturnsKeys(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxKeysTotal: 2})
	a, b := perUser("a", "r", 1), perUser("b", "r", 1)
	a.Overflow, b.Overflow = rule.OverflowBlock, rule.OverflowBlock
	apply(t, e, rule.Set{Limits: []rule.LimitRule{a}})
	for _, user := range []string{"x", "y"} {
		if passes(e, start, 1, request("r", "", user)) != 1 {
			t.Fatalf("user %s found no room", user)
		}
	}
	if passes(e, start, 1, request("r", "", "z")) != 0 {
		t.Fatal("a third key was tracked in a budget of two")
	}
	apply(t, e, rule.Set{Limits: []rule.LimitRule{b}})
	if passes(e, start, 1, request("r", "", "z")) != 1 {
		t.Error("the keys of the rule that left still take the budget")
	}
}

func TestConcurrentBound(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("whole", "r", 100), perUser("user", "r", 100)}})
	var passed atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() { passed.Add(int64(passes(e, start, 50, request("r", "", "bob")))) })
	}
	wg.Wait()
	if got := passed.Load(); got != 100 {
		t.Errorf("%d passed, want exactly 100", got)
	}
}

// Calls over two rules race with calls over either: whatever the order, a rule holds exactly what
// the passed calls took from it.
func TestConcurrentAllOrNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 300), perUser("b", "b", 200)}})
	var onA, onB atomic.Int64
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			var c engine.Call
			for range 60 {
				c.Items = c.Items[:0]
				if g%3 != 0 {
					c.Items = append(c.Items, request("a", "", ""))
				}
				if g%3 != 1 {
					c.Items = append(c.Items, request("b", "", "bob"))
				}
				if e.Decide(start, &c); c.Overall != engine.Pass {
					continue
				}
				if g%3 != 0 {
					onA.Add(1)
				}
				if g%3 != 1 {
					onB.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if a, b := onA.Load(), onB.Load(); a > 300 || b > 200 {
		t.Errorf("admitted %d of 300 and %d of 200", a, b)
	}
	if left := int64(passes(e, start, 400, request("a", "", ""))); left != 300-onA.Load() {
		t.Errorf("a: %d left, want %d", left, 300-onA.Load())
	}
	if left := int64(passes(e, start, 400, request("b", "", "bob"))); left != 200-onB.Load() {
		t.Errorf("b: %d left, want %d", left, 200-onB.Load())
	}
}

// While sets are swapped, every decision is made by one of them: a rule of count 0 in each never
// lets anything pass.
func TestReloadWhileDeciding(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("closed", "closed", 0), perUser("u", "u", 5)}})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if passes(e, start, 10, request("closed", "/x", "bob")) != 0 {
					t.Error("passed a rule of count 0")
					return
				}
				passes(e, start, 10, request("u", "/x", "bob"))
			}
		})
	}
	for i := range 200 {
		apply(t, e, rule.Set{Limits: []rule.LimitRule{perUser("u", "u", int64(i%9)), flow("closed", "closed", 0)}})
		e.Maintain(start)
	}
	close(stop)
	wg.Wait()
}

func TestDecideAllocatesNothing(t *testing.T) {
	e := newEngine(t, rule.Set{
		Limits: []rule.LimitRule{
			flow("route", "orders", 1000), perUser("user", "orders", 10), ofAPI(perUser("group", "api", 1000)), ofAPI(flow("re", "re", 5)),
		},
		APIs: []rule.APIDefinition{
			api("api", rule.PredicateItem{Pattern: "/orders/*/lines/**", Match: rule.PathPrefix, Host: "*.example.com"}),
			api("re", rule.PredicateItem{Pattern: "/orders/[0-9]+/.*", Match: rule.PathRegex}),
		},
	})
	var c engine.Call
	q := request("orders", "/orders/7/lines/1", "bob")
	q.Host = "shop.example.com"
	c.Items = []engine.Request{q, q}
	now := start
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(10 * time.Millisecond)
		e.Decide(now, &c)
	}); got != 0 {
		t.Errorf("%v allocations a decision", got)
	}
}
