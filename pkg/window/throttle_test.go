package window

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

// TestThrottleSentinel replays what Sentinel 1.8.9's queueing does (the traces named): wait is what
// each of times equal calls is told, or -1 for a refusal.
func TestThrottleSentinel(t *testing.T) {
	t.Parallel()
	type event struct{ ms, wait, times int64 }
	for _, c := range []struct {
		name    string
		rate    Rate
		maxWait time.Duration
		strict  bool
		events  []event
	}{
		{"TH-01 ten a second", Rate{10, 1, time.Second}, 500 * ms, false, []event{
			{0, 0, 1}, {0, 100, 1}, {0, 200, 1}, {0, 300, 1}, {0, 400, 1}, {0, 500, 1}, {0, -1, 2}, {100, 500, 1}, {1500, 0, 1},
		}},
		{"TH-03 one in two seconds", Rate{1, 2, time.Second}, 2000 * ms, false, []event{
			{0, 0, 1}, {0, 2000, 1}, {1, -1, 1}, {2000, 2000, 1}, {4000, 2000, 1},
		}},
		{"TH-04 none", Rate{0, 1, time.Second}, 500 * ms, false, []event{{0, -1, 1}}},
		{"GW-14 gateway rule", Rate{10, 1, time.Second}, 500 * ms, true, []event{
			{0, 0, 1}, {0, 100, 1}, {0, 200, 1}, {0, 300, 1}, {0, 400, 1}, {0, -1, 2}, {600, 0, 1},
		}},
		{"PF-03 no waiting, value a", Rate{2, 1, time.Second}, 0, true, []event{{0, 0, 1}, {0, -1, 1}, {499, -1, 1}, {500, 0, 1}}},
		{"PF-03 no waiting, value b", Rate{2, 1, time.Second}, 0, true, []event{{500, 0, 1}}},
		// Upstream divides by zero when it loads this rule.
		{"FL-11 one in 2.5 seconds", Rate{4, 10, time.Second}, 3000 * ms, false, []event{
			{0, 0, 1}, {0, 2500, 1}, {0, -1, 1}, {1999, -1, 1}, {2000, 3000, 1},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := NewThrottle()
			for _, e := range c.events {
				for range e.times {
					p, w := a.Acquire(at(e.ms), 1, c.rate, c.maxWait, c.strict)
					if got, want := w.OK, e.wait >= 0; got != want {
						t.Fatalf("at %d ms: OK = %t, want %t", e.ms, got, want)
					}
					if got := w.Wait; w.OK && got != time.Duration(e.wait)*ms || !w.OK && (got != 0 || p != Promise{}) {
						t.Fatalf("at %d ms: wait %v, want %d ms", e.ms, got, e.wait)
					}
				}
			}
		})
	}
}

// TestThrottleEdges tries a Throttle of which one promise was taken at epoch, with another one at
// the same time.
func TestThrottleEdges(t *testing.T) {
	t.Parallel()
	const refused = -1
	ten := Rate{10, 1, time.Second}
	for _, c := range []struct {
		name      string
		n         int64
		rate      Rate
		maxWait   time.Duration
		strict    bool
		wait      time.Duration // or refused
		remaining int64         // after that
		until     time.Duration
		never     bool
	}{
		{name: "waits", n: 3, rate: ten, maxWait: 500 * ms, wait: 300 * ms, remaining: 2},
		{name: "waits longest", n: 5, rate: ten, maxWait: 500 * ms, wait: 500 * ms},
		{name: "would wait as long", n: 5, rate: ten, maxWait: 500 * ms, strict: true, wait: refused, remaining: 4, until: 1},
		{name: "would wait longer", n: 6, rate: ten, maxWait: 500 * ms, wait: refused, remaining: 5, until: 100 * ms},
		{name: "may not wait", n: 1, rate: ten, wait: refused, until: 100 * ms},
		{name: "may not wait, strictly", n: 1, rate: ten, strict: true, wait: refused, until: 100 * ms},
		{name: "may wait less than nothing", n: 1, rate: ten, maxWait: math.MinInt64, strict: true, wait: refused, until: 100 * ms},
		{name: "may wait for ever", n: 10, rate: ten, maxWait: math.MaxInt64, wait: time.Second, remaining: MaxLimit},
		{name: "all of an interval", n: 10, rate: ten, maxWait: time.Second, wait: time.Second},
		{name: "more than an interval", n: 11, rate: ten, maxWait: time.Hour, wait: refused, remaining: 36000, never: true},
		{name: "huge", n: math.MaxInt64, rate: ten, maxWait: time.Hour, wait: refused, remaining: 36000, never: true},
		{name: "no hits", n: 0, rate: ten, maxWait: time.Second, wait: refused, remaining: 10, never: true},
		{name: "negative hits", n: math.MinInt64, rate: ten, maxWait: time.Second, wait: refused, remaining: 10, never: true},
		{name: "nothing passes", n: 1, maxWait: time.Second, wait: refused, never: true},
		{name: "a third of a nanosecond", n: 1, rate: Rate{3, 1, 1}, maxWait: 1, wait: 1, remaining: 2},
		{name: "rounded up", n: 2, rate: Rate{3, 1, 1}, maxWait: 1, wait: 1, remaining: 1},
		{name: "compared before it is rounded", n: 2, rate: Rate{3, 1, 1}, maxWait: 1, strict: true, wait: 1},
		{name: "not less by a third", n: 3, rate: Rate{3, 1, 1}, maxWait: 1, strict: true, wait: refused, remaining: 2, until: 1},
		{name: "the greatest", n: MaxLimit, rate: Rate{MaxLimit, 1, maxInterval}, maxWait: maxInterval, wait: maxInterval},
		{name: "the rarest", n: 1, rate: Rate{1, MaxLimit, maxInterval / MaxLimit}, maxWait: math.MaxInt64, wait: maxInterval / MaxLimit * MaxLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := NewThrottle()
			// In whole nanoseconds, so the rate does not matter.
			if _, w := a.Acquire(epoch, 1, ten, 0, false); w != (Wait{OK: true}) {
				t.Fatalf("the first is told %+v", w)
			}
			peek := a.Peek(epoch, c.n, c.n, c.rate, c.maxWait, c.strict)
			until, comes := a.Until(epoch, c.n, c.rate, c.maxWait, c.strict)
			_, got := a.Acquire(epoch, c.n, c.rate, c.maxWait, c.strict)
			want := Wait{OK: c.wait != refused, Wait: max(c.wait, 0), Remaining: c.remaining}
			if got != want {
				t.Errorf("Acquire = %+v, want %+v", got, want)
			}
			if peek.OK != want.OK || peek.Wait != want.Wait || !want.OK && peek != want {
				t.Errorf("Peek = %+v, then %+v", peek, want)
			}
			if until != c.until || comes == c.never {
				t.Errorf("Until = %v, %t, want %v, %t", until, comes, c.until, !c.never)
			}
		})
	}
}

