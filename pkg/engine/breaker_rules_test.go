package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

const second = int64(time.Second)

// opens returns a route rule whose breaker opens for 10 s at the third error among at least three calls
// of the last 5 s, and then lets one probe through.
func opens(id, resource string) rule.DegradeRule {
	return rule.DegradeRule{
		ID: id, Resource: resource, Grade: rule.GradeErrorCount, Errors: 2, MinRequestAmount: 3,
		StatInterval: 5 * time.Second, SampleCount: 5, TimeWindow: 10 * time.Second,
		HalfOpenRequests: 1, HalfOpenTimeout: time.Minute, Lease: time.Minute,
	}
}

func breakers(rules ...rule.DegradeRule) rule.Set { return rule.Set{Degrade: rules} }

// call decides a call of the requests and, if it passes, ends it half a second later.
func call(e *engine.Engine, now int64, o engine.Outcome, items ...engine.Request) engine.Call {
	var c engine.Call
	if decide(e, now, &c, items...) == engine.Pass {
		e.Complete(now+second/2, c.Token, o)
	}
	return c
}

// fail makes so many calls of a resource that fail.
func fail(e *engine.Engine, now int64, n int, resource string) {
	for range n {
		call(e, now, engine.Outcome{Error: true}, request(resource, "", ""))
	}
}

// stateOf returns the state of the breaker of a rule.
func stateOf(t testing.TB, e *engine.Engine, now int64, id string) engine.BreakerStatus {
	t.Helper()
	for _, r := range e.Rules() {
		if s, ok := r.Breaker(now); ok && r.Rule.ID == id {
			return s
		}
	}
	t.Fatalf("no breaker %s", id)
	return engine.BreakerStatus{}
}

func wantState(t testing.TB, e *engine.Engine, now int64, what, id string, want engine.BreakerState) {
	t.Helper()
	if got := stateOf(t, e, now, id).State; got != want {
		t.Errorf("%s: %s is %v, want %v", what, id, got, want)
	}
}

// TestBreakerLife follows a breaker through all its states, and what callers and the log are told.
func TestBreakerLife(t *testing.T) {
	t.Parallel()
	e := newEngine(t, breakers(opens("b", "orders")))
	if !e.Outcomes() {
		t.Error("no rule wants to know how calls end")
	}
	ok := call(e, start, engine.Outcome{}, request("orders", "", ""))
	if v := ok.Verdicts[0]; ok.Token == (engine.Token{}) || !v.Matched || v.Rule != nil || v.Reset != 0 {
		t.Errorf("closed: token %v, verdict %+v; want a token and no rule that limits", ok.Token, v)
	}
	fail(e, start, 2, "orders")
	wantState(t, e, start, "two of three failed", "b", engine.BreakerClosed)
	fail(e, start, 1, "orders")
	opened := start + second/2
	refused := call(e, opened+3*second, engine.Outcome{}, request("orders", "", ""))
	want := engine.Verdict{Code: engine.Block, Reason: engine.ReasonBreaker, Matched: true, Rule: e.Rules()[0].Rule, Reset: 7 * time.Second}
	if got := refused.Verdicts[0]; got != want || refused.Token != (engine.Token{}) {
		t.Fatalf("open: %+v, token %v, want %+v", got, refused.Token, want)
	}

	var probe engine.Call
	probed := opened + 10*second
	if decide(e, probed-1, &probe, request("orders", "", "")) != engine.Block || decide(e, probed, &probe, request("orders", "", "")) != engine.Pass {
		t.Fatal("the probe did not pass when the breaker had been open for its time, and no sooner")
	}
	var other engine.Call
	if decide(e, probed+1, &other, request("orders", "", "")); other.Verdicts[0].Reason != engine.ReasonBreaker || other.Verdicts[0].Reset != 0 {
		t.Errorf("while the probe is under way: %+v, want refused without a time", other.Verdicts[0])
	}
	if !e.Complete(probed+5, probe.Token, engine.Outcome{}) {
		t.Error("the end of the probe was not taken")
	}
	wantState(t, e, probed+5, "after the probe", "b", engine.BreakerClosed)
	fail(e, probed+second, 2, "orders")
	wantState(t, e, probed+second, "what was counted before it opened", "b", engine.BreakerClosed)

	type change struct {
		at       int64
		from, to engine.BreakerState
	}
	var got []change
	for _, tr := range e.Transitions(probed+second, nil) {
		if tr.Rule.ID != "b" || tr.Missed != 0 {
			t.Errorf("transition %+v of %s", tr, tr.Rule.ID)
		}
		got = append(got, change{tr.At, tr.From, tr.To})
	}
	if want := []change{
		{opened, engine.BreakerClosed, engine.BreakerOpen},
		{probed, engine.BreakerOpen, engine.BreakerHalfOpen},
		{probed + 5, engine.BreakerHalfOpen, engine.BreakerClosed},
	}; !slices.Equal(got, want) {
		t.Errorf("transitions %v, want %v", got, want)
	}
	if again := e.Transitions(probed+second, nil); len(again) != 0 {
		t.Errorf("transitions told again: %v", again)
	}
	if r := e.Rules()[0]; r.Rule.Passed.Load() != 7 || r.Rule.Blocked.Load() != 3 || r.Tracks {
		t.Errorf("%d passed, %d blocked, tracks %v", r.Rule.Passed.Load(), r.Rule.Blocked.Load(), r.Tracks)
	}
}

