package engine_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// atOnce returns a route rule of limit calls under way.
func atOnce(id, resource string, limit int64) rule.LimitRule {
	r := flow(id, resource, limit)
	r.Grade, r.Window, r.Interval, r.SampleCount, r.Lease = rule.GradeConcurrency, rule.WindowNone, 0, 0, time.Minute
	return r
}

// atOncePerUser returns a route rule of limit calls under way for each value of the header x-user-id.
func atOncePerUser(id, resource string, limit int64) rule.LimitRule {
	r := atOnce(id, resource, limit)
	r.Param = &rule.ParamItem{Source: rule.SourceHeader, FieldName: "X-User-Id"}
	return r
}

// underWay decides n calls of one request each, and returns those that passed.
func underWay(e *engine.Engine, n int, q engine.Request) []engine.Token {
	var tokens []engine.Token
	var c engine.Call
	for range n {
		if decide(e, start, &c, q) == engine.Pass {
			tokens = append(tokens, c.Token)
		}
	}
	return tokens
}

// wantInFlight fails the test unless the rules count so many calls under way, in the order of the set.
func wantInFlight(t testing.TB, e *engine.Engine, what string, want ...int64) {
	t.Helper()
	for i, r := range e.Rules() {
		if r.InFlight != want[i] {
			t.Errorf("%s: %s counts %d under way, want %d", what, r.Rule.ID, r.InFlight, want[i])
		}
	}
}

func TestConcurrency(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{
		Limits: []rule.LimitRule{atOnce("route", "orders", 5), atOncePerUser("user", "orders", 2), ofAPI(atOnce("group", "api", 3))},
		APIs:   []rule.APIDefinition{api("api", rule.PredicateItem{Pattern: "/api", Match: rule.PathPrefix})},
	})
	bob := underWay(e, 3, request("orders", "/api/1", "bob"))
	if len(bob) != 2 {
		t.Fatalf("%d of bob's calls passed, want 2", len(bob))
	}
	wantInFlight(t, e, "bob", 2, 2, 2)
	ann := underWay(e, 3, request("orders", "/api/1", "ann"))
	if len(ann) != 1 {
		t.Fatalf("%d of ann's calls passed, want 1, by the group", len(ann))
	}
	others := underWay(e, 9, request("orders", "/", ""))
	if len(others) != 2 {
		t.Fatalf("%d further calls passed, want 2, by the route", len(others))
	}
	wantInFlight(t, e, "all", 5, 3+2, 3)
	if !e.Complete(start, bob[0], engine.Outcome{}) || e.Complete(start, bob[0], engine.Outcome{}) {
		t.Error("a token must end its call once")
	}
	wantInFlight(t, e, "bob's first has ended", 4, 2+2, 2)
	if got := len(underWay(e, 3, request("orders", "/api/1", "ann"))); got != 1 {
		t.Errorf("%d passed in the place of bob's, want 1", got)
	}
	var c engine.Call
	decide(e, start, &c, request("orders", "/api/1", "bob"))
	if v := c.Verdicts[0]; v.Code != engine.Block || v.Reason != engine.ReasonLimit || v.Reset != 0 || v.Remaining != 0 || v.Limit != 5 {
		t.Errorf("a refusal: %+v; nobody knows when a call ends", v)
	}
	if c.Token != (engine.Token{}) {
		t.Error("a refused call has a token")
	}
}

// Whoever only asks whether a call may begin leaves nothing under way, and has used what a window counts.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", 1), flow("window", "orders", 2)}})
	var c engine.Call
	for range 2 {
		if decide(e, start, &c, request("orders", "", "")) != engine.Pass || c.Token == (engine.Token{}) {
			t.Fatal("refused, or without a token")
		}
		token := c.Token
		e.Withdraw(start, &c)
		e.Withdraw(start, &c)
		wantInFlight(t, e, "withdrawn", 0, 0)
		if c.Token != (engine.Token{}) || e.Complete(start, token, engine.Outcome{}) {
			t.Error("a token outlives its call")
		}
	}
	if decide(e, start, &c, request("orders", "", "")) != engine.Block || c.Verdicts[0].Rule.ID != "window" {
		t.Error("what windows count came back")
	}
	if n := e.Tokens().Withdrawn.Load(); n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}

