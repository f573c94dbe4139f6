package engine_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// system returns an engine with system rules.
func system(t testing.TB, rules string) *engine.Engine {
	t.Helper()
	return newEngine(t, load(t, map[string]string{"system-rules.json": "[" + rules + "]"}))
}

// reasonOf decides one call of a resource, and returns why it was refused.
func reasonOf(e *engine.Engine, now int64, c *engine.Call) engine.Reason {
	decide(e, now, c, request("any", "/", ""))
	return c.Verdicts[0].Reason
}

// TestSystemQPS is one budget for all resources, domains and calls without a resource.
func TestSystemQPS(t *testing.T) {
	t.Parallel()
	set := load(t, map[string]string{
		"system-rules.json": `[{"id": "all", "qps": 5}]`,
		"b.yaml":            "domain: shop\ngatewayFlowRules: [{resource: a, count: 100}]\n",
	})
	e := newEngine(t, set)
	for i, q := range []engine.Request{request("a", "/", ""), request("b", "/", ""), request("", "/", "")} {
		c := engine.Call{Domain: []string{"shop", "x"}[i%2]}
		if decide(e, start, &c, q) != engine.Pass || c.Token != (engine.Token{}) {
			t.Fatalf("request %d: %v, token %v", i, c.Overall, c.Token)
		}
		if v := c.Verdicts[0]; v.Matched != (i == 0) || i != 0 && v.Rule != nil {
			t.Errorf("request %d: matched %v by %v: a rule for all calls is no rule for this one", i, v.Matched, v.Rule)
		}
	}
	var c engine.Call
	q := request("a", "/", "")
	q.Hits = 3
	if decide(e, start, &c, q) != engine.Block {
		t.Fatal("three hits passed where two have room")
	}
	v := c.Verdicts[0]
	left := int64(time.Second) - start%int64(time.Second/2)
	if v.Reason != engine.ReasonSystemQPS || v.Rule.ID != "all" || v.Limit != 0 || v.Remaining != 0 || int64(v.Reset) != left {
		t.Errorf("%v by %s, limit %d, retry after %v, want %v", v.Reason, v.Rule.ID, v.Limit, v.Reset, time.Duration(left))
	}
	q.Kind = engine.Refund
	decide(e, start, &c, q)
	q.Kind, q.Hits = engine.Peek, 2
	if decide(e, start, &c, q) != engine.Pass {
		t.Error("two have room")
	}
	q.Hits = 3
	if decide(e, start, &c, q) != engine.Block {
		t.Error("hits that are given back are those of a resource, not of the system")
	}
	apply(t, e, set)
	if got := passes(e, start, 5, request("b", "/", "")); got != 2 {
		t.Errorf("%d passed after a reload, want 2", got)
	}
	set.System[0].Limit = 7
	apply(t, e, set)
	if got := passes(e, start, 5, request("b", "/", "")); got != 2 {
		t.Errorf("%d passed under a greater limit, want 2 more", got)
	}
}

