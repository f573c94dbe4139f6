package window

import (
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// pacing is a rate and a longest wait to try, and the same for the twin.
type pacing struct {
	rate    Rate
	maxWait time.Duration
	strict  bool
}

func (p pacing) twin() (twin.Rate, twin.Bound) {
	return twin.Rate{Count: p.rate.Count, Den: p.rate.Denominator, Interval: p.rate.Interval}, twin.Bound{Wait: p.maxWait, Strict: p.strict}
}

func drawRate(t *rapid.T, intervals []time.Duration) Rate {
	return Rate{
		Count:       rapid.SampledFrom([]int64{1, 2, 3, 5, 7, 10, 999, 1_000_000_007, MaxLimit}).Draw(t, "count"),
		Denominator: rapid.SampledFrom([]int64{1, 1, 1, 2, 3, 10, 1000}).Draw(t, "denominator"),
		Interval:    rapid.SampledFrom(intervals).Draw(t, "interval"),
	}
}

// drawPacing draws a wait of the order of a few costs, so that queues are full sometimes.
func drawPacing(t *rapid.T) pacing {
	p := pacing{rate: drawRate(t, []time.Duration{1, 10, time.Second, 7 * time.Second, time.Minute, 24 * time.Hour}), strict: rapid.Bool().Draw(t, "strict")}
	cost := p.cost(1)
	p.maxWait = max(time.Duration(rapid.IntRange(0, 8).Draw(t, "costs"))*cost+time.Duration(rapid.IntRange(-1, 1).Draw(t, "more")), 0)
	return p
}

// cost is that of n hits in nanoseconds, rounded down.
func (p pacing) cost(n int64) time.Duration {
	q, _ := mul(uint64(p.rate.Interval), uint64(n)).times(uint64(p.rate.Denominator)).div(uint64(p.rate.Count))
	return time.Duration(q.lo)
}

// drawHits draws what one call may have, and sometimes more.
func drawHits(t *rapid.T, r Rate) int64 {
	return rapid.Int64Range(0, min(r.Limit(), 4)+1).Draw(t, "n")
}

func (p pacing) drawTime(t *rapid.T, now int64) int64 {
	// At most half a year at a time, lest a rare rate leads out of the range of time.
	const most = int64(183 * 24 * time.Hour)
	cost := min(max(int64(p.cost(1)), 1), most/5)
	switch rapid.SampledFrom([]string{"stay", "stay", "little", "cost", "costs", "far", "back"}).Draw(t, "move") {
	case "little":
		return now + rapid.Int64Range(1, 3).Draw(t, "by")
	case "cost":
		return now + cost + rapid.Int64Range(-1, 1).Draw(t, "more")
	case "costs":
		return now + rapid.Int64Range(1, 5*cost).Draw(t, "by")
	case "far":
		return now + rapid.Int64Range(1, 20).Draw(t, "waits")*min(int64(p.maxWait)+cost, most/20)
	case "back":
		return now - rapid.Int64Range(1, 3*cost).Draw(t, "by")
	}
	return now
}

// TestThrottleTwin compares every answer with the naive twin's.
func TestThrottleTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewThrottle(), &twin.Throttle{}
		p := drawPacing(t)
		promises := map[int]Promise{}
		now := epoch
		for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
			if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
				p = drawPacing(t)
			}
			now = p.drawTime(t, now)
			rate, bound := p.twin()
			n := drawHits(t, p.rate)
			switch op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "peek", "refund", "until"}).Draw(t, "op"); op {
			case "acquire":
				promise, got := a.Acquire(now, n, p.rate, p.maxWait, p.strict)
				ok, wait := b.Acquire(i, now, n, rate, bound)
				if want := (Wait{ok, wait, got.Remaining}); got != want {
					t.Fatalf("call %d: Acquire(%d) = %+v, want %+v", i, n, got, want)
				}
				if ok {
					promises[i] = promise
				} else if promise != (Promise{}) {
					t.Fatalf("a refusal gave the promise %+v", promise)
				}
				checkRemaining(t, b, now, p, got.Remaining)
			case "peek":
				total := n + rapid.Int64Range(-1, 3).Draw(t, "more")
				got := a.Peek(now, n, total, p.rate, p.maxWait, p.strict)
				ok, wait := b.Peek(now, n, total, rate, bound)
				if want := (Wait{ok, wait, got.Remaining}); got != want {
					t.Fatalf("call %d: Peek(%d, %d) = %+v, want %+v", i, n, total, got, want)
				}
				checkRemaining(t, b, now, p, got.Remaining)
			case "refund":
				if len(promises) == 0 {
					continue
				}
				id := rapid.SampledFrom(sortedIDs(promises)).Draw(t, "id")
				if got, want := a.Refund(now, promises[id]), b.Refund(id); got != want {
					t.Fatalf("call %d: Refund = %t, want %t", i, got, want)
				}
				delete(promises, id)
			case "until":
				d, ok := a.Until(now, n, p.rate, p.maxWait, p.strict)
				if want, comes := b.Until(now, n, rate, bound); d != want || ok != comes {
					t.Fatalf("call %d: Until(%d) = %v, %t, want %v, %t", i, n, d, ok, want, comes)
				}
			}
		}
	})
}