func TestConcurrencyHits(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", 5), atOncePerUser("user", "orders", 2)}})
	var c engine.Call
	q := request("orders", "", "bob")
	q.Hits = 3
	if decide(e, start, &c, q) != engine.Pass {
		t.Fatal("three of five are refused")
	}
	wantInFlight(t, e, "three hits", 3, 1)
	if decide(e, start, &c, q) != engine.Block || c.Verdicts[0].Rule.ID != "route" {
		t.Error("six of five passed")
	}
	if decide(e, start, &c, request("orders", "", "bob"), request("orders", "", "bob")) != engine.Block || c.Verdicts[1].Rule.ID != "user" {
		t.Error("two requests of one call beside one under way passed a limit of 2")
	}
	wantInFlight(t, e, "refused calls", 3, 1)
	q.Kind = engine.Peek
	if decide(e, start, &c, q) != engine.Block {
		t.Error("a look finds room for six of five")
	}
	q.Hits = 2
	if decide(e, start, &c, q) != engine.Pass || c.Token != (engine.Token{}) {
		t.Error("a look is refused, or got a token")
	}
	q.Kind, q.Hits = engine.Refund, 2
	if decide(e, start, &c, q); c.Token != (engine.Token{}) {
		t.Error("a refund got a token")
	}
	wantInFlight(t, e, "hits given back", 1, 1)
	q.Hits = 9
	decide(e, start, &c, q)
	wantInFlight(t, e, "more given back than there were", 0, 1)
}

func TestConcurrencyChargesAllOrNothing(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", 5), flow("rate", "orders", 1)}})
	if got := len(underWay(e, 3, request("orders", "", ""))); got != 1 {
		t.Fatalf("%d passed", got)
	}
	wantInFlight(t, e, "two were refused by the rate", 1, 0)
}

func TestConcurrencyOfNoLimitAndInShadow(t *testing.T) {
	t.Parallel()
	shadow := atOnce("shadow", "orders", 1)
	shadow.Shadow = true
	unlimited := atOnce("unlimited", "other", 1)
	unlimited.Unlimited = true
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{shadow, unlimited, atOnce("closed", "closed", 0)}})
	tokens := underWay(e, 3, request("orders", "", ""))
	if len(tokens) != 3 || tokens[0] == (engine.Token{}) || tokens[1] != (engine.Token{}) {
		t.Fatalf("in shadow: tokens %v", tokens)
	}
	wantInFlight(t, e, "in shadow", 1, 0, 0)
	if tokens := underWay(e, 2, request("other", "", "")); len(tokens) != 2 || tokens[0] != (engine.Token{}) {
		t.Errorf("without limit: tokens %v", tokens)
	}
	if len(underWay(e, 2, request("closed", "", ""))) != 0 {
		t.Error("a limit of 0 lets calls pass")
	}
	if !e.Outcomes() || newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "a", 1)}}).Outcomes() {
		t.Error("Outcomes")
	}
}

// TestConcurrencyAcrossReloads: calls under way go on counting under a new limit, and end in peace when
// their rule has gone.
func TestConcurrencyAcrossReloads(t *testing.T) {
	t.Parallel()
	set := func(rules ...rule.LimitRule) rule.Set { return rule.Set{Limits: rules} }
	e := newEngine(t, set(atOnce("route", "orders", 2), atOncePerUser("user", "orders", 1<<20)))
	tokens := underWay(e, 3, request("orders", "", "bob"))
	apply(t, e, set(atOnce("route", "orders", 3), atOncePerUser("user", "orders", 1<<30)))
	wantInFlight(t, e, "a higher limit", 2, 2)
	tokens = append(tokens, underWay(e, 3, request("orders", "", "bob"))...)
	if len(tokens) != 3 {
		t.Fatalf("%d under way, want 3", len(tokens))
	}
	apply(t, e, set(atOnce("route", "orders", 1), atOncePerUser("user", "orders", 1<<20)))
	for i, token := range tokens {
		if len(underWay(e, 1, request("orders", "", "bob"))) != 0 {
			t.Fatalf("%d under way, and one more passed a limit of 1", 3-i)
		}
		if !e.Complete(start, token, engine.Outcome{}) {
			t.Fatalf("token %d is not known", i)
		}
	}
	wantInFlight(t, e, "all have ended", 0, 0)
	last := underWay(e, 2, request("orders", "", "bob"))
	if len(last) != 1 {
		t.Fatal("none passes now")
	}
	apply(t, e, set(flow("else", "else", 1)))
	if !e.Complete(start, last[0], engine.Outcome{}) {
		t.Error("the call of a rule that has gone is not known")
	}
	apply(t, e, set(atOnce("route", "orders", 2)))
	wantInFlight(t, e, "the rule is back", 0)
}

// TestLeaseBeginsWithTheAnswer: the time that a queue makes a call wait is no part of its lease.
func TestLeaseBeginsWithTheAnswer(t *testing.T) {
	t.Parallel()
	short := atOnce("route", "orders", 9)
	short.Lease = time.Second
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{short, queueing("q", "orders", 1, 10*time.Second)}})
	c := engine.Call{MaxWait: time.Minute}
	for range 4 {
		decide(e, start, &c, request("orders", "", ""))
	}
	if c.Wait != 3*time.Second {
		t.Fatalf("the fourth waits %v", c.Wait)
	}
	for i, want := range []int64{4, 3, 2, 1, 0} {
		at := start + int64(i+1)*int64(time.Second) // leases end with whole seconds
		if n := e.Expire(at); n != count(i > 0) {
			t.Errorf("%d expired after %d s", n, i+1)
		}
		wantInFlight(t, e, "", want, 0)
	}
}

