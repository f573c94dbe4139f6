package engine

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// noon is a moment of 2026 at which a slot of every width used in these tests starts.
const noon = int64(1_796_040_000) * int64(time.Second)

func ms(n int64) int64 { return n * int64(time.Millisecond) }

// degradeRule reads a rule as a file has it.
func degradeRule(t testing.TB, fields string) *rule.DegradeRule {
	t.Helper()
	set, ps := rule.Load([]rule.File{{Name: "degrade-rules.json", Data: []byte(`[{"resource": "R", ` + fields + `}]`)}}, rule.Options{})
	if len(set.Degrade) != 1 {
		t.Fatal(ps)
	}
	return &set.Degrade[0]
}

// breakerOf returns the controller of a rule, over a new breaker.
func breakerOf(t testing.TB, fields string) *breakerController {
	t.Helper()
	r := degradeRule(t, fields)
	b, err := newBreaker(noon, r)
	if err != nil {
		t.Fatal(err)
	}
	return &breakerController{b, breakerTermsOf(r)}
}

func (c *breakerController) state(now int64) BreakerState {
	return c.b.status(now, &c.breakerTerms).State
}

// step is one event of a trace.
type step struct {
	at int64 // milliseconds
	// do: call, which ends at once; acquire, which keeps the call; end, of the call kept
	// first; give back, the call kept last; or nothing, to look.
	do    string
	rt    int64 // milliseconds
	fails bool
	want  string // pass, block; of an end: ok, late
	state BreakerState
}

// replay makes the calls of a trace. Their rules are all of one resource.
func replay(t *testing.T, steps []step, rules ...*breakerController) {
	t.Helper()
	type call []breakerPermit
	var kept []call
	end := func(c call, s step, now int64) string {
		got := "late"
		for i, r := range rules {
			if r.complete(now, c[i], time.Duration(ms(s.rt)), s.fails) {
				got = "ok"
			}
		}
		return got
	}
	for i, s := range steps {
		now := noon + ms(s.at)
		got := ""
		switch s.do {
		case "call", "acquire":
			got = "pass"
			for _, r := range rules {
				if a := r.peek(now, ask{1, 1}, 0, 0); !a.ok {
					got = "block"
				}
			}
			if got == "block" {
				break
			}
			c := make(call, len(rules))
			for i, r := range rules {
				var g grant
				if a := r.acquire(now, 1, 0, 0, &g); !a.ok {
					t.Fatalf("step %d, at %d ms: a peek passes that acquire refuses", i, s.at)
				}
				c[i] = breakerPermit(g.held.n)
			}
			if s.do == "acquire" {
				kept = append(kept, c)
				break
			}
			end(c, s, now)
		case "end":
			got = end(kept[0], s, now)
			kept = kept[1:]
		case "give back":
			for i, r := range rules {
				r.refund(now, &grant{held: hold{n: uint32(kept[len(kept)-1][i])}})
			}
			kept = kept[:len(kept)-1]
		}
		if got != s.want {
			t.Errorf("step %d, at %d ms: got %s, want %s", i, s.at, got, s.want)
		}
		state := BreakerClosed
		for _, r := range rules {
			state = max(state, r.state(now))
		}
		if state != s.state {
			t.Errorf("step %d, at %d ms: then %v, want %v", i, s.at, state, s.state)
		}
	}
}

// The traces of Sentinel and resilience4j are replayed by internal/testkit/golden; this is how a breaker decides by
// fewer results than the probes that it let through.
func TestBreakerReachedDecidesByFewerResults(t *testing.T) {
	t.Parallel()
	const rule = `"openAt": "reached", "timeWindow": 60, "halfOpenRequests": 10, "grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 2}, "minRequestAmount": 2`
	replay(t, []step{
		{0, "call", 1, true, "pass", BreakerClosed},
		{0, "call", 1, true, "pass", BreakerOpen},
		{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
		{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
		{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
		{60_002, "end", 1, true, "ok", BreakerHalfOpen},
		{60_003, "end", 1, false, "ok", BreakerOpen}, // one of two is half
		{60_004, "end", 1, false, "late", BreakerOpen},
	}, breakerOf(t, rule))
}

// TestBreakerJustResetBucket is the false trip: a share that is read from a slot that has just begun.
func TestBreakerJustResetBucket(t *testing.T) {
	t.Parallel()
	const rule = `"grade": 0, "count": 100, "slowRatioThreshold": 0.5, "timeWindow": 10, "statIntervalMs": 1000, `
	traffic := func(c *breakerController) {
		call := func(at, rt int64) {
			var g grant
			c.acquire(noon+ms(at), 1, 0, 0, &g)
			c.complete(noon+ms(at), breakerPermit(g.held.n), time.Duration(ms(rt)), false)
		}
		for i := range int64(40) {
			call(500+10*i, 5)
		}
		for i, rt := range []int64{300, 300, 5, 300} {
			call(1000+10*int64(i), rt)
		}
	}
	c := breakerOf(t, rule+`"sampleCount": 2, "minRequestAmount": 5`)
	traffic(c)
	if s := c.b.status(noon+ms(1499), &c.breakerTerms); s.State != BreakerClosed || s.Ended.Total != 44 || s.Ended.Slow != 3 {
		t.Errorf("while the window holds both slots: %+v", s)
	}
	if s := c.b.status(noon+ms(1500), &c.breakerTerms); s.State != BreakerClosed || s.Ended.Total != 4 || s.Ended.Slow != 3 {
		t.Errorf("when the fast slot has left: %+v", s)
	}
	c = breakerOf(t, rule+`"sampleCount": 2, "minRequestAmount": 6`)
	traffic(c)
	c.complete(noon+ms(1500), 1, time.Second, false)
	if s := c.b.status(noon+ms(1500), &c.breakerTerms); s.State != BreakerClosed || s.Ended.Total != 5 || s.Ended.Slow != 4 {
		t.Errorf("four of five slow, of six at least: %+v", s)
	}
	c.complete(noon+ms(1500), 1, time.Second, false)
	if got := c.state(noon + ms(1500)); got != BreakerOpen {
		t.Errorf("five of six slow: %v", got)
	}
	// What the traffic does to a single slot, so that it is known to be the one to fear.
	c = breakerOf(t, rule+`"sampleCount": 1, "minRequestAmount": 4`)
	traffic(c)
	if got := c.state(noon + ms(1030)); got != BreakerOpen {
		t.Errorf("one slot: %v", got)
	}
}
