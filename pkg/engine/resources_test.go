package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// brief writes the figures of a resource in one line.
func brief(s engine.ResourceState) string {
	name := s.Name
	if s.Other {
		name = "(other)"
	}
	if s.Mode == rule.ModeAPI {
		name += "*"
	}
	return fmt.Sprintf("%s pass %d block %d success %d exception %d rt %v in flight %d", name, s.Last.Pass, s.Last.Block, s.Last.Success, s.Last.Exception, s.Last.AvgRT(), s.Last.InFlight)
}

func wantResources(t testing.TB, e *engine.Engine, now int64, what string, want ...string) {
	t.Helper()
	var got []string
	for _, s := range e.Resources(now, nil) {
		got = append(got, brief(s))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n got %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestResourcesCountWhatIsEntered: a request counts in its route and its groups, whether they have rules or not,
// by what its whole call became.
func TestResourcesCountWhatIsEntered(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits: []rule.LimitRule{flow("route", "orders", 5), ofAPI(flow("group", "api", 100))},
		APIs: []rule.APIDefinition{
			api("api", rule.PredicateItem{Pattern: "/api", Match: rule.PathPrefix}),
			api("idle", rule.PredicateItem{Pattern: "/api", Match: rule.PathPrefix}), // without rules nobody looks for it
		},
	})
	var c engine.Call
	decide(e, start, &c, request("orders", "/api/1", ""))
	c.Items[0].Hits = 3
	e.Decide(start, &c)
	c.Items[0].Hits = 2
	e.Decide(start, &c) // refused
	c.Items[0].Kind = engine.Peek
	e.Decide(start, &c)
	c.Items[0].Kind = engine.Refund
	e.Decide(start, &c)
	c.Items = []engine.Request{request("search", "/", ""), request("", "/api/2", ""), request("search", "/", "")}
	e.Decide(start, &c)
	wantResources(t, e, start, "counted",
		"orders pass 4 block 2 success 0 exception 0 rt 0s in flight 0",
		"search pass 2 block 0 success 0 exception 0 rt 0s in flight 0",
		"api* pass 5 block 2 success 0 exception 0 rt 0s in flight 0",
	)
	if s := e.Inbound(start); s.Last.Pass != 5 || s.Last.Block != 2 {
		t.Errorf("all calls: %s, want 4 + 1 passed", brief(s))
	}
	c.Items = []engine.Request{request("search", "/", ""), request("orders", "/", "")}
	c.Items[1].Hits = 7
	e.Decide(start, &c)
	s, ok := e.Resource(start, "", rule.ModeRoute, "search")
	if !ok || s.Last.Pass != 2 || s.Last.Block != 1 || s.Ruled || s.Reported {
		t.Errorf("a request of a refused call: %s", brief(s))
	}
	if _, ok := e.Resource(start, "", rule.ModeAPI, "orders"); ok {
		t.Error("a route is taken for an API group")
	}
	if s, _ := e.Resource(start+int64(time.Second), "", rule.ModeRoute, "orders"); s.Previous != 4 || s.Last.Pass != 0 || !s.Ruled {
		t.Errorf("a second later: %+v", s)
	}
}

// TestResourcesLearnHowCallsEnd: of calls that have a token.
func TestResourcesLearnHowCallsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		end  func(e *engine.Engine, now int64, token engine.Token)
		want string
		told bool
	}{
		{"succeeded", func(e *engine.Engine, now int64, token engine.Token) { e.Complete(now, token, engine.Outcome{}) },
			"success 1 exception 0 rt 100ms in flight 0", true},
		{"failed", func(e *engine.Engine, now int64, token engine.Token) {
			e.Complete(now, token, engine.Outcome{Error: true, RT: 3 * time.Millisecond})
		}, "success 1 exception 1 rt 3ms in flight 0", true},
		{"aborted", func(e *engine.Engine, now int64, token engine.Token) {
			e.Complete(now, token, engine.Outcome{Aborted: true})
		}, "success 0 exception 0 rt 0s in flight 0", true},
		{"peer gone", func(e *engine.Engine, now int64, _ engine.Token) { e.EndPeer(now, 7) },
			"success 0 exception 0 rt 0s in flight 0", false},
		{"under way", func(*engine.Engine, int64, engine.Token) {}, "success 0 exception 0 rt 0s in flight 1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := rule.Set{
				Limits: []rule.LimitRule{atOnce("route", "orders", 5), ofAPI(flow("a", "api", 100))},
				APIs:   []rule.APIDefinition{api("api", rule.PredicateItem{Pattern: "/", Match: rule.PathPrefix})},
			}
			e := newEngine(t, set)
			call := engine.Call{Peer: 7}
			decide(e, start, &call, request("orders", "/api/1", ""))
			now := start + int64(100*time.Millisecond)
			c.end(e, now, call.Token)
			wantResources(t, e, now, c.name, "orders pass 1 block 0 "+c.want, "api* pass 1 block 0 "+c.want)
			for _, s := range append(e.Resources(now, nil), e.Inbound(now)) {
				if s.Reported != c.told {
					t.Errorf("%s: reported %v, want %v", s.Name, s.Reported, c.told)
				}
			}
			if s := e.Inbound(now); !strings.HasSuffix(brief(s), c.want) {
				t.Errorf("all calls: %s, want %s", brief(s), c.want)
			}
		})
	}
}