func count(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// TestConcurrencyTwin holds what rules count to the list of the calls that are under way.
func TestConcurrencyTwin(t *testing.T) {
	t.Parallel()
	users := []string{"ann", "bob", "cy", ""}
	rapid.Check(t, func(t *rapid.T) {
		whole, each := rapid.Int64Range(0, 9).Draw(t, "whole"), rapid.Int64Range(0, 4).Draw(t, "each")
		rules := func() rule.Set {
			return rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", whole), atOncePerUser("user", "orders", each)}}
		}
		e := engine.New(engine.Options{})
		if _, err := e.Apply(start, rules()); err != nil {
			t.Fatal(err)
		}
		type one struct {
			call *engine.Call
			user string
			hits int64
			peer uint32
			due  int64
		}
		var live []one
		var gone []engine.Token
		now := start
		end := func(keep func(one) bool) (ended int) {
			var left []one
			for _, l := range live {
				if keep(l) {
					left = append(left, l)
				} else {
					gone = append(gone, l.call.Token)
					ended++
				}
			}
			live = left
			return ended
		}
		sums := func(user string) (all, mine int64) {
			for _, l := range live {
				all += l.hits
				if l.user == user {
					mine++
				}
			}
			return all, mine
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"call", "call", "call", "call", "complete", "complete", "again", "cancel", "peer", "expire", "apply"}).Draw(t, "op") {
			case "call":
				user, hits := rapid.SampledFrom(users).Draw(t, "user"), rapid.Int64Range(1, 3).Draw(t, "hits")
				q := request("orders", "", user)
				q.Hits = hits
				c := &engine.Call{Peer: uint32(rapid.IntRange(0, 2).Draw(t, "peer"))}
				all, mine := sums(user)
				want := engine.Block
				if all+hits <= whole && mine < each {
					want = engine.Pass
				}
				if got := decide(e, now, c, q); got != want || (c.Token != engine.Token{}) != (want == engine.Pass) {
					t.Fatalf("with %d and %d under way of %d and %d: %v, %v", all, mine, whole, each, got, c.Token)
				}
				if want == engine.Pass {
					live = append(live, one{c, user, hits, c.Peer, now + int64(time.Minute)})
				}
			case "complete", "cancel":
				if len(live) == 0 {
					continue
				}
				which := rapid.IntRange(0, len(live)-1).Draw(t, "which")
				l := live[which]
				live = append(live[:which:which], live[which+1:]...)
				token := l.call.Token
				gone = append(gone, token)
				if rapid.Bool().Draw(t, "cancel") {
					e.Cancel(now, l.call)
				} else if !e.Complete(now, token, engine.Outcome{}) {
					t.Fatal("a call under way is not known")
				}
			case "again":
				if len(gone) > 0 && e.Complete(now, rapid.SampledFrom(gone).Draw(t, "gone"), engine.Outcome{}) {
					t.Fatal("a call has ended twice")
				}
			case "peer":
				peer := uint32(rapid.IntRange(0, 2).Draw(t, "peer"))
				want := end(func(l one) bool { return peer == 0 || l.peer != peer })
				if got := e.EndPeer(now, peer); got != want {
					t.Fatalf("%d calls of peer %d ended, want %d", got, peer, want)
				}
			case "expire":
				now += rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "passes")
				want := end(func(l one) bool { return (l.due+int64(time.Second)-1)/int64(time.Second) > now/int64(time.Second) })
				if got := e.Expire(now); got != want {
					t.Fatalf("%d calls expired, want %d", got, want)
				}
			case "apply":
				whole, each = rapid.Int64Range(0, 9).Draw(t, "whole"), rapid.Int64Range(0, 4).Draw(t, "each")
				if _, err := e.Apply(now, rules()); err != nil {
					t.Fatal(err)
				}
			}
			all, _ := sums("")
			for i, want := range []int64{all, int64(len(live))} {
				if got := e.Rules()[i].InFlight; got != want {
					t.Fatalf("rule %d counts %d under way, want %d", i, got, want)
				}
			}
			if st := e.Tokens(); st.Live != int64(len(live)) || st.Issued.Load() != st.Live+st.Completed.Load()+st.Withdrawn.Load()+st.Expired.Load()+st.Disconnected.Load() {
				t.Fatalf("%d tokens, want %d", st.Live, len(live))
			}
		}
	})
}

