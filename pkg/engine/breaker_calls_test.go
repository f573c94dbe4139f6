package engine_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// TestBreakerReload: a breaker goes on under new terms, by which calls under way are judged as well; one
// that counts otherwise starts anew.
func TestBreakerReload(t *testing.T) {
	t.Parallel()
	b := opens("b", "orders")
	e := newEngine(t, breakers(b))
	fail(e, start, 2, "orders")
	var tokens []engine.Token
	var c engine.Call
	for range 4 {
		decide(e, start, &c, request("orders", "", ""))
		tokens = append(tokens, c.Token)
	}
	b.Errors = 3
	if changes := apply(t, e, breakers(b)); len(changes.Fresh)+len(changes.Added) > 0 {
		t.Fatalf("changes %+v", changes)
	}
	now := start + second
	for i, want := range []engine.BreakerState{engine.BreakerClosed, engine.BreakerOpen, engine.BreakerOpen} {
		if !e.Complete(now, tokens[i], engine.Outcome{Error: true}) {
			t.Fatal("the reload ended a call")
		}
		wantState(t, e, now, "a call from before the reload ended", "b", want)
	}
	b.TimeWindow, b.Shadow = 20*time.Second, false
	apply(t, e, breakers(b, opens("other", "orders")))
	if c = call(e, now, engine.Outcome{}, request("orders", "", "")); c.Verdicts[0].Reset != 20*time.Second {
		t.Errorf("open under a new time window: %+v", c.Verdicts[0])
	}
	b.SampleCount = 1
	if changes := apply(t, e, breakers(b)); len(changes.Fresh) != 1 || len(changes.Removed) != 1 {
		t.Errorf("changes %+v", changes)
	}
	wantState(t, e, now, "of another shape", "b", engine.BreakerClosed)
	apply(t, e, rule.Set{})
	if !e.Complete(now, tokens[3], engine.Outcome{Error: true}) || e.Outcomes() {
		t.Error("a call whose rule has left cannot end, or is still asked for")
	}
}

// TestBreakersOfOneCall: every breaker of the route and of the groups must let a call through, and judges
// it by itself.
func TestBreakersOfOneCall(t *testing.T) {
	t.Parallel()
	slow := opens("slow", "orders")
	slow.Grade, slow.RTLimit, slow.Ratio = rule.GradeSlowRatio, 400*time.Millisecond, rule.Ratio{Num: 1, Den: 1}
	group := opens("group", "api")
	group.Mode, group.TimeWindow = rule.ModeAPI, 30*time.Second
	foreign := opens("foreign", "orders")
	foreign.Domain = "shop"
	set := breakers(opens("errors", "orders"), slow, group, foreign)
	set.APIs = []rule.APIDefinition{api("api", rule.PredicateItem{Pattern: "/api", Match: rule.PathPrefix})}
	set.Claimed = []string{"shop"}
	e := newEngine(t, set)
	for range 3 {
		call(e, start, engine.Outcome{Error: true}, request("orders", "/api/1", ""))
	}
	for id, want := range map[string]engine.BreakerState{
		"errors": engine.BreakerOpen, "slow": engine.BreakerOpen, "group": engine.BreakerOpen, "foreign": engine.BreakerClosed,
	} {
		wantState(t, e, start+second, "after three slow calls that failed", id, want)
	}
	now := start + 12*second
	if c := call(e, now, engine.Outcome{}, request("orders", "/api/1", "")); c.Verdicts[0].Rule == nil || c.Verdicts[0].Rule.ID != "group" {
		t.Errorf("%+v, want refused by the group's breaker, which makes wait longest", c.Verdicts[0])
	}
	wantState(t, e, now, "probed in vain", "errors", engine.BreakerOpen)
	if c := call(e, now, engine.Outcome{RT: time.Millisecond}, request("orders", "/", "")); c.Overall != engine.Pass {
		t.Errorf("%+v, want a probe outside of the group", c.Verdicts[0])
	}
	wantState(t, e, now+second, "probed", "errors", engine.BreakerClosed)
	wantState(t, e, now+second, "probed", "slow", engine.BreakerClosed)
}

