package engine

import (
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	twin "github.com/sidecard/sidecard/internal/testkit/breaker"
	naive "github.com/sidecard/sidecard/internal/testkit/window"
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
	"pgregory.net/rapid"
)

// drawDegradeRule draws a rule whose times are as short as those that the calls move by.
func drawDegradeRule(t *rapid.T) *rule.DegradeRule {
	r := &rule.DegradeRule{
		Grade:            rule.DegradeGrade(rapid.IntRange(0, 3).Draw(t, "grade")),
		OpenAt:           rule.OpenAt(rapid.IntRange(0, 1).Draw(t, "openAt")),
		MinRequestAmount: rapid.Int64Range(1, 4).Draw(t, "minimum"),
		TimeWindow:       50 * time.Millisecond,
		HalfOpenRequests: rapid.IntRange(1, 3).Draw(t, "probes"),
		HalfOpenTimeout:  30 * time.Millisecond,
	}
	if rapid.Bool().Draw(t, "ring") {
		r.Size = rapid.IntRange(1, 6).Draw(t, "size")
		r.MaxWait = time.Duration(rapid.SampledFrom([]int64{0, ms(20)}).Draw(t, "maxWait"))
		r.MinRequestAmount = min(r.MinRequestAmount, int64(r.Size))
	} else {
		r.SampleCount = rapid.SampledFrom([]int{1, 2, 5}).Draw(t, "sampleCount")
		r.StatInterval = time.Duration(r.SampleCount) * 10 * time.Millisecond
	}
	// Nothing is no threshold that can be reached; a file that has one is refused.
	least := int64(r.OpenAt)
	switch r.Grade {
	case rule.GradeSlowRatio, rule.GradeErrorRatio:
		den := rapid.Int64Range(1, 4).Draw(t, "den")
		share := big.NewRat(rapid.Int64Range(least, den).Draw(t, "num"), den)
		r.Ratio = rule.Ratio{Num: share.Num().Int64(), Den: share.Denom().Int64()}
	case rule.GradeErrorCount:
		r.Errors = rapid.Int64Range(least, 4).Draw(t, "errors")
	}
	if r.Grade == rule.GradeSlowRatio || r.Grade == rule.GradeAverageRT {
		r.RTLimit = 5 * time.Millisecond
	}
	return r
}

// twinTerms says the same to the twin.
func twinTerms(r *rule.DegradeRule, c *breakerTerms) twin.Terms {
	t := twin.Terms{
		Slow: r.RTLimit, Reached: r.OpenAt == rule.OpenReached, Minimum: c.minimum, MaxWait: r.MaxWait,
		Wait: c.wait, Probes: int(c.probes), Timeout: c.timeout,
	}
	switch r.Grade {
	case rule.GradeSlowRatio:
		t.Measure, t.Threshold = "slow", big.NewRat(r.Ratio.Num, r.Ratio.Den)
	case rule.GradeErrorRatio:
		t.Measure, t.Threshold = "errors", big.NewRat(r.Ratio.Num, r.Ratio.Den)
	case rule.GradeErrorCount:
		t.Measure, t.Threshold = "count", big.NewRat(r.Errors, 1)
	default:
		t.Measure, t.Threshold = "average", big.NewRat(int64(r.RTLimit), int64(time.Millisecond))
	}
	return t
}

// drawBreakerTime moves now: not at all, a little, to the edges of what the rule waits for, or back.
func drawBreakerTime(t *rapid.T, c *breakerController, now int64) int64 {
	moves := []string{"stay", "stay", "stay", "little", "little", "far", "back"}
	if c.b.load().state != BreakerClosed {
		moves = append(moves, "opens", "loses")
	}
	switch rapid.SampledFrom(moves).Draw(t, "move") {
	case "little":
		return now + rapid.Int64Range(1, ms(15)).Draw(t, "by")
	case "opens":
		return c.b.mark.Load() + int64(c.wait) + rapid.Int64Range(-1, 1).Draw(t, "edge")
	case "loses":
		return c.b.mark.Load() + int64(c.timeout) + rapid.Int64Range(-1, 0).Draw(t, "edge")
	case "far":
		return now + rapid.Int64Range(1, ms(200)).Draw(t, "by")
	case "back":
		return now - rapid.Int64Range(1, ms(20)).Draw(t, "by")
	}
	return now
}