// TestSystemCountsCalls: a call of several requests is one, of as many hits as the largest of them.
func TestSystemCountsCalls(t *testing.T) {
	t.Parallel()
	e := system(t, `{"qps": 10, "maxThread": 4}`)
	c := engine.Call{Items: []engine.Request{request("a", "/", ""), request("b", "/", ""), request("a", "/", ""), request("b", "/", "")}}
	c.Items[1].Hits, c.Items[2].Kind, c.Items[3].Kind = 3, engine.Peek, engine.Refund
	e.Decide(start, &c)
	if r := e.Rules()[0]; c.Overall != engine.Pass || r.InFlight != 1 || !r.Tracks {
		t.Fatalf("%v, %d in flight", c.Overall, r.InFlight)
	}
	if got := passes(e, start, 20, request("any", "/", "")); got != 4 {
		t.Errorf("%d more passed, want 4 of the 5 that may be under way", got)
	}
	e.Complete(start, c.Token, engine.Outcome{})
	c.Items = c.Items[:2]
	c.Items[1].Hits = 4
	if e.Decide(start, &c); c.Overall != engine.Block || c.Verdicts[0].Reason != engine.ReasonSystemQPS || c.Verdicts[1].Reason != engine.ReasonSystemQPS {
		t.Errorf("%v, %v, %v: 3 + 4 + 4 is more than 10", c.Overall, c.Verdicts[0].Reason, c.Verdicts[1].Reason)
	}
	if c.Verdicts[0].Reset == 0 || c.Verdicts[0].Reset != c.Verdicts[1].Reset {
		t.Errorf("retry after %v and %v: both are refused for the same call", c.Verdicts[0].Reset, c.Verdicts[1].Reset)
	}
	c.Items[1].Hits = 3
	if e.Decide(start, &c); c.Overall != engine.Pass {
		t.Error("3 + 4 + 3 is not more than 10")
	}
}

// TestSystemGivesBack: a call that is given up, or refused by another rule, leaves nothing charged.
func TestSystemGivesBack(t *testing.T) {
	t.Parallel()
	for _, figures := range []string{`"qps": 2`, `"qps": 2, "maxThread": 1`, `"qps": 2, "avgRt": 1000`, `"maxThread": 1`} {
		e := newEngine(t, load(t, map[string]string{
			"system-rules.json":  `[{` + figures + `}]`,
			"gw-flow-rules.json": `[{"resource": "closed", "count": 0}]`,
		}))
		var c engine.Call
		for range 3 {
			if decide(e, start, &c, request("any", "/", "")) != engine.Pass {
				t.Fatalf("%s: refused", figures)
			}
			e.Cancel(start, &c)
			e.Cancel(start, &c)
			passes(e, start, 3, request("closed", "/", ""))
		}
		if r := e.Rules()[0]; r.InFlight != 0 || r.Rule.Passed.Load() != 0 {
			t.Errorf("%s: %d in flight, %d passed", figures, r.InFlight, r.Rule.Passed.Load())
		}
		if got := passes(e, start, 5, request("any", "/", "")); got != 2 {
			t.Errorf("%s: %d passed, want 2", figures, got)
		}
	}
}

// TestSystemThreads are released however a call ends, and that retrying helps is not known.
func TestSystemThreads(t *testing.T) {
	t.Parallel()
	e := system(t, `{"maxThread": 1, "leaseMs": 2000}`)
	calls := []engine.Call{{Peer: 3}, {}, {}}
	if reasonOf(e, start, &calls[0]) != engine.ReasonNone || reasonOf(e, start, &calls[1]) != engine.ReasonNone {
		t.Fatal("two may be under way")
	}
	if why := reasonOf(e, start, &calls[2]); why != engine.ReasonSystemThread || calls[2].Verdicts[0].Reset != 0 {
		t.Errorf("the third: %v, retry after %v", why, calls[2].Verdicts[0].Reset)
	}
	e.EndPeer(start, 3)
	if reasonOf(e, start, &calls[0]) != engine.ReasonNone {
		t.Error("a peer that has gone holds its place")
	}
	if n := e.Expire(start + int64(4*time.Second)); n != 2 || e.Rules()[0].InFlight != 0 {
		t.Errorf("%d leases ended, %d in flight", n, e.Rules()[0].InFlight)
	}
}