// TestTrackedResources: a tracked call counts in all resources that it enters, however many there are.
func TestTrackedResources(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 10)}})
	for n := range 6 {
		c := engine.Call{Track: true}
		for i := range n {
			c.Items = append(c.Items, request(fmt.Sprintf("route-%d", i), "/", ""))
		}
		c.Items = append(c.Items, request("a", "/", ""))
		e.Decide(start, &c)
		if c.Token == (engine.Token{}) {
			t.Fatalf("no token for %d resources", n)
		}
		if got := e.Inbound(start).Last.InFlight; got != 1 {
			t.Errorf("%d calls under way", got)
		}
		if !e.Complete(start+ms, c.Token, engine.Outcome{}) {
			t.Error("the token ends nothing")
		}
	}
	for i, s := range e.Resources(start, nil)[1:] {
		if want := int64(5 - i); s.Last.Success != want || s.Last.InFlight != 0 || s.Last.AvgRT() != time.Millisecond {
			t.Errorf("%s, want %d of 1ms", brief(s), want)
		}
	}
	if e.Tokens().Live != 0 {
		t.Error("tokens are left")
	}
}

// TestFiguresLeaveRoomForRules: calls that no rule waits for take at most half of the tokens.
func TestFiguresLeaveRoomForRules(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxTokens: 2048})
	apply(t, e, rule.Set{Limits: []rule.LimitRule{atOnce("a", "a", 1<<20), flow("free", "free", 1<<20)}})
	c := engine.Call{Track: true}
	for range 2000 {
		if decide(e, start, &c, request("free", "/", "")) != engine.Pass {
			t.Fatal("refused for the sake of figures")
		}
	}
	if s := e.Tokens(); s.Live != 1024 || s.Untold.Load() != 976 {
		t.Fatalf("%d tokens, %d calls untold", s.Live, s.Untold.Load())
	}
	for range 1024 {
		if decide(e, start, &c, request("a", "/", "")) != engine.Pass || c.Token == (engine.Token{}) {
			t.Fatal("no room for a rule's call")
		}
	}
	if s, _ := e.Resource(start, "", rule.ModeRoute, "free"); s.Last.InFlight != 1024 {
		t.Errorf("%s, want as many in flight as have a token", brief(s))
	}
	if n := e.Inbound(start).Last.InFlight; n != 2048 {
		t.Errorf("%d in flight in all, want as many as have a token", n)
	}
}

