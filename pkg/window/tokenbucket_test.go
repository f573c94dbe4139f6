package window

import (
	"math"
	"testing"
	"time"
)

// TestTokenBucketSentinel replays what Sentinel 1.8.9's gateway and parameter rules do (in the traces
// named, each value of a parameter a bucket): each of times equal calls passes or does not.
func TestTokenBucketSentinel(t *testing.T) {
	t.Parallel()
	type event struct {
		ms, n int64
		pass  bool
		times int
	}
	once := []event{{0, 1, true, 1}, {0, 1, false, 1}}
	for _, c := range []struct {
		name   string
		rate   Rate
		burst  int64
		events []event
	}{
		{"GW-01 nothing comes back at the very end", Rate{3, 1, time.Second}, 0, []event{
			{0, 1, true, 3}, {0, 1, false, 1}, {500, 1, false, 1}, {1000, 1, false, 1}, {1001, 1, true, 3}, {1001, 1, false, 1},
		}},
		{"GW-02 burst", Rate{2, 1, time.Second}, 4, []event{
			{0, 1, true, 6}, {0, 1, false, 1}, {1001, 1, true, 2}, {1001, 1, false, 1},
			{2002, 1, true, 2}, {2002, 1, false, 1}, {5003, 1, true, 6}, {5003, 1, false, 1},
		}},
		{"GW-03 ten seconds", Rate{5, 1, 10 * time.Second}, 0, []event{
			{0, 1, true, 5}, {0, 1, false, 1}, {9999, 1, false, 1}, {10000, 1, false, 1}, {10001, 1, true, 5}, {10001, 1, false, 1},
		}},
		{"a refill in the middle of a rush", Rate{3, 1, time.Second}, 0, []event{
			{0, 1, true, 1}, {900, 1, true, 2}, {1001, 1, true, 3}, {1001, 1, false, 1},
		}},
		{"GW-07 value a", Rate{2, 1, time.Second}, 0, []event{{0, 1, true, 2}, {0, 1, false, 1}}},
		{"GW-07 value b", Rate{2, 1, time.Second}, 0, []event{{0, 1, true, 2}, {0, 1, false, 1}}},
		{"GW-08 value vip", Rate{1, 1, time.Second}, 0, once},
		{"GW-10 value v12", Rate{1, 1, time.Second}, 0, once},
		{"GW-21 above count and burst", Rate{3, 1, time.Second}, 1, []event{
			{0, 5, false, 1}, {0, 4, true, 1}, {0, 1, false, 1}, {1001, 4, false, 1}, {1001, 3, true, 1},
		}},
		{"GW-23 value api.example.com", Rate{1, 1, time.Second}, 0, once},
		{"GW-26 value a", Rate{1, 1, time.Second}, 0, once},
		{"GW-27 API group", Rate{1, 1, time.Second}, 0, once},
		{"PF-01 value vip", Rate{4, 1, time.Second}, 0, []event{{0, 1, true, 4}, {0, 1, false, 1}}},
		{"PF-01 value bad", Rate{0, 1, time.Second}, 0, []event{{0, 1, false, 1}}},
		{"PF-01 value x", Rate{2, 1, time.Second}, 0, []event{{0, 1, true, 2}, {0, 1, false, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := NewTokenBucket()
			for _, e := range c.events {
				for range e.times {
					peek := b.Peek(at(e.ms), e.n, c.rate, c.burst)
					if _, r := b.TryAcquire(at(e.ms), e.n, c.rate, c.burst); r.OK != e.pass || peek.OK != e.pass {
						t.Fatalf("at %d ms: Peek %+v, TryAcquire %+v, want %t", e.ms, peek, r, e.pass)
					}
				}
			}
		})
	}
}

func TestTokenBucketEdges(t *testing.T) {
	t.Parallel()
	three := Rate{3, 1, time.Second}
	for _, c := range []struct {
		name      string
		taken     int64 // from a bucket of as many
		n         int64
		rate      Rate
		burst     int64
		ok        bool
		remaining int64 // before
		until     time.Duration
		comes     bool
		reset     time.Duration
	}{
		{name: "fits", n: 3, rate: three, ok: true, remaining: 3, comes: true},
		{name: "fits with burst", n: 5, rate: three, burst: 2, ok: true, remaining: 5, comes: true},
		{name: "one too many", taken: 1, n: 3, rate: three, remaining: 2, until: 1001 * ms, comes: true, reset: 1001 * ms},
		{name: "more than comes back at once", taken: 5, n: 4, rate: three, burst: 2, until: 1334 * ms, comes: true, reset: 1001 * ms},
		{name: "never", n: 4, rate: three, remaining: 3},
		{name: "no hits", n: 0, rate: three, remaining: 3},
		{name: "negative hits", n: math.MinInt64, rate: three, remaining: 3},
		{name: "huge", n: math.MaxInt64, rate: three, burst: math.MaxInt64, remaining: MaxLimit},
		{name: "the greatest", n: MaxLimit, rate: three, burst: math.MaxInt64, ok: true, remaining: MaxLimit, comes: true},
		{name: "negative burst", n: 1, rate: three, burst: math.MinInt64, ok: true, remaining: 3, comes: true},
		{name: "more is taken than it holds", taken: 100, n: 1, rate: three, until: 32_667 * ms, comes: true, reset: 1001 * ms},
		{name: "nothing passes", taken: 1, n: 1, burst: 4},
		{name: "less than a millisecond", taken: 1, n: 1, rate: Rate{3, 1, ms - 1}},
		{name: "a fraction above 1", n: 3, rate: Rate{5, 2, time.Second}, ok: true, remaining: 3, comes: true},
		{name: "a fraction below 1", taken: 1, n: 1, rate: Rate{1, 2, time.Second}, until: 2 * time.Second, comes: true, reset: 1001 * ms},
		{name: "in lowest terms", taken: 1, n: 3, rate: Rate{30, 10, time.Second}, remaining: 2, until: 1001 * ms, comes: true, reset: 1001 * ms},
		{name: "not in a lifetime", taken: MaxLimit, n: MaxLimit, rate: Rate{1, 1000, 24 * time.Hour}, burst: MaxLimit, reset: 24*time.Hour + ms},
		{name: "the rarest", taken: 1, n: 1, rate: Rate{1, 1, maxCost}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := NewTokenBucket()
			if c.taken > 0 {
				if _, r := b.TryAcquire(epoch, c.taken, Rate{c.taken, 1, time.Second}, 0); !r.OK {
					t.Fatal("the first is refused")
				}
			}
			want := Result{OK: c.ok, Remaining: c.remaining}
			if got := b.Peek(epoch, c.n, c.rate, c.burst); got != want {
				t.Errorf("Peek = %+v, want %+v", got, want)
			}
			if d, comes := b.Until(epoch, c.n, c.rate, c.burst); d != c.until || comes != c.comes {
				t.Errorf("Until = %v, %t, want %v, %t", d, comes, c.until, c.comes)
			}
			if d := b.Reset(epoch, c.rate); d != c.reset {
				t.Errorf("Reset = %v, want %v", d, c.reset)
			}
			before := b.state
			p, got := b.TryAcquire(epoch, c.n, c.rate, c.burst)
			if c.ok {
				want.Remaining -= c.n
			}
			if got != want {
				t.Errorf("TryAcquire = %+v, want %+v", got, want)
			}
			if !c.ok && (b.state != before || p != BucketPermit{}) {
				t.Errorf("a refusal left %+v and gave %+v", b.state, p)
			}
		})
	}
}