// TestConcurrencyRaces: callers, reports, repeated reports, leases, reloads and peers that go, all at
// once: never more under way than the limit, and none at the end.
func TestConcurrencyRaces(t *testing.T) {
	t.Parallel()
	const limit = 20
	set := func(n int64) rule.Set {
		return rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", n), atOncePerUser("user", "orders", 3)}}
	}
	e := newEngine(t, set(limit))
	var clock atomic.Int64
	clock.Store(start)
	stop := make(chan struct{})
	var chores, callers sync.WaitGroup
	chores.Go(func() {
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			now := clock.Add(int64(time.Second))
			e.Expire(now)
			e.EndPeer(now, uint32(i%5)) // 3 and 4 never call
			if i%10 == 0 {
				apply(t, e, set(limit-i/10%2))
			}
			if n := e.Rules()[0].InFlight; n < 0 || n > limit {
				t.Errorf("%d under way", n)
				return
			}
		}
	})
	var ended, passed atomic.Int64
	for range 8 {
		callers.Go(func() {
			var c engine.Call
			for range 3000 {
				c.Peer = uint32(rand.IntN(3))
				q := request("orders", "", string(rune('a'+rand.IntN(6))))
				if decide(e, clock.Load(), &c, q) != engine.Pass {
					continue
				}
				passed.Add(1)
				token := c.Token
				switch rand.IntN(4) {
				case 0:
					e.Cancel(clock.Load(), &c)
				case 1: // nobody reports
				default:
					var reports sync.WaitGroup
					for range 2 {
						reports.Go(func() {
							if e.Complete(clock.Load(), token, engine.Outcome{}) {
								ended.Add(1)
							}
						})
					}
					reports.Wait()
				}
			}
		})
	}
	callers.Wait()
	close(stop)
	chores.Wait()
	e.Expire(clock.Load() + int64(time.Hour))
	wantInFlight(t, e, "at the end", 0, 0)
	st := e.Tokens()
	if st.Live != 0 || passed.Load() != st.Issued.Load() || ended.Load() != st.Completed.Load() || passed.Load() == 0 {
		t.Errorf("%d live, %d passed and %d issued, %d ended and %d completed", st.Live, passed.Load(), st.Issued.Load(), ended.Load(), st.Completed.Load())
	}
	if sum := st.Completed.Load() + st.Withdrawn.Load() + st.Expired.Load() + st.Disconnected.Load(); sum != passed.Load() {
		t.Errorf("%d calls ended in some way, %d passed", sum, passed.Load())
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestOutcomesAllocateNothing(t *testing.T) {
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{
		atOnce("route", "orders", 9), atOncePerUser("user", "orders", 9), atOnce("third", "orders", 9), flow("rate", "orders", 1000),
	}})
	var c engine.Call
	c.Items = []engine.Request{request("orders", "", "bob")}
	text := make([]byte, 0, engine.TokenText)
	now := start
	if got := testing.AllocsPerRun(1000, func() {
		now += ms
		e.Decide(now, &c)
		text = c.Token.AppendText(text[:0])
		if !e.Complete(now, c.Token, engine.Outcome{}) || e.Complete(now, c.Token, engine.Outcome{}) {
			t.Error("not ended once")
		}
		e.Decide(now, &c)
		e.Cancel(now, &c)
		e.Expire(now)
	}); got != 0 {
		t.Errorf("%v allocations a call", got)
	}
	read := string(text)
	if got := testing.AllocsPerRun(1000, func() { engine.ParseToken(read) }); got != 0 {
		t.Errorf("%v allocations to read a token", got)
	}
}

// BenchmarkDecideComplete decides and ends a call of two rules of calls under way.
func BenchmarkDecideComplete(b *testing.B) {
	e := newEngine(b, rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", 1000), atOncePerUser("user", "orders", 1000)}})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var c engine.Call
		c.Items = []engine.Request{request("orders", "", "bob")}
		for pb.Next() {
			e.Decide(start, &c)
			e.Complete(start, c.Token, engine.Outcome{})
		}
	})
}

// BenchmarkTokensNeverCompleted issues a million tokens that nobody reports, and expires them.
func BenchmarkTokensNeverCompleted(b *testing.B) {
	for b.Loop() {
		e := newEngine(b, rule.Set{Limits: []rule.LimitRule{atOnce("route", "orders", 1<<30)}})
		var c engine.Call
		c.Items = []engine.Request{request("orders", "", "")}
		const tokens = 1_000_000
		for range tokens {
			e.Decide(start, &c)
		}
		st := e.Tokens()
		b.ReportMetric(float64(st.Bytes)/(1<<20), "MiB")
		began := time.Now()
		expired := e.Expire(start + int64(2*time.Minute))
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(expired), "ns/expired")
		if st.Live != tokens || expired != tokens {
			b.Fatalf("%d live, %d expired", st.Live, expired)
		}
		e.Maintain(start)
		b.ReportMetric(float64(e.Tokens().Bytes)/(1<<20), "MiB-after")
	}
}