// TestGivenUpCallsCountNowhere: neither in resources nor by rules, however the call is given up.
func TestGivenUpCallsCountNowhere(t *testing.T) {
	t.Parallel()
	shadow := flow("shadow", "r", 0)
	shadow.Shadow = true
	behaviors := map[string]rule.LimitRule{
		"window": flow("a", "r", 3), "concurrency": atOnce("a", "r", 3), "queue": queueing("a", "r", 2, time.Minute), "user": perUser("a", "r", 3),
	}
	for name, r := range behaviors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, rule.Set{Limits: []rule.LimitRule{r, shadow}})
			first := decided(e, start, request("r", "/", "bob")) // those after it wait in a queue
			counts := func(what string, passed, waited, blocked, shadowed int64) {
				t.Helper()
				a, b := e.Rules()[0].Rule, e.Rules()[1].Rule
				if a.Passed.Load() != passed || a.Waited.Load() != waited || a.Blocked.Load() != blocked || b.ShadowBlock.Load() != shadowed {
					t.Errorf("%s: passed %d waited %d blocked %d, shadow %d; want %d, %d, %d, %d", what,
						a.Passed.Load(), a.Waited.Load(), a.Blocked.Load(), b.ShadowBlock.Load(), passed, waited, blocked, shadowed)
				}
				if s, _ := e.Resource(start, "", rule.ModeRoute, "r"); s.Last.Pass != passed || s.Last.Block != blocked {
					t.Errorf("%s: %s", what, brief(s))
				}
				if s := e.Inbound(start); s.Last.Pass != passed || s.Last.Block != blocked {
					t.Errorf("%s: all calls: %s", what, brief(s))
				}
			}
			waits := int64(0)
			if name == "queue" {
				waits = 1
			}
			counts("one", 1, 0, 0, 1)
			second := decided(e, start, request("r", "/", "bob"))
			counts("two", 2, waits, 0, 2)
			e.Redecide(start, second)
			counts("decided anew", 2, waits, 0, 2)
			if waits > 0 {
				second.MaxWait = 0
				e.Redecide(start, second)
				counts("decided anew, without patience", 1, 0, 1, 2)
				e.Cancel(start, second)
				counts("a refusal is not taken back", 1, 0, 1, 2)
				second.MaxWait = time.Hour
				e.Decide(start, second)
				counts("waits", 2, 1, 1, 3)
				e.Refuse(start, second, 0)
				counts("refused after all", 1, 0, 2, 3)
				return
			}
			e.Cancel(start, second)
			counts("given up", 1, 0, 0, 1)
			e.Cancel(start, second)
			counts("given up twice", 1, 0, 0, 1)
			e.Cancel(start, first)
			counts("all given up", 0, 0, 0, 0)
			if s := e.Inbound(start); s.Last.InFlight != 0 {
				t.Errorf("%d in flight", s.Last.InFlight)
			}
		})
	}
}

// TestRedecideSeesOnce: what was seen of a request is counted once, however often it is decided.
func TestRedecideSeesOnce(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{perUser("user", "r", 3)}})
	c := decided(e, start, engine.Request{Resource: "r", Hits: 1, Attrs: params{}})
	e.Redecide(start, c)
	if got := e.Rules()[0].Rule.Missing.Load(); got != 1 {
		t.Errorf("the parameter was missing %d times, want 1", got)
	}
	e.Decide(start, c)
	if got := e.Rules()[0].Rule.Missing.Load(); got != 2 {
		t.Errorf("the parameter was missing %d times, want 2", got)
	}
}

// decided decides a call of its own.
func decided(e *engine.Engine, now int64, q engine.Request) *engine.Call {
	c := &engine.Call{MaxWait: time.Hour}
	decide(e, now, c, q)
	return c
}

// TestResourcesAreBounded: names that requests make up find no more room than there is, and share one place; those
// of rules always have their own.
func TestResourcesAreBounded(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxResources: 100})
	apply(t, e, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 1e6)}})
	var c engine.Call
	for i := range 1000 {
		decide(e, start, &c, request(fmt.Sprintf("made-up-%d", i), "/", ""))
	}
	decide(e, start, &c, request(strings.Repeat("x", 1025), "/", ""))
	apply(t, e, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 1e6), flow("b", "b", 1e6)}})
	decide(e, start, &c, request("b", "/", ""))
	all := e.Resources(start, nil)
	counts := e.ResourceCounts()
	if len(all) != 102 || counts.Known != 101 || counts.Overflow != 902 || counts.Bytes == 0 {
		t.Fatalf("%d resources, %+v", len(all), counts)
	}
	if s := all[len(all)-1]; !s.Other || s.Last.Pass != 902 {
		t.Errorf("beyond the bound: %s", brief(s))
	}
	if s, ok := e.Resource(start, "", rule.ModeRoute, "b"); !ok || s.Last.Pass != 1 {
		t.Errorf("a resource of a rule beyond the bound: %v %s", ok, brief(s))
	}
}