// TestTokenBucketSubMillisecond: time passes in whole milliseconds, and Until and Reset say when
// the millisecond begins.
func TestTokenBucketSubMillisecond(t *testing.T) {
	t.Parallel()
	b := NewTokenBucket()
	rate := Rate{1, 1, time.Second}
	b.TryAcquire(epoch+999_999, 1, rate, 0)
	now := epoch + 300_000
	d, ok := b.Until(now, 1, rate, 0)
	if want := 1001*ms - 300*time.Microsecond; d != want || !ok || b.Reset(now, rate) != want {
		t.Fatalf("Until = %v, %t, Reset = %v, want %v", d, ok, b.Reset(now, rate), want)
	}
}

// TestTokenBucketFraction: a fraction of the count is not lost at the refills.
func TestTokenBucketFraction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate Rate
		want int64 // in a hundred intervals, each of which begins a millisecond late
	}{
		{Rate{5, 2, time.Second}, 253},
		{Rate{1, 2, time.Second}, 51},
		{Rate{999, 1000, time.Second}, 100},
		{Rate{3, 1, time.Second}, 303},
	} {
		b := NewTokenBucket()
		admitted := int64(0)
		for now := epoch; now <= at(100_100); now += int64(ms) {
			for {
				if _, r := b.TryAcquire(now, 1, c.rate, 0); !r.OK {
					break
				}
				admitted++
			}
		}
		if diff := admitted - c.want; diff < -1 || diff > 1 {
			t.Errorf("%+v: %d admitted, want %d", c.rate, admitted, c.want)
		}
	}
}