// checkRemaining compares with the twin, if there are few enough to count.
func checkRemaining(t *rapid.T, b *twin.Throttle, now int64, p pacing, got int64) {
	t.Helper()
	rate, bound := p.twin()
	if got > 20 {
		return
	}
	if want := b.Remaining(now, rate, bound); got != want {
		t.Fatalf("remaining = %d, want %d", got, want)
	}
}

// TestThrottleBound holds the published bounds against the promises that stood, by the moments
// alone.
func TestThrottleBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, p := NewThrottle(), drawPacing(t)
		type admission struct {
			leaves  int64 // when it is answered
			n       int64
			promise Promise
		}
		var trace []admission
		now := epoch
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = p.drawTime(t, now)
			if i := len(trace) - 1; i >= 0 && rapid.IntRange(0, 5).Draw(t, "refunds") == 0 {
				i = rapid.IntRange(max(i-2, 0), i).Draw(t, "which")
				a.Refund(now, trace[i].promise) // given back or not, it is not used
				trace = slices.Delete(trace, i, i+1)
				continue
			}
			n := max(drawHits(t, p.rate), 1)
			if promise, w := a.Acquire(now, n, p.rate, p.maxWait, p.strict); w.OK {
				trace = append(trace, admission{now + int64(w.Wait), n, promise})
			}
		}
		checkSpacing(t, p.rate, len(trace), func(i int) (instant, int64) { return trace[i].promise.after.last, trace[i].n })
		for i := range trace {
			closed, half := int64(0), int64(0)
			for _, b := range trace[i:] {
				d := b.leaves - trace[i].leaves
				if d <= int64(p.rate.Interval) {
					closed++
				}
				if d < int64(p.rate.Interval) {
					half++
				}
			}
			if half > p.rate.Limit() {
				t.Fatalf("%d answers within an interval from %d on, bound %d", half, trace[i].leaves, p.rate.Limit())
			}
			if p.rate.Count <= int64(p.rate.Interval) && closed > p.rate.Limit()+1 {
				t.Fatalf("%d answers in an interval from %d on, bound %d", closed, trace[i].leaves, p.rate.Limit()+1)
			}
		}
	})
}

// checkSpacing holds promises, given in their order, to the cost of the later one between them, by
// exact arithmetic of its own.
func checkSpacing(t rapid.TB, r Rate, n int, promise func(i int) (instant, int64)) {
	t.Helper()
	exact := func(i instant) *big.Rat {
		return new(big.Rat).Add(big.NewRat(i.ns, 1), big.NewRat(int64(i.part), int64(i.of)))
	}
	for i := 1; i < n; i++ {
		before, _ := promise(i - 1)
		after, hits := promise(i)
		cost := big.NewRat(hits, r.Count)
		cost.Mul(cost, big.NewRat(int64(r.Interval), 1)).Mul(cost, big.NewRat(max(r.Denominator, 1), 1))
		if gap := new(big.Rat).Sub(exact(after), exact(before)); gap.Cmp(cost) < 0 {
			t.Fatalf("promise %d lies %v ns after the one before, cost %v", i, gap, cost)
		}
	}
}

// TestThrottleForgetting: once expired, a state answers everything as the zero state does.
func TestThrottleForgetting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawPacing(t)
		var s throttleState
		now := epoch
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			now = p.drawTime(t, now)
			s, _ = s.acquire(now, drawHits(t, p.rate), p.rate, p.maxWait, p.strict)
		}
		for !s.expired(now, p.rate) {
			now += rapid.Int64Range(1, 3*int64(p.cost(p.rate.Limit()))+2).Draw(t, "wait")
		}
		var fresh throttleState
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			n := drawHits(t, p.rate)
			var got, want Wait
			s, got = s.acquire(now, n, p.rate, p.maxWait, p.strict)
			fresh, want = fresh.acquire(now, n, p.rate, p.maxWait, p.strict)
			if got != want {
				t.Fatalf("the state that had expired says %+v, a new one %+v", got, want)
			}
			now = max(now, p.drawTime(t, now))
		}
	})
}

// TestThrottleExpires: a state does not live a nanosecond longer than it must.
func TestThrottleExpires(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate  Rate
		after time.Duration
	}{
		{Rate{10, 1, time.Second}, time.Second},
		{Rate{1, 2, time.Second}, 2 * time.Second},
		{Rate{3, 2, time.Second}, 1_333_333_334},
	} {
		s, _ := throttleState{}.acquire(epoch, 1, c.rate, 0, false)
		if s.expired(epoch+int64(c.after)-1, c.rate) || !s.expired(epoch+int64(c.after), c.rate) {
			t.Errorf("%+v: does not expire at %v", c.rate, c.after)
		}
	}
}

func sortedIDs[P any](permits map[int]P) []int {
	var ids []int
	for id := range permits {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
