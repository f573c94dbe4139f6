package main

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/window"
)

// drawPassed draws admissions in order of time, on a scale where intervals of a few nanoseconds hold
// several.
func drawPassed(t *rapid.T) []admission {
	var passed []admission
	at := int64(0)
	for range rapid.IntRange(1, 25).Draw(t, "n") {
		at += rapid.Int64Range(0, 6).Draw(t, "later")
		passed = append(passed, admission{at, rapid.Int64Range(1, 4).Draw(t, "hits")})
	}
	return passed
}

// between sums the hits from one moment to another, both included.
func between(passed []admission, from, to int64) int64 {
	sum := int64(0)
	for _, p := range passed {
		if p.at >= from && p.at <= to {
			sum += p.hits
		}
	}
	return sum
}

func TestMostIsTheLargestOfAllIntervals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passed := drawPassed(t)
		interval := rapid.Int64Range(1, 12).Draw(t, "interval")
		want, within := int64(0), interval
		for _, p := range passed {
			want = max(want, between(passed, p.at, p.at+interval))
		}
		for _, p := range passed {
			for _, q := range passed {
				if d := q.at - p.at; d >= 0 && d < within && between(passed, p.at, q.at) == want {
					within = d
				}
			}
		}
		if hits, d := most(passed, time.Duration(interval)); hits != want || d != time.Duration(within) {
			t.Fatalf("most = %d in %d, want %d in %d", hits, d, want, within)
		}
	})
}

func TestMostInSlotsIsTheLargestOfAllRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passed := drawPassed(t)
		width := rapid.Int64Range(1, 5).Draw(t, "width")
		together := rapid.IntRange(1, 4).Draw(t, "together")
		want := int64(0)
		for slot := int64(0); slot <= passed[len(passed)-1].at/width; slot++ {
			want = max(want, between(passed, slot*width, (slot+int64(together))*width-1))
		}
		if got := mostInSlots(passed, width, together); got != want {
			t.Fatalf("mostInSlots = %d, want %d", got, want)
		}
	})
}

func TestMostAheadIsTheLargestOfAllSpans(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		passed := drawPassed(t)
		interval := rapid.Int64Range(count, 8*count).Draw(t, "interval")
		want := int64(0)
		for _, p := range passed {
			for _, q := range passed {
				if q.at >= p.at {
					want = max(want, between(passed, p.at, q.at)*interval-(q.at-p.at)*count)
				}
			}
		}
		if got := mostAhead(passed, time.Duration(interval)); got != (want+interval-1)/interval {
			t.Fatalf("mostAhead = %d, want %d/%d rounded up", got, want, interval)
		}
	})
}

// A budget that lets one more pass than it promises is found out, by whichever bound it breaks.
func TestCheckFindsOneTooMany(t *testing.T) {
	t.Parallel()
	ms := int64(time.Millisecond)
	for name, c := range map[string]struct {
		s      subject
		passed []admission
		want   string
	}{
		"in an interval":            {subject{aligned, 2, second}, []admission{{499 * ms, 100}, {1000 * ms, 100}, {1499 * ms, 1}}, "in an interval"},
		"in slots":                  {subject{aligned, 2, second}, []admission{{499 * ms, 100}, {999 * ms, 1}}, "in 2 slots in a row"},
		"in strict slots":           {subject{strict, 2, second}, []admission{{0, 100}, {1499 * ms, 1}}, "in 3 slots in a row"},
		"beyond what comes back":    {subject{alignedBurst, 2, second}, []admission{{0, 200}, {1000 * ms, 100}, {2000 * ms, 101}}, "beyond what comes back"},
		"in an interval of a queue": {subject{queue, 0, second}, []admission{{0, 2}, {1000 * ms, 100}}, "in an interval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := c.s.check(c.passed); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one that says %q", err, c.want)
			}
			last := len(c.passed) - 1
			if c.passed[last].hits--; c.s.check(c.passed) != nil {
				t.Errorf("one less is an error as well: %v", c.s.check(c.passed))
			}
		})
	}
}

// liar names a wrong time to those that it refuses.
type liar struct {
	limiter
	by time.Duration
}

func (l liar) until(now, n int64) (time.Duration, bool) {
	d, ok := l.limiter.until(now, n)
	return d + l.by, ok
}

func TestRefusedFindsAWrongTime(t *testing.T) {
	t.Parallel()
	for _, s := range subjects() {
		for _, by := range []time.Duration{-1, 0, 1} {
			b, err := s.limiter(origin)
			if err != nil {
				t.Fatal(err)
			}
			if s.mode.smooth() && by < 0 && s.mode.hits() < count {
				continue // it refuses for a nanosecond; there is no shorter time to name
			}
			_, ok, err := refused(liar{b, by}, []arrival{{0, 1, everything}}, 0, 1)
			if exact := by == 0; ok != exact || (err == nil) != exact {
				t.Errorf("%s, %d ns beside the time: ok is %t, error %v", s, by, ok, err)
			}
		}
	}
}

func TestAgreeFindsADifference(t *testing.T) {
	t.Parallel()
	s := subject{aligned, 10, second}
	fresh := func() limiter {
		b, err := s.limiter(origin)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	arrivals := evenly(s, overload, 1, 2)
	if _, err := agree(fresh(), fresh(), arrivals); err != nil {
		t.Errorf("two of the same differ: %v", err)
	}
	other := fresh()
	other.acquire(origin, 1)
	if _, err := agree(fresh(), other, arrivals); err == nil {
		t.Error("one that has given a hit away answers the same")
	}
	if _, err := agree(fresh(), liar{fresh(), 1}, arrivals); err == nil {
		t.Error("one that names another time answers the same")
	}
}

// The bound of a token bucket is met and not exceeded with bursts of any size.
func TestTokenBucketBoundForOtherBursts(t *testing.T) {
	t.Parallel()
	for _, extra := range []int64{0, 1, 30, count, count + 1, 3 * count} {
		bound := 2*count + extra + min(count, extra) - 1
		best := int64(0)
		for p := range bursts(subject{bucketBurst, 0, second}) {
			b := bucketLimiter{window.NewTokenBucket(), window.Rate{Count: count, Interval: second}, extra}
			passed, _ := play(b, p)
			hits, _ := most(passed, second)
			best = max(best, hits)
		}
		if best != bound {
			t.Errorf("burst %d: %d pass in an interval, want %d", extra, best, bound)
		}
	}
}

func TestExactly(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ns", 1: "1 ns", 999: "999 ns", time.Microsecond: "0.001 ms", 10 * time.Millisecond: "10 ms",
		500*time.Millisecond + 1: "500.000001 ms", second: "1 s", 1100 * time.Millisecond: "1.1 s", minute + 1: "60.000000001 s",
	} {
		if got := exactly(d); got != want {
			t.Errorf("exactly(%d) = %q, want %q", d, got, want)
		}
	}
}