// TestBreakerTwin compares every answer, and the state after it, with the naive twin's.
func TestBreakerTwin(t *testing.T) {
	t.Parallel()
	reached := make(map[BreakerState]int)
	rapid.Check(t, func(t *rapid.T) {
		r := drawDegradeRule(t)
		b, err := newBreaker(noon, r)
		if err != nil {
			t.Fatal(err)
		}
		c := &breakerController{b, breakerTermsOf(r)}
		var calls twin.Calls = naive.NewOutcomeRing(r.Size)
		if r.Size == 0 {
			calls = naive.NewOutcomeWindow(noon, r.SampleCount, r.StatInterval)
		}
		w := twin.New(noon, calls)
		held := map[int]grant{}
		now := noon
		for i := range rapid.IntRange(1, 80).Draw(t, "calls") {
			if rapid.IntRange(0, 20).Draw(t, "reload") == 0 {
				c.minimum = rapid.Int64Range(1, max(1, min(4, int64(r.Size)))).Draw(t, "new minimum")
				c.probes = uint16(rapid.IntRange(1, 3).Draw(t, "new probes"))
				c.wait = time.Duration(rapid.SampledFrom([]int64{ms(20), ms(50)}).Draw(t, "new wait"))
				c.timeout = time.Duration(rapid.SampledFrom([]int64{ms(10), ms(30)}).Draw(t, "new timeout"))
			}
			terms := twinTerms(r, &c.breakerTerms)
			now = drawBreakerTime(t, c, now)
			op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "end", "end", "end", "end", "refund", "until"}).Draw(t, "op")
			var got, want any
			if op != "acquire" && op != "until" && len(held) == 0 {
				op = "acquire"
			}
			id := i
			if op == "end" || op == "refund" {
				id = rapid.SampledFrom(slices.Sorted(maps.Keys(held))).Draw(t, "id")
			}
			g := held[id]
			switch op {
			case "acquire":
				if peek, admits := c.peek(now, ask{1, 1}, 0, 0).ok, w.Admits(now, terms); peek != admits {
					t.Fatalf("call %d: peek says %v, want %v", i, peek, admits)
				}
				ok := c.acquire(now, 1, 0, 0, &g).ok
				got, want = ok, w.Acquire(id, now, terms)
				if ok {
					held[id] = g
				} else if g.held.n != 0 {
					t.Fatalf("call %d: a refusal gave permit %d", i, g.held.n)
				}
			case "end":
				rt := time.Duration(rapid.SampledFrom([]int64{0, ms(1), ms(5), ms(5) + 1, ms(9), int64(2 * time.Hour)}).Draw(t, "rt"))
				fails := rapid.Bool().Draw(t, "fails")
				got, want = c.complete(now, breakerPermit(g.held.n), rt, fails), w.Complete(id, now, terms, rt, fails)
				delete(held, id)
			case "refund":
				c.refund(now, &g)
				w.Refund(id)
				delete(held, id)
			case "until":
				d, ok := c.until(now, 1, 0, 0)
				w.Expire(now, terms)
				got, want = ok, w.State != "half_open" || w.Admits(now, terms)
				if ok && w.State == "open" {
					early := d > 0 && w.Admits(now+int64(d)-1, terms)
					if early || !w.Admits(now+int64(d), terms) {
						t.Fatalf("call %d: until is %v", i, d)
					}
				}
			}
			if got != want {
				t.Fatalf("call %d, %s %d: got %v, want %v", i, op, id, got, want)
			}
			w.Expire(now, terms)
			s := c.b.status(now, &c.breakerTerms)
			if s.State.String() != w.State || s.Transitions != uint64(w.Transitions) {
				t.Fatalf("call %d, %s %d: then %v after %d transitions, want %s after %d", i, op, id, s.State, s.Transitions, w.State, w.Transitions)
			}
			if s.State == BreakerClosed && s.Ended != window.Tally(calls.Tally(now)) {
				t.Fatalf("call %d, %s %d: then counts %+v", i, op, id, s.Ended)
			}
			reached[s.State]++
		}
	})
	if reached[BreakerClosed] == 0 || reached[BreakerHalfOpen] == 0 || reached[BreakerOpen] == 0 {
		t.Errorf("states reached: %v", reached)
	}
}
