package engine

import (
	"slices"
	"testing"
	"time"
)

// TestBreakerThresholds tells at which of several calls a breaker opens.
func TestBreakerThresholds(t *testing.T) {
	t.Parallel()
	const never = 0
	type ends []struct {
		rt    time.Duration
		fails bool
	}
	// One letter is a call: f fast, s slow (101 ms), e failed, b both, l as long as the limit (100 ms).
	calls := func(text string) ends {
		var out ends
		for _, c := range text {
			e := ends{{rt: time.Millisecond}}[0]
			switch c {
			case 's', 'b':
				e.rt = 101 * time.Millisecond
			case 'l':
				e.rt = 100 * time.Millisecond
			}
			e.fails = c == 'e' || c == 'b'
			out = append(out, e)
		}
		return out
	}
	tests := []struct {
		rule, calls string
		opens       int // the number of the call, from 1
	}{
		{`"grade": 0, "count": 100, "slowRatioThreshold": 0.6, "minRequestAmount": 5`, "sssff", never},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 0.6, "minRequestAmount": 5`, "sssffs", 6},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 0.6, "minRequestAmount": 5, "openAt": "reached"`, "sssff", 5},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 0.6, "minRequestAmount": 5, "openAt": "reached"`, "ssffs", 5},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 0, "minRequestAmount": 1`, "llles", 5},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 1, "minRequestAmount": 2`, "sfssssss", never},
		{`"grade": 0, "count": 100, "slowRatioThreshold": 1, "minRequestAmount": 2`, "bs", 2},
		{`"grade": 1, "count": 0.5, "minRequestAmount": 4`, "eeffe", 5},
		{`"grade": 1, "count": 0.5, "minRequestAmount": 4, "openAt": "reached"`, "eeff", 4},
		{`"grade": 1, "count": 0.333333333, "minRequestAmount": 3`, "ffe", 3},
		{`"grade": 1, "count": 0.333333334, "minRequestAmount": 3`, "ffe", never},
		{`"grade": 1, "count": 1, "minRequestAmount": 3`, "eee", 3},
		{`"grade": 1, "count": 1, "minRequestAmount": 3, "openAt": "reached"`, "eeb", 3},
		{`"grade": 1, "count": 0, "minRequestAmount": 3`, "ssssse", 6},
		{`"grade": 2, "count": 3, "minRequestAmount": 1`, "eeesb", 5},
		{`"grade": 2, "count": 3, "minRequestAmount": 1, "openAt": "reached"`, "eesb", 4},
		{`"grade": 2, "count": 0, "minRequestAmount": 3`, "eff", 3},
		{`"grade": "avg_rt", "count": 100, "minRequestAmount": 2`, "lllll", never},
		{`"grade": "avg_rt", "count": 100, "minRequestAmount": 2`, "llsf", 3},
		{`"grade": "avg_rt", "count": 100, "minRequestAmount": 2`, "llfs", never},
		{`"grade": "avg_rt", "count": 100, "minRequestAmount": 2, "openAt": "reached"`, "fsl", never},
		{`"grade": "avg_rt", "count": 51, "minRequestAmount": 2, "openAt": "reached"`, "fs", 2},
		{`"grade": "avg_rt", "count": 51, "minRequestAmount": 2`, "fs", never},
		{`"grade": "avg_rt", "count": 50.999999, "minRequestAmount": 2`, "fs", 2},
		{`"grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 4}, "minRequestAmount": 9`, "eefffeffee", never},
		{`"grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 4}, "minRequestAmount": 9`, "eeffffeffeee", 12},
	}
	for _, tt := range tests {
		t.Run(tt.rule+" "+tt.calls, func(t *testing.T) {
			t.Parallel()
			c := breakerOf(t, `"timeWindow": 10, `+tt.rule)
			opens := never
			for i, e := range calls(tt.calls) {
				if !c.complete(noon, 1, e.rt, e.fails) {
					break
				}
				if opens == never && c.state(noon) == BreakerOpen {
					opens = i + 1
				}
			}
			if opens != tt.opens {
				t.Errorf("opens at call %d, want %d", opens, tt.opens)
			}
		})
	}
}

// TestBreakerThinTraffic: last calls are judged before they are enough once the first of them ended
// long ago, and each time they start anew.
func TestBreakerThinTraffic(t *testing.T) {
	t.Parallel()
	const rule = `"grade": 1, "count": 0.5, "timeWindow": 1, "minRequestAmount": 10, "slidingWindow": {"type": "count", "size": 20`
	thin := []step{
		{0, "call", 0, true, "pass", BreakerClosed},
		{20_000, "call", 0, true, "pass", BreakerClosed},
		{29_999, "call", 0, false, "pass", BreakerClosed},
	}
	replay(t, slices.Concat(thin, []step{{30_000, "call", 0, false, "pass", BreakerClosed}, {30_001, "call", 0, true, "pass", BreakerClosed}}), breakerOf(t, rule+`}`))
	replay(t, slices.Concat(thin, []step{
		{30_000, "call", 0, false, "pass", BreakerClosed}, // half of them, which is not above half
		{45_000, "call", 0, true, "pass", BreakerOpen},
		{46_000, "call", 0, false, "pass", BreakerClosed},
		{46_001, "call", 0, true, "pass", BreakerClosed},
		{76_000, "call", 0, true, "pass", BreakerClosed},
		{76_001, "call", 0, true, "pass", BreakerOpen},
	}), breakerOf(t, rule+`, "maxWaitMs": 30000}`))
}