// TestTransitionsOfTime: a probe that got lost opens the breaker although nobody calls, and transitions
// beyond those that are kept are told as missed.
func TestTransitionsOfTime(t *testing.T) {
	t.Parallel()
	b := opens("b", "orders")
	b.HalfOpenTimeout = 2 * time.Second
	e := newEngine(t, breakers(opens("a", "items"), b))
	fail(e, start, 3, "orders")
	fail(e, start+1, 3, "items")
	now := start + 11*second
	passes(e, now, 1, request("orders", "", ""))
	got := e.Transitions(now+2*second, nil)
	var ids string
	for _, tr := range got {
		ids += tr.Rule.ID
	}
	if ids != "babb" || got[3].To != engine.BreakerOpen || got[3].At != now+2*second {
		t.Fatalf("transitions of %q, %+v", ids, got)
	}
	for range 10 {
		now += 20 * second
		passes(e, now, 1, request("orders", "", ""))
		stateOf(t, e, now+2*second, "b")
	}
	got = e.Transitions(now+2*second, nil)
	if len(got) != 16 || got[0].Missed != 4 || got[1].Missed != 0 {
		t.Errorf("%d transitions, %d missed before the first", len(got), got[0].Missed)
	}
}

// TestBreakerBesideLimits: a pass is explained by what limits, and a refusal by who makes wait longest.
func TestBreakerBesideLimits(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits:  []rule.LimitRule{flow("w", "orders", 5)},
		Degrade: []rule.DegradeRule{opens("b", "orders")},
	})
	c := call(e, start, engine.Outcome{}, request("orders", "", ""))
	if v := c.Verdicts[0]; v.Rule == nil || v.Rule.ID != "w" || v.Limit != 5 || v.Remaining != 4 {
		t.Errorf("pass: %+v", v)
	}
	fail(e, start, 3, "orders")
	c = call(e, start+second, engine.Outcome{}, request("orders", "", ""))
	if v := c.Verdicts[0]; v.Rule == nil || v.Rule.ID != "b" || v.Limit != 0 || v.Reset != 9500*time.Millisecond {
		t.Errorf("open: %+v", v)
	}
	if n := e.Rules()[0].Rule.Passed.Load(); n != 4 {
		t.Errorf("the window counted %d calls, want those that passed", n)
	}
}

// TestProbeOfRefusedCall: a probe that another rule refuses, or whose caller gives up, is not taken.
func TestProbeOfRefusedCall(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits:  []rule.LimitRule{flow("w", "orders", 3)},
		Degrade: []rule.DegradeRule{opens("b", "orders")},
	})
	fail(e, start, 3, "orders")
	now := start + 11*second
	var c engine.Call
	peek := request("orders", "", "")
	peek.Kind = engine.Peek
	large := request("orders", "", "")
	large.Hits = 4
	if decide(e, now, &c, peek) != engine.Pass || decide(e, now, &c, large) != engine.Block {
		t.Fatal("a peek must pass, and a request beyond the window must not")
	}
	wantState(t, e, now, "a peek and a refusal by another rule", "b", engine.BreakerOpen)
	for range 2 {
		if decide(e, now, &c, request("orders", "", "")) != engine.Pass {
			t.Fatal("no probe")
		}
		if s := stateOf(t, e, now, "b"); s.State != engine.BreakerHalfOpen || s.Probes != 1 {
			t.Fatalf("%+v, want one probe under way", s)
		}
		e.Cancel(now, &c)
		if s := stateOf(t, e, now, "b"); s.State != engine.BreakerHalfOpen || s.Probes != 0 {
			t.Fatalf("%+v, want the probe given back", s)
		}
	}
}