// TestThrottlePeekOfCall: what several requests of one call are told together is what the last of
// them is told when they are charged.
func TestThrottlePeekOfCall(t *testing.T) {
	t.Parallel()
	rate := Rate{10, 1, time.Second}
	for _, c := range []struct {
		name         string
		before       int64 // when the newest promise was made
		first, total int64
		want         Wait
	}{
		{"new", -1, 1, 3, Wait{true, 200 * ms, 4}},
		{"new, at once", -1, 3, 3, Wait{true, 0, 4}},
		{"idle for long", 0, 1, 3, Wait{true, 200 * ms, 4}},
		{"not idle for as long as the first costs", 4900, 2, 3, Wait{true, 200 * ms, 4}},
		{"busy", 5000, 1, 3, Wait{true, 300 * ms, 3}},
		{"busy, too long", 5000, 1, 4, Wait{Remaining: 3}},
		{"never", -1, 1, 11, Wait{Remaining: 4}},
		{"first of all more than all", -1, 3, 2, Wait{Remaining: 4}},
		{"none first", -1, 0, 2, Wait{Remaining: 4}},
		{"overflow", -1, 1, math.MaxInt64, Wait{Remaining: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := NewThrottle()
			if c.before >= 0 {
				a.Acquire(at(c.before), 1, rate, 0, false)
			}
			got := a.Peek(at(5000), c.first, c.total, rate, 300*ms, false)
			if got != c.want {
				t.Fatalf("Peek = %+v, want %+v", got, c.want)
			}
			if got.OK {
				_, w := a.Acquire(at(5000), c.first, rate, 300*ms, false)
				for range c.total - c.first {
					_, w = a.Acquire(at(5000), 1, rate, 300*ms, false)
				}
				if w.Wait != got.Wait {
					t.Fatalf("Peek = %+v, then %+v", got, w)
				}
			}
		})
	}
}

// TestThrottleNeverDrifts: the thousandth promise is as exact as the first, at a cost that is no
// whole number of nanoseconds.
func TestThrottleNeverDrifts(t *testing.T) {
	t.Parallel()
	for _, rate := range []Rate{{3, 1, time.Second}, {7, 3, time.Second}, {1_000_000_007, 1, time.Second}, {2147483647, 1, time.Second}, {999, 1000, time.Minute}} {
		a := NewThrottle()
		for k := range int64(10_000) {
			// Rounded up: (k * Interval * Denominator) / Count.
			want := mul(uint64(k), uint64(rate.Interval)).times(uint64(rate.Denominator)).divUp(uint64(rate.Count)).lo
			if _, w := a.Acquire(epoch, 1, rate, math.MaxInt64, false); w.Wait != time.Duration(want) {
				t.Fatalf("%+v: promise %d waits %d ns, want %d", rate, k, w.Wait, want)
			}
		}
	}
}