// TestBreakerCountsCalls: a call of several requests of one resource is one call.
func TestBreakerCountsCalls(t *testing.T) {
	t.Parallel()
	e := newEngine(t, breakers(opens("b", "orders")))
	twice := []engine.Request{request("orders", "", ""), request("orders", "", "")}
	twice[1].Hits = 100
	for range 2 {
		call(e, start, engine.Outcome{Error: true}, twice...)
	}
	if s := stateOf(t, e, start+second, "b"); s.State != engine.BreakerClosed || s.Ended.Total != 2 || s.Ended.Errors != 2 {
		t.Fatalf("%+v, want two calls", s)
	}
	fail(e, start+second, 1, "orders")
	now := start + 12*second
	if c := call(e, now, engine.Outcome{}, twice...); c.Overall != engine.Pass {
		t.Fatalf("a probe of two requests: %+v", c.Verdicts)
	}
	wantState(t, e, now+second, "probed by two requests of one call", "b", engine.BreakerClosed)
}

// TestBreakerOfUnknownEnds: of calls that nobody reports a breaker learns nothing, and of those whose
// client left only that they were slow.
func TestBreakerOfUnknownEnds(t *testing.T) {
	t.Parallel()
	slow := opens("slow", "orders")
	slow.Grade, slow.RTLimit, slow.Ratio = rule.GradeSlowRatio, 600*time.Millisecond, rule.Ratio{Num: 1, Den: 2}
	e := newEngine(t, breakers(opens("errors", "orders"), slow))
	var c engine.Call
	for range 3 {
		decide(e, start, &c, request("orders", "", ""))
	}
	if n := e.Expire(start + 62*second); n != 3 {
		t.Fatalf("%d leases ended, want 3", n)
	}
	if e.Complete(start+62*second, c.Token, engine.Outcome{Error: true}) {
		t.Error("a call ended after its lease")
	}
	now := start + 70*second
	for range 3 {
		call(e, now, engine.Outcome{Aborted: true, Error: true}, request("orders", "", ""))
	}
	for _, id := range []string{"errors", "slow"} {
		if s := stateOf(t, e, now+second, id); s.State != engine.BreakerClosed || s.Ended.Total != 0 {
			t.Errorf("%s: %+v, want nothing learnt", id, s)
		}
	}
	for range 3 {
		decide(e, now, &c, request("orders", "", ""))
		e.Complete(now+second, c.Token, engine.Outcome{Aborted: true})
	}
	wantState(t, e, now+second, "left when it was slow", "errors", engine.BreakerClosed)
	wantState(t, e, now+second, "left when it was slow", "slow", engine.BreakerOpen)
}

// TestShadowBreaker goes through its states like any other, and refuses nothing.
func TestShadowBreaker(t *testing.T) {
	t.Parallel()
	b := opens("b", "orders")
	b.Shadow = true
	e := newEngine(t, breakers(b))
	fail(e, start, 3, "orders")
	c := call(e, start+second, engine.Outcome{}, request("orders", "", ""))
	if v := c.Verdicts[0]; c.Overall != engine.Pass || v.Rule != nil || v.ShadowRule == nil || v.ShadowRule.ID != "b" || c.Token != (engine.Token{}) {
		t.Errorf("open: %v, %+v, token %v", c.Overall, v, c.Token)
	}
	if r := e.Rules()[0].Rule; r.ShadowBlock.Load() != 1 || r.Blocked.Load() != 0 {
		t.Errorf("%d refused in shadow, %d refused", r.ShadowBlock.Load(), r.Blocked.Load())
	}
	call(e, start+11*second, engine.Outcome{}, request("orders", "", ""))
	wantState(t, e, start+12*second, "probed", "b", engine.BreakerClosed)
}