func TestTokenBucketRefund(t *testing.T) {
	t.Parallel()
	rate := Rate{3, 1, time.Second}
	t.Run("in the same interval", func(t *testing.T) {
		t.Parallel()
		b := NewTokenBucket()
		p, _ := b.TryAcquire(epoch, 2, rate, 0)
		b.TryAcquire(at(100), 1, rate, 0)
		b.Refund(p)
		if got := b.Peek(at(200), 1, rate, 0).Remaining; got != 2 {
			t.Fatalf("remaining = %d, want 2", got)
		}
	})
	t.Run("after a refill", func(t *testing.T) {
		t.Parallel()
		b := NewTokenBucket()
		p, _ := b.TryAcquire(epoch, 2, rate, 0)
		b.TryAcquire(at(1001), 1, rate, 0)
		b.Refund(p)
		if got := b.Peek(at(1001), 1, rate, 0).Remaining; got != 2 {
			t.Fatalf("remaining = %d, want 2", got)
		}
	})
	t.Run("of a refusal", func(t *testing.T) {
		t.Parallel()
		b := NewTokenBucket()
		b.Refund(BucketPermit{})
		b.TryAcquire(epoch, 3, rate, 0)
		p, _ := b.TryAcquire(epoch, 1, rate, 0)
		b.Refund(p)
		if got := b.Peek(epoch, 1, rate, 0).Remaining; got != 0 {
			t.Fatalf("remaining = %d, want 0", got)
		}
	})
	t.Run("release", func(t *testing.T) {
		t.Parallel()
		b := NewTokenBucket()
		b.Release(5)
		b.TryAcquire(epoch, 3, rate, 0)
		b.Release(-1)
		b.Release(1)
		if got := b.Peek(epoch, 1, rate, 0).Remaining; got != 1 {
			t.Fatalf("remaining = %d, want 1", got)
		}
		b.Release(math.MaxInt64)
		if got := b.Peek(epoch, 1, rate, 0).Remaining; got != 3 {
			t.Fatalf("remaining = %d, want 3", got)
		}
	})
}

// TestTokenBucketReload: what was taken stays taken, at most rounded up.
func TestTokenBucketReload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to Rate
		burst    int64 // at to
		want     int64 // remaining, of a bucket with 2 taken
	}{
		{"more", Rate{3, 1, time.Second}, Rate{10, 1, time.Second}, 0, 8},
		{"fewer", Rate{3, 1, time.Second}, Rate{2, 1, time.Second}, 0, 0},
		{"burst", Rate{3, 1, time.Second}, Rate{3, 1, time.Second}, 7, 8},
		{"to a fraction", Rate{3, 1, time.Second}, Rate{7, 2, time.Second}, 0, 2},
		{"from a fraction", Rate{5, 2, time.Second}, Rate{3, 1, time.Second}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := NewTokenBucket()
			b.TryAcquire(epoch, 2, c.from, 0)
			if got := b.Peek(epoch, 1, c.to, c.burst).Remaining; got != c.want {
				t.Fatalf("remaining = %d, want %d", got, c.want)
			}
		})
	}
	t.Run("a fraction is taken", func(t *testing.T) {
		t.Parallel()
		// Half a token comes back at 1001 ms, one and a half are taken; as thirds, five.
		b := NewTokenBucket()
		b.TryAcquire(epoch, 1, Rate{1, 2, time.Second}, 1)
		b.TryAcquire(at(1001), 1, Rate{1, 2, time.Second}, 1)
		b.TryAcquire(at(1001), 1, Rate{1, 3, time.Second}, 2)
		if got, want := b.state.taken, uint64(8); got != want || b.state.of != 3 {
			t.Fatalf("%d/%d taken, want %d/3", got, b.state.of, want)
		}
	})
}

func TestTokenBucketAllocatesNothing(t *testing.T) {
	b := NewTokenBucket()
	now := epoch
	rate := Rate{7, 3, time.Second}
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(100 * ms)
		b.Peek(now, 1, rate, 2)
		p, _ := b.TryAcquire(now, 1, rate, 2)
		b.TryAcquire(now, 30, rate, 2)
		b.Until(now, 2, rate, 2)
		b.Reset(now, rate)
		b.Refund(p)
		b.Release(1)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