// TestIdleResourcesAreForgotten: ten minutes after their last request, unless a rule names them.
func TestIdleResourcesAreForgotten(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 1e6), flow("b", "b", 1)}})
	var c engine.Call
	decide(e, start, &c, request("once", "/", ""))
	under := engine.Call{Track: true}
	decide(e, start, &under, request("b", "/", "")) // of a rule that is about to leave
	apply(t, e, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 1e6)}})
	known := func(name string) bool {
		_, ok := e.Resource(start, "", rule.ModeRoute, name)
		return ok
	}
	for minute := range 12 {
		now := start + int64(minute)*int64(time.Minute)
		decide(e, now, &c, request("always", "/", ""))
		e.Maintain(now)
		if got, want := known("once"), minute < 10; got != want {
			t.Errorf("minute %d: known %v, want %v", minute, got, want)
		}
	}
	if !known("always") || !known("a") || !known("b") {
		t.Errorf("always %v, of a rule %v, of a call under way %v", known("always"), known("a"), known("b"))
	}
	e.Complete(start, under.Token, engine.Outcome{})
	for minute := range 12 {
		e.Maintain(start + int64(20+minute)*int64(time.Minute))
	}
	if !known("a") || known("b") {
		t.Errorf("of a rule %v, of a rule that has left %v", known("a"), known("b"))
	}
}

// TestResourcesOfDomainsAreApart: as their rules are.
func TestResourcesOfDomainsAreApart(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Claimed: []string{"shop"}})
	for _, domain := range []string{"shop", "shop", "one", "two"} {
		c := engine.Call{Domain: domain, Items: []engine.Request{request("r", "/", "")}}
		e.Decide(start, &c)
	}
	for domain, want := range map[string]int64{"shop": 2, "": 2} {
		if s, ok := e.Resource(start, domain, rule.ModeRoute, "r"); !ok || s.Last.Pass != want {
			t.Errorf("domain %q: %v, %s; want %d", domain, ok, brief(s), want)
		}
	}
}

// TestResourcesLoseNothing: callers decide, give up and complete while rules are replaced and resources
// added. In the end every request has been counted, and nothing is in flight.
func TestResourcesLoseNothing(t *testing.T) {
	t.Parallel()
	const callers, each, routes = 8, 1000, 20
	set := rule.Set{Limits: []rule.LimitRule{atOnce("b", "r-1", 2)}}
	for i := range routes {
		set.Limits = append(set.Limits, flow(fmt.Sprint(i), fmt.Sprintf("r-%d", i), 1<<30))
	}
	e := newEngine(t, set)
	var wg sync.WaitGroup
	for g := range callers {
		wg.Go(func() {
			c := engine.Call{Track: true}
			for i := range each {
				now := start + int64(i)*int64(time.Millisecond)
				code := decide(e, now, &c, request(fmt.Sprintf("r-%d", (g+i)%routes), "/", ""))
				switch {
				case i%5 == 0:
					e.Cancel(now, &c)
					if code == engine.Block {
						continue
					}
				case code == engine.Pass:
					e.Complete(now+1, c.Token, engine.Outcome{})
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			apply(t, e, set)
			e.Resources(start, nil)
			e.Maintain(start)
		}
	})
	wg.Wait()
	sum := func(s engine.ResourceState) (pass, block, success int64) {
		for _, m := range s.Minute(start+int64(each)*int64(time.Millisecond), make([]window.Second, 0, 60)) {
			pass, block, success = pass+m.Pass, block+m.Block, success+m.Success
		}
		return pass, block, success
	}
	var pass, block, success int64
	for _, s := range e.Resources(start, nil) {
		p, b, n := sum(s)
		pass, block, success = pass+p, block+b, success+n
		if s.Last.InFlight != 0 {
			t.Errorf("%s", brief(s))
		}
	}
	if p, b, n := sum(e.Inbound(start)); p != pass || b != block || n != success {
		t.Errorf("all calls: %d, %d, %d; resources: %d, %d, %d", p, b, n, pass, block, success)
	}
	// A fifth is given up, of which those that were refused count as refused.
	if given := callers*each - pass - block; pass != success || given <= 0 || given > callers*each/5 {
		t.Errorf("passed %d, blocked %d, ended %d of %d", pass, block, success, callers*each)
	}
}