// TestSystemIsExact: however many callers come at once.
func TestSystemIsExact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		figures string
		want    int64
	}{{`"qps": 50`, 50}, {`"maxThread": 49`, 50}, {`"qps": 70, "maxThread": 49`, 50}} {
		e := system(t, `{`+tt.figures+`}`)
		var passed, lost atomic.Int64
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				var c engine.Call
				for range 20 {
					if decide(e, start, &c, request("any", "/", "")) == engine.Pass {
						passed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		// A call that lost the race for a place gives its hit back only then, so another may be refused for it.
		lost.Store(e.Rules()[0].Rule.LostRaces.Load())
		if n := passed.Load(); n > tt.want || n < tt.want-lost.Load() {
			t.Errorf("%s: %d passed, want %d (%d races lost)", tt.figures, n, tt.want, lost.Load())
		}
	}
}

// TestSystemAverageRT looks at the last second.
func TestSystemAverageRT(t *testing.T) {
	t.Parallel()
	e := system(t, `{"avgRt": 100}`)
	var c engine.Call
	for _, s := range []struct {
		at, rt int64
		want   engine.Reason
	}{{0, 100, engine.ReasonNone}, {110, 101, engine.ReasonNone}, {220, 1, engine.ReasonSystemRT}, {1200, 5, engine.ReasonNone}} {
		begin := int64(1_750_000_000_000_000_000) + s.at*ms
		if why := reasonOf(e, begin, &c); why != s.want || c.Verdicts[0].Reset != 0 {
			t.Errorf("at %d ms: %v, retry after %v", s.at, why, c.Verdicts[0].Reset)
		}
		if s.want == engine.ReasonNone && (c.Token == engine.Token{} || !e.Complete(begin+s.rt*ms, c.Token, engine.Outcome{})) {
			t.Errorf("at %d ms: no token", s.at)
		}
	}
}

// TestSystemLoad refuses only what is more than the system copes with: here 2 x 5 calls a second, of which the fastest takes
// 200 ms, so two at a time.
func TestSystemLoad(t *testing.T) {
	t.Parallel()
	e := system(t, `{"highestSystemLoad": 2.5}`)
	e.SetSystem(engine.SystemSample{Load: 2.6, CPU: -1})
	const second = int64(1_750_000_000_000_000_000)
	var c engine.Call
	for i := range 5 {
		if reasonOf(e, second, &c) != engine.ReasonNone {
			t.Fatal("refused before anything is known")
		}
		e.Complete(second, c.Token, engine.Outcome{RT: time.Duration(200+i) * time.Millisecond})
	}
	calls := make([]engine.Call, 4)
	for i := range 3 {
		if why := reasonOf(e, second, &calls[i]); why != engine.ReasonNone {
			t.Fatalf("call %d: %v", i, why)
		}
	}
	if why := reasonOf(e, second, &c); why != engine.ReasonSystemLoad {
		t.Errorf("with three under way: %v", why)
	}
	for _, unimportant := range []engine.SystemSample{{Load: 2.5}, {Load: -1}} {
		e.SetSystem(unimportant)
		if why := reasonOf(e, second, &c); why != engine.ReasonNone {
			t.Errorf("load %v: %v", unimportant.Load, why)
		}
		e.Cancel(second, &c)
	}
	e.SetSystem(engine.SystemSample{Load: 9})
	e.Complete(second, calls[0].Token, engine.Outcome{RT: time.Hour})
	if why := reasonOf(e, second, &calls[3]); why != engine.ReasonNone {
		t.Errorf("with two under way: %v", why)
	}
}

// TestSystemLoadBeforeAnyCallEnded goes by Sentinel's numbers: two calls a second, of five seconds each.
func TestSystemLoadBeforeAnyCallEnded(t *testing.T) {
	t.Parallel()
	e := system(t, `{"highestSystemLoad": 0}`)
	e.SetSystem(engine.SystemSample{Load: 1})
	if got := passes(e, start, 20, request("any", "/", "")); got != 11 {
		t.Errorf("%d passed, want 11", got)
	}
}

func TestSystemCPU(t *testing.T) {
	t.Parallel()
	e := system(t, `{"highestCpuUsage": 0.8}`)
	var c engine.Call
	for _, tt := range []struct {
		cpu  float64
		want engine.Reason
	}{{-1, engine.ReasonNone}, {0.8, engine.ReasonNone}, {0.81, engine.ReasonSystemCPU}, {1.3, engine.ReasonSystemCPU}, {0, engine.ReasonNone}} {
		if e.SetSystem(engine.SystemSample{CPU: tt.cpu}); reasonOf(e, start, &c) != tt.want || c.Token != (engine.Token{}) {
			t.Errorf("cpu %v: %v, token %v", tt.cpu, c.Verdicts[0].Reason, c.Token)
		}
		if got := e.System().CPU; got != tt.cpu {
			t.Errorf("shown as %v", got)
		}
	}
	if v := engine.New(engine.Options{}).System(); v.CPU != -1 || v.Load != -1 {
		t.Errorf("before anything was measured: %+v", v)
	}
}

// TestSystemStrictestCounts: all rules are looked at, as Sentinel takes the least of all figures.
func TestSystemStrictestCounts(t *testing.T) {
	t.Parallel()
	e := system(t, `{"id": "ten", "qps": 10}, {"id": "three", "qps": 3}, {"id": "shadow", "qps": 1, "shadow": true}`)
	if got := passes(e, start, 20, request("any", "/", "")); got != 3 {
		t.Errorf("%d passed, want 3", got)
	}
	var c engine.Call
	reasonOf(e, start, &c)
	if v := c.Verdicts[0]; v.Rule.ID != "three" || v.ShadowRule.ID != "shadow" {
		t.Errorf("decided by %s", v.Rule.ID)
	}
}

// TestSystemWithoutRoomForTokens: calls under way cannot be counted, so they are refused; what else the
// rules look at does not wait for their end.
func TestSystemWithoutRoomForTokens(t *testing.T) {
	t.Parallel()
	const more = 5
	for _, tt := range []struct {
		figures string
		passed  int
	}{{`"maxThread": 5000`, 1024}, {`"qps": 1027, "avgRt": 1000`, 1027}, {`"maxThread": 0, "shadow": true`, 1024 + more}} {
		e := engine.New(engine.Options{MaxTokens: 1024})
		apply(t, e, load(t, map[string]string{"system-rules.json": `[{` + tt.figures + `}]`}))
		if got := passes(e, start, 1024+more, request("", "/", "")); got != tt.passed {
			t.Errorf("%s: %d passed, want %d", tt.figures, got, tt.passed)
		}
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestSystemAllocatesNothing(t *testing.T) {
	e := system(t, `{"qps": 1000000, "maxThread": 1000, "avgRt": 1000, "highestSystemLoad": 0, "highestCpuUsage": 0.9}`)
	e.SetSystem(engine.SystemSample{Load: 1, CPU: 0.5})
	now, q := start, engine.Request{Resource: "any", Hits: 1}
	var c engine.Call
	if got := testing.AllocsPerRun(1000, func() {
		if decide(e, now, &c, q) != engine.Pass {
			t.Fatal(c.Verdicts[0].Reason)
		}
		now += ms
		e.Complete(now, c.Token, engine.Outcome{})
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestSystemRulesStayOverReloads keep what they have counted unless they count something else.
func TestSystemRulesStayOverReloads(t *testing.T) {
	t.Parallel()
	e := system(t, `{"id": "s", "maxThread": 9}`)
	var c engine.Call
	reasonOf(e, start, &c)
	for _, tt := range []struct {
		rules string
		fresh string
		calls int64
	}{{`{"id": "s", "maxThread": 8, "avgRt": 7}`, "[]", 1}, {`{"id": "s", "maxThread": 8, "qps": 7}`, "[s]", 0}} {
		changes := apply(t, e, load(t, map[string]string{"system-rules.json": "[" + tt.rules + "]"}))
		if got := fmt.Sprint(changes.Fresh); got != tt.fresh || e.Rules()[0].InFlight != tt.calls {
			t.Errorf("%s: fresh %s, %d in flight", tt.rules, got, e.Rules()[0].InFlight)
		}
	}
}
