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
	// do: call, which ends at its time + rt; acquire, which keeps the call; end, of the call kept
	// first; give back, the call kept last; or nothing, to look.
	do    string
	rt    int64 // milliseconds
	fails bool
	want  string // pass, block; of an end: ok, late
	state BreakerState
}

// replay makes the calls of a trace. Their rules are all of one resource.
func replay(t *testing.T, atOnce bool, steps []step, rules ...*breakerController) {
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
			if !atOnce {
				now += ms(s.rt)
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

// TestBreakerSentinel replays traces of Sentinel 1.8.9.
func TestBreakerSentinel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		steps      []step
	}{
		{"CB-01 slow ratio", `"grade": 0, "count": 100, "timeWindow": 2, "minRequestAmount": 5, "statIntervalMs": 1000, "slowRatioThreshold": 0.5`, []step{
			{0, "call", 50, false, "pass", BreakerClosed},
			{10, "call", 150, false, "pass", BreakerClosed},
			{20, "call", 150, false, "pass", BreakerClosed},
			{30, "call", 50, false, "pass", BreakerClosed},
			{40, "call", 150, false, "pass", BreakerOpen},
			{900, "call", 1, false, "block", BreakerOpen},
			{2190, "call", 10, false, "pass", BreakerClosed},
			{2200, "call", 10, false, "pass", BreakerClosed},
			{2210, "call", 10, false, "pass", BreakerClosed},
		}},
		{"CB-03 slow ratio of 1", `"grade": 0, "count": 100, "timeWindow": 2, "minRequestAmount": 3, "statIntervalMs": 1000, "slowRatioThreshold": 1`, []step{
			{0, "call", 101, false, "pass", BreakerClosed},
			{10, "call", 101, false, "pass", BreakerClosed},
			{20, "call", 101, false, "pass", BreakerOpen},
			{30, "call", 1, false, "block", BreakerOpen},
		}},
		{"CB-04 error ratio", `"grade": 1, "count": 0.5, "timeWindow": 1, "minRequestAmount": 4, "statIntervalMs": 1000`, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{10, "call", 1, true, "pass", BreakerClosed},
			{20, "call", 1, false, "pass", BreakerClosed},
			{30, "call", 1, false, "pass", BreakerClosed},
			{40, "call", 1, true, "pass", BreakerOpen},
			{50, "call", 1, false, "block", BreakerOpen},
			{1040, "call", 1, false, "block", BreakerOpen},
			{1041, "call", 1, true, "pass", BreakerOpen},
			{2041, "call", 1, false, "block", BreakerOpen},
			{2050, "call", 1, false, "pass", BreakerClosed},
		}},
		// Sentinel itself never opens at a share of 1.
		{"CB-05 error ratio of 1", `"grade": 1, "count": 1, "timeWindow": 1, "minRequestAmount": 2, "statIntervalMs": 1000`, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{10, "call", 1, true, "pass", BreakerOpen},
			{20, "call", 1, true, "block", BreakerOpen},
			{30, "call", 1, true, "block", BreakerOpen},
		}},
		{"CB-06 error count", `"grade": 2, "count": 2, "timeWindow": 1, "minRequestAmount": 1, "statIntervalMs": 1000`, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{10, "call", 1, true, "pass", BreakerClosed},
			{20, "call", 1, true, "pass", BreakerOpen},
			{30, "call", 1, false, "block", BreakerOpen},
		}},
		{"CB-08 a probe that fails late", `"grade": 2, "count": 0, "timeWindow": 1, "minRequestAmount": 1, "statIntervalMs": 1000`, []step{
			{0, "call", 1, true, "pass", BreakerOpen},
			{500, "call", 1, false, "block", BreakerOpen},
			{1001, "call", 2000, true, "pass", BreakerOpen},
			{3000, "call", 1, false, "block", BreakerOpen},
			{4002, "call", 1, false, "pass", BreakerClosed},
			{4010, "call", 1, false, "pass", BreakerClosed},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			replay(t, false, tt.steps, breakerOf(t, tt.rule))
		})
	}
}

// TestBreakerResilience4j replays traces of resilience4j 2.4.0, where a call is reported to have
// taken some time at the moment at which it was let through.
func TestBreakerResilience4j(t *testing.T) {
	t.Parallel()
	const reached = `"openAt": "reached", "timeWindow": 60, "halfOpenRequests": 10, `
	tests := []struct {
		name  string
		rules []string
		steps []step
	}{
		{"R4-01 last calls", []string{`"openAt": "reached", "grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 4}, "minRequestAmount": 4, "timeWindow": 1, "halfOpenRequests": 2`}, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{1, "call", 1, false, "pass", BreakerClosed},
			{2, "call", 1, true, "pass", BreakerClosed},
			{3, "call", 1, false, "pass", BreakerOpen},
			{4, "call", 1, false, "block", BreakerOpen},
			{1003, "call", 1, false, "block", BreakerOpen},
			{1004, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1005, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1006, "acquire", 0, false, "block", BreakerHalfOpen},
			{1007, "end", 1, false, "ok", BreakerHalfOpen},
			{1008, "end", 1, false, "ok", BreakerClosed},
			{1009, "call", 1, false, "pass", BreakerClosed},
		}},
		{"R4-03 time", []string{reached + `"grade": 1, "count": 0.6, "statIntervalMs": 3000, "sampleCount": 3, "minRequestAmount": 3`}, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{100, "call", 1, true, "pass", BreakerClosed},
			{3000, "call", 1, true, "pass", BreakerClosed},
			{3100, "call", 1, false, "pass", BreakerClosed},
			{5900, "call", 1, true, "pass", BreakerOpen},
			{5950, "call", 1, false, "block", BreakerOpen},
		}},
		{"R4-04 slow calls and errors", []string{
			reached + `"grade": 0, "count": 100, "slowRatioThreshold": 0.5, "slidingWindow": {"type": "count", "size": 4}, "minRequestAmount": 4`,
			reached + `"grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 4}, "minRequestAmount": 4`,
		}, []step{
			{0, "call", 100, false, "pass", BreakerClosed},
			{1, "call", 101, false, "pass", BreakerClosed},
			{2, "call", 100, false, "pass", BreakerClosed},
			{3, "call", 101, false, "pass", BreakerOpen},
			{4, "call", 1, false, "block", BreakerOpen},
		}},
		{"permits of half open are decided by fewer results", []string{reached + `"grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 2}, "minRequestAmount": 2`}, []step{
			{0, "call", 1, true, "pass", BreakerClosed},
			{0, "call", 1, true, "pass", BreakerOpen},
			{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
			{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
			{60_001, "acquire", 0, false, "pass", BreakerHalfOpen},
			{60_002, "end", 1, true, "ok", BreakerHalfOpen},
			{60_003, "end", 1, false, "ok", BreakerOpen}, // one of two is half
			{60_004, "end", 1, false, "late", BreakerOpen},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var rules []*breakerController
			for _, r := range tt.rules {
				rules = append(rules, breakerOf(t, r))
			}
			replay(t, true, tt.steps, rules...)
		})
	}
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