// TestBreakerWithoutRoom: where no more tokens can be had, a closed breaker lets calls through
// unobserved, and a probe, which would be lost, is not made.
func TestBreakerWithoutRoom(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxTokens: 1024})
	apply(t, e, breakers(opens("b", "orders"), opens("crowd", "crowd")))
	fail(e, start, 3, "orders")
	now := start + 11*second
	if n := passes(e, now, 1030, request("crowd", "", "")); n != 1030 {
		t.Fatalf("%d of 1030 passed a closed breaker", n)
	}
	if tokens := e.Tokens(); tokens.Live != 1024 || tokens.Untold.Load() != 6 || tokens.Refused.Load() != 0 {
		t.Errorf("%d tokens, %d calls without, %d refused", tokens.Live, tokens.Untold.Load(), tokens.Refused.Load())
	}
	c := call(e, now, engine.Outcome{}, request("orders", "", ""))
	if v := c.Verdicts[0]; c.Overall != engine.Block || v.Reason != engine.ReasonTooManyCalls || e.Tokens().Refused.Load() != 1 {
		t.Errorf("a probe without a token: %+v", v)
	}
	if s := stateOf(t, e, now, "b"); s.State != engine.BreakerHalfOpen || s.Probes != 0 {
		t.Errorf("%+v, want the probe given back", s)
	}
}

// TestBreakerUnderLoad: whatever races, no more probes are under way than the rule allows, and every
// call ends.
func TestBreakerUnderLoad(t *testing.T) {
	t.Parallel()
	b := opens("b", "orders")
	b.HalfOpenRequests, b.TimeWindow, b.StatInterval = 3, time.Second, time.Second
	e := newEngine(t, breakers(b))
	var clock atomic.Int64
	clock.Store(start)
	var group sync.WaitGroup
	for g := range uint64(6) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(g, 5))
			var c engine.Call
			for range 4000 {
				now := clock.Add(int64(time.Millisecond))
				if decide(e, now, &c, request("orders", "", "")) != engine.Pass {
					continue
				}
				switch random.IntN(16) {
				case 0:
					e.Cancel(now, &c)
					continue
				case 1:
					e.Transitions(now, nil)
				}
				if s := stateOf(t, e, now, "b"); s.Probes > 3 || s.Probes < 0 {
					t.Errorf("%d probes under way, want 3 at most", s.Probes)
				}
				if !e.Complete(now+1, c.Token, engine.Outcome{Error: random.IntN(3) == 0}) {
					t.Error("a call did not end")
				}
			}
		})
	}
	group.Wait()
	now := clock.Load()
	if s := stateOf(t, e, now, "b"); s.Probes != 0 || s.Transitions < 10 || e.Tokens().Live != 0 {
		t.Errorf("%+v, %d tokens", s, e.Tokens().Live)
	}
}

// TestDecideByBreakerAllocatesNothing goes through all states of a breaker.
func TestDecideByBreakerAllocatesNothing(t *testing.T) {
	b := opens("b", "orders")
	b.TimeWindow = time.Second
	e := newEngine(t, breakers(b, opens("c", "orders")))
	var c engine.Call
	q := request("orders", "", "")
	now, i := start, 0
	if got := testing.AllocsPerRun(5000, func() {
		now += 100 * int64(time.Millisecond)
		if i++; decide(e, now, &c, q) == engine.Pass {
			e.Complete(now+1, c.Token, engine.Outcome{Error: i%64 < 32})
		}
	}); got != 0 {
		t.Errorf("%v allocations for deciding and ending a call", got)
	}
	if s := stateOf(t, e, now, "b"); s.Transitions < 20 {
		t.Errorf("%d transitions, the breaker did not go through its states", s.Transitions)
	}
}

// BenchmarkDecideAndCompleteByBreaker is the cost of a call that a closed breaker judges: the decision,
// and its end.
func BenchmarkDecideAndCompleteByBreaker(b *testing.B) {
	e := newEngine(b, breakers(opens("b", "orders")))
	c := engine.Call{Items: []engine.Request{request("orders", "", "")}}
	now := start
	b.ReportAllocs()
	for b.Loop() {
		e.Decide(now, &c)
		if now += 20_000; !e.Complete(now, c.Token, engine.Outcome{}) {
			b.Fatal("a call did not end")
		}
	}
}