func TestThrottleRefund(t *testing.T) {
	t.Parallel()
	rate := Rate{10, 1, time.Second}
	acquire := func(t *testing.T, a *Throttle, want time.Duration) Promise {
		t.Helper()
		p, w := a.Acquire(epoch, 1, rate, time.Second, false)
		if !w.OK || w.Wait != want {
			t.Fatalf("Acquire = %+v, want a wait of %v", w, want)
		}
		return p
	}
	t.Run("newest first", func(t *testing.T) {
		t.Parallel()
		a := NewThrottle()
		p, q := acquire(t, a, 0), acquire(t, a, 100*ms)
		if !a.Refund(epoch, q) || !a.Refund(epoch, p) {
			t.Fatal("not given back")
		}
		if a.state != (throttleState{}) {
			t.Fatalf("left: %+v", a.state)
		}
	})
	t.Run("oldest first", func(t *testing.T) {
		t.Parallel()
		a := NewThrottle()
		p, q := acquire(t, a, 0), acquire(t, a, 100*ms)
		if a.Refund(epoch, p) {
			t.Fatal("given back, though there is a later promise")
		}
		if !a.Refund(epoch, q) {
			t.Fatal("not given back")
		}
		acquire(t, a, 100*ms) // the place of the first stays unused
	})
	t.Run("of a refusal", func(t *testing.T) {
		t.Parallel()
		a := NewThrottle()
		if a.Refund(epoch, Promise{}) {
			t.Fatal("given back to a new one")
		}
		acquire(t, a, 0)
		if a.Refund(epoch, Promise{}) {
			t.Fatal("given back")
		}
	})
	t.Run("across a reload", func(t *testing.T) {
		t.Parallel()
		a := NewThrottle()
		acquire(t, a, 0)
		p, w := a.Acquire(epoch, 1, Rate{3, 1, time.Second}, time.Second, false)
		if w.Wait != 333_333_334 || !a.Refund(epoch, p) {
			t.Fatalf("%+v, or not given back", w)
		}
		acquire(t, a, 100*ms)
	})
}

// TestThrottleReload: promises that were made stand, and the next request follows them at the new
// cost; a fraction of a nanosecond is rounded up.
func TestThrottleReload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to Rate
		want     time.Duration // of the third, after two at from
	}{
		{"faster", Rate{10, 1, time.Second}, Rate{100, 1, time.Second}, 110 * ms},
		{"slower", Rate{10, 1, time.Second}, Rate{1, 2, time.Second}, 2100 * ms},
		{"same quanta", Rate{3, 1, time.Second}, Rate{3, 2, time.Second}, time.Second},
		{"other quanta", Rate{3, 1, time.Second}, Rate{6, 1, time.Second}, 500_000_001},
		{"coarser quanta", Rate{3, 1, time.Second}, Rate{1, 1, time.Second}, 1_333_333_334},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := NewThrottle()
			for range 2 {
				a.Acquire(epoch, 1, c.from, time.Second, false)
			}
			if _, w := a.Acquire(epoch, 1, c.to, time.Hour, false); w.Wait != c.want {
				t.Fatalf("waits %v, want %v", w.Wait, c.want)
			}
		})
	}
	t.Run("to nothing and back", func(t *testing.T) {
		t.Parallel()
		a := NewThrottle()
		rate := Rate{10, 1, time.Second}
		a.Acquire(epoch, 1, rate, time.Second, false)
		if _, w := a.Acquire(epoch, 1, Rate{}, time.Second, false); w != (Wait{}) {
			t.Fatalf("at no rate: %+v", w)
		}
		if a.state.expired(epoch, Rate{}) || a.state.expired(epoch, rate) {
			t.Fatal("expired, though the next request must wait")
		}
		if _, w := a.Acquire(epoch, 1, rate, time.Second, false); w.Wait != 100*ms {
			t.Fatalf("waits %v", w.Wait)
		}
	})
}

// TestThrottleLateClock: a caller behind the others waits for the same moment.
func TestThrottleLateClock(t *testing.T) {
	t.Parallel()
	a := NewThrottle()
	rate := Rate{10, 1, time.Second}
	a.Acquire(at(1000), 1, rate, time.Second, false)
	if _, w := a.Acquire(at(800), 1, rate, time.Second, false); w.Wait != 300*ms {
		t.Fatalf("waits %v, want 300 ms", w.Wait)
	}
	if _, w := a.Acquire(0, 1, rate, time.Second, false); w.OK {
		t.Fatalf("far behind: %+v", w)
	}
	if d, ok := a.Until(0, 1, rate, time.Second, false); !ok || d != time.Duration(at(200)) {
		t.Fatalf("Until = %v, %t", d, ok)
	}
}

func TestThrottleAllocatesNothing(t *testing.T) {
	a := NewThrottle()
	now := epoch
	rate := Rate{700, 3, time.Second}
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(ms)
		a.Peek(now, 1, 2, rate, 20*ms, true)
		p, _ := a.Acquire(now, 1, rate, 20*ms, true)
		a.Acquire(now, 300, rate, 20*ms, true)
		a.Until(now, 2, rate, 20*ms, true)
		a.Refund(now, p)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