// TestBreakerTrial tells how probes are judged together, where the threshold is to be reached.
func TestBreakerTrial(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		rt         []int64 // of the probes, milliseconds; negative: failed
		want       BreakerState
	}{
		{"too few", `"grade": 1, "count": 0.5, "halfOpenRequests": 3, "minRequestAmount": 9`, []int64{-1, -1}, BreakerHalfOpen},
		{"share", `"grade": 1, "count": 0.6, "halfOpenRequests": 3, "minRequestAmount": 9`, []int64{-1, 1, -1}, BreakerOpen},
		{"below the share", `"grade": 1, "count": 0.7, "halfOpenRequests": 3, "minRequestAmount": 9`, []int64{-1, 1, -1}, BreakerClosed},
		{"by as many as are enough", `"grade": 1, "count": 0.6, "halfOpenRequests": 3, "minRequestAmount": 2`, []int64{-1, 1}, BreakerClosed},
		{"slow", `"grade": 0, "count": 100, "slowRatioThreshold": 0.5, "halfOpenRequests": 2, "minRequestAmount": 2`, []int64{101, -100}, BreakerOpen},
		{"slow enough", `"grade": 0, "count": 100, "slowRatioThreshold": 0.5, "halfOpenRequests": 2, "minRequestAmount": 2`, []int64{100, -100}, BreakerClosed},
		{"average", `"grade": "avg_rt", "count": 100, "halfOpenRequests": 2, "minRequestAmount": 2`, []int64{199, 1}, BreakerOpen},
		{"below the average", `"grade": "avg_rt", "count": 101, "halfOpenRequests": 2, "minRequestAmount": 2`, []int64{199, 1}, BreakerClosed},
		{"errors", `"grade": 2, "count": 2, "halfOpenRequests": 4, "minRequestAmount": 4`, []int64{-1, 1, 1, -1}, BreakerOpen},
		{"fewer errors", `"grade": 2, "count": 2, "halfOpenRequests": 4, "minRequestAmount": 4`, []int64{-1, 1, 1, 1}, BreakerClosed},
		{"fewer probes than errors, all failed", `"grade": 2, "count": 5, "halfOpenRequests": 2, "minRequestAmount": 5`, []int64{-1, -1}, BreakerOpen},
		{"fewer probes than errors, one failed", `"grade": 2, "count": 5, "halfOpenRequests": 2, "minRequestAmount": 5`, []int64{-1, 1}, BreakerClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := breakerOf(t, tt.rule+`, "openAt": "reached", "timeWindow": 1`)
			for range 10 {
				c.complete(noon, 1, time.Second, true)
			}
			now := noon + ms(1001)
			for range tt.rt {
				var g grant
				if !c.acquire(now, 1, 0, 0, &g).ok || g.held.n != 3 {
					t.Fatalf("%v, permit %d", c.state(now), g.held.n)
				}
			}
			for _, rt := range tt.rt {
				c.complete(now, 3, time.Duration(ms(max(rt, -rt))), rt < 0)
			}
			if got := c.state(now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestBreakerAbandon: that a caller left says nothing of a call, unless it was slow already.
func TestBreakerAbandon(t *testing.T) {
	t.Parallel()
	const rule = `"count": 100, "timeWindow": 1, "minRequestAmount": 2, `
	tests := []struct {
		name, rule string
		rt         time.Duration
		total      int64 // after one call of a closed breaker
		probe      BreakerState
	}{
		{"of errors", `"grade": 2, "count": 1, "timeWindow": 1, "minRequestAmount": 2`, time.Hour, 0, BreakerHalfOpen},
		{"early", rule + `"grade": 0, "slowRatioThreshold": 0.5`, 100 * time.Millisecond, 0, BreakerHalfOpen},
		{"late", rule + `"grade": 0, "slowRatioThreshold": 0.5`, 101 * time.Millisecond, 1, BreakerOpen},
		{"late for the average", rule + `"grade": "avg_rt"`, 101 * time.Millisecond, 1, BreakerOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := breakerOf(t, tt.rule)
			if !c.abandon(noon, 1, tt.rt) {
				t.Error("of a closed breaker: late")
			}
			if got := c.b.status(noon, &c.breakerTerms).Ended.Total; got != tt.total {
				t.Errorf("%d calls counted, want %d", got, tt.total)
			}
			for range 2 {
				c.complete(noon, 1, time.Second, true)
			}
			var g grant
			if now := noon + ms(1000); !c.acquire(now, 1, 0, 0, &g).ok || !c.abandon(now, breakerPermit(g.held.n), tt.rt) || c.state(now) != tt.probe {
				t.Errorf("after the probe: %v, want %v", c.state(now), tt.probe)
			}
			if tt.probe == BreakerHalfOpen && !c.peek(noon+ms(1000), ask{1, 1}, 0, 0).ok {
				t.Error("the place of the probe is not given back")
			}
		})
	}
}

func TestCompareProducts(t *testing.T) {
	t.Parallel()
	const huge = 1<<63 - 1
	for _, tt := range []struct {
		a, b, c, d int64
		want       int
	}{
		{0, 5, 7, 0, 0}, {2, 3, 3, 2, 0}, {2, 3, 7, 1, -1}, {7, 1, 2, 3, 1},
		{huge, huge, huge, huge, 0}, {huge, huge, huge, huge - 1, 1}, {1 << 40, 1 << 40, 1 << 41, 1 << 38, 1},
		{1 << 32, 1 << 32, 5, 1, 1}, // of which the low half is 0
	} {
		if got := compareProducts(tt.a, tt.b, tt.c, tt.d); got != tt.want {
			t.Errorf("%d*%d with %d*%d: got %d, want %d", tt.a, tt.b, tt.c, tt.d, got, tt.want)
		}
		if got := compareProducts(tt.c, tt.d, tt.a, tt.b); got != -tt.want {
			t.Errorf("%d*%d with %d*%d: got %d, want %d", tt.c, tt.d, tt.a, tt.b, got, -tt.want)
		}
	}
}
