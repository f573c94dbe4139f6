package window

import (
	"errors"
	"math"
	"testing"
	"time"
)

func newBurst(t testing.TB, sampleCount int, interval time.Duration, mode Mode) *Burst {
	t.Helper()
	b, err := NewBurst(epoch, sampleCount, interval, mode)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBurstShape(t *testing.T) {
	t.Parallel()
	if _, err := NewBurst(epoch, 3, time.Second, Aligned); !errors.Is(err, ErrShape) {
		t.Fatalf("err = %v, want %v", err, ErrShape)
	}
}

// TestBurst tells the story of the type's comment: a client that was idle, then one that keeps
// coming.
func TestBurst(t *testing.T) {
	t.Parallel()
	b := newBurst(t, 10, time.Second, Aligned)
	passes := func(ms int64) (n int) {
		for {
			if _, r := b.TryAcquire(at(ms), 1, 10, 5); !r.OK {
				return n
			}
			n++
		}
	}
	for _, c := range []struct {
		ms   int64
		want int
	}{
		{0, 15},  // count and burst
		{900, 0}, // nine tokens have come back, but the window is full
		{1000, 10},
		{1099, 0},
		{1100, 1},
		{1900, 4}, // of eight tokens
		{2000, 5}, // of ten that the window has room for
		{2099, 0},
		{9000, 15},
	} {
		if got := passes(c.ms); got != c.want {
			t.Fatalf("at %d ms: %d pass, want %d", c.ms, got, c.want)
		}
	}
}

func TestBurstEdges(t *testing.T) {
	t.Parallel()
	const age = int64(maxInterval / time.Second)
	for _, c := range []struct {
		name            string
		taken           int64 // at epoch, of as many a second
		at              int64 // ms
		n, count, burst int64
		ok              bool
		remaining       int64 // before
		until           time.Duration
		comes           bool
	}{
		{name: "fits", n: 3, count: 3, ok: true, remaining: 3, comes: true},
		{name: "fits with burst", n: 8, count: 3, burst: 5, ok: true, remaining: 8, comes: true},
		{name: "never", n: 9, count: 3, burst: 5, remaining: 8},
		{name: "waits for the window", taken: 3, at: 500, n: 1, count: 3, until: 500 * ms, comes: true},
		{name: "waits for the bucket", taken: 4, at: 1000, n: 4, count: 2, burst: 2, remaining: 2, until: time.Second, comes: true},
		{name: "to the nanosecond", taken: 3, at: 1000, n: 3, count: 1, burst: 2, remaining: 1, until: 2 * time.Second, comes: true},
		{name: "no hits", count: 3, remaining: 3},
		{name: "negative hits", n: math.MinInt64, count: 3, remaining: 3},
		{name: "huge", n: math.MaxInt64, count: 3, burst: 5, remaining: 8},
		{name: "no count", n: 1, burst: 5},
		{name: "negative count", n: 1, count: math.MinInt64, burst: 5},
		{name: "negative burst", n: 3, count: 3, burst: math.MinInt64, ok: true, remaining: 3, comes: true},
		{name: "the greatest", n: MaxLimit, count: math.MaxInt64, burst: math.MaxInt64, ok: true, remaining: MaxLimit, comes: true},
		{name: "the greatest burst", n: age, count: 1, burst: math.MaxInt64, ok: true, remaining: age, comes: true},
		{name: "more than comes back in a lifetime", n: age + 1, count: 1, burst: math.MaxInt64, remaining: age},
		{name: "from more", taken: 100, at: 1000, n: 1, count: 1, burst: 4, until: 0, comes: true, ok: true, remaining: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBurst(t, 10, time.Second, Aligned)
			if c.taken > 0 {
				// A count of its own, as before a reload, but for those that wait.
				count := c.taken
				if c.count < count && c.count+c.burst >= count {
					count = c.count
				}
				if _, r := b.TryAcquire(epoch, c.taken, count, c.taken-count); !r.OK {
					t.Fatal("the first is refused")
				}
			}
			want := Result{OK: c.ok, Remaining: c.remaining}
			if got := b.Peek(at(c.at), c.n, c.count, c.burst); got != want {
				t.Errorf("Peek = %+v, want %+v", got, want)
			}
			if d, comes := b.Until(at(c.at), c.n, c.count, c.burst); d != c.until || comes != c.comes {
				t.Errorf("Until = %v, %t, want %v, %t", d, comes, c.until, c.comes)
			}
			p, got := b.TryAcquire(at(c.at), c.n, c.count, c.burst)
			if c.ok {
				want.Remaining -= c.n
			} else if p != (BurstPermit{}) {
				t.Errorf("a refusal gave %+v", p)
			}
			if got != want {
				t.Errorf("TryAcquire = %+v, want %+v", got, want)
			}
		})
	}
}

func TestBurstRefund(t *testing.T) {
	t.Parallel()
	const count, burst = 10, 5
	t.Run("newest first", func(t *testing.T) {
		t.Parallel()
		b := newBurst(t, 10, time.Second, Aligned)
		p, _ := b.TryAcquire(epoch, 8, count, burst)
		q, _ := b.TryAcquire(epoch, 7, count, burst)
		b.Refund(epoch, q)
		b.Refund(epoch, p)
		if got := b.Peek(epoch, 15, count, burst); got != (Result{OK: true, Remaining: 15}) || b.bucket != (gcraState{}) {
			t.Fatalf("%+v, bucket %+v", got, b.bucket)
		}
	})
	t.Run("oldest first", func(t *testing.T) {
		t.Parallel()
		b := newBurst(t, 10, time.Second, Aligned)
		p, _ := b.TryAcquire(epoch, 8, count, burst)
		q, _ := b.TryAcquire(epoch, 7, count, burst)
		b.Refund(epoch, p) // to the window only
		if got := b.window.Snapshot(epoch, nil).Total; got != 7 {
			t.Fatalf("window holds %d, want 7", got)
		}
		b.Refund(epoch, q)
		if got := b.Peek(epoch, 1, count, burst).Remaining; got != 7 {
			t.Fatalf("remaining = %d, want 7", got)
		}
	})
	t.Run("of a refusal", func(t *testing.T) {
		t.Parallel()
		b := newBurst(t, 10, time.Second, Aligned)
		b.TryAcquire(epoch, 15, count, burst)
		p, _ := b.TryAcquire(epoch, 1, count, burst)
		b.Refund(epoch, p)
		if got := b.Peek(epoch, 1, count, burst).Remaining; got != 0 {
			t.Fatalf("remaining = %d, want 0", got)
		}
	})
	t.Run("release", func(t *testing.T) {
		t.Parallel()
		b := newBurst(t, 10, time.Second, Aligned)
		b.Release(epoch, 3)
		b.TryAcquire(epoch, 15, count, burst)
		b.Release(epoch, -1)
		b.Release(epoch, 4)
		if got := b.Peek(epoch, 1, count, burst).Remaining; got != 4 {
			t.Fatalf("remaining = %d, want 4", got)
		}
		b.Release(epoch, math.MaxInt64)
		if got := b.Peek(epoch, 1, count, burst).Remaining; got != 15 {
			t.Fatalf("remaining = %d, want 15", got)
		}
	})
}

// TestBurstReload: what was taken stays taken, to the fraction of a token, and comes back at the
// new count, also while calls are refused.
func TestBurstReload(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name         string
		taken, at    int64 // of 10 a second at epoch, and ms at which the count changes
		count, burst int64
		later        int64 // ms
		want         int64 // remaining then
	}{
		{name: "more", taken: 15, at: 1000, count: 100, later: 1000, want: 95},
		{name: "more, after a while", taken: 15, at: 1000, count: 100, later: 1040, want: 99},
		{name: "fewer", taken: 15, at: 1000, count: 1, burst: 7, later: 1000, want: 3},
		{name: "fewer, after a while", taken: 15, at: 1000, count: 1, burst: 7, later: 3999, want: 5},
		{name: "fewer than are taken", taken: 15, at: 0, count: 1, burst: 10, later: 4999, want: 0},
		{name: "fewer than were taken", taken: 15, at: 0, count: 1, burst: 10, later: 5000, want: 1},
		{name: "a third of a token is taken", taken: 1, at: 67, count: 3, later: 1000, want: 3},
		{name: "to none and back", taken: 15, at: 1000, count: 0, later: 1000, want: 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBurst(t, 1, time.Second, Aligned)
			b.TryAcquire(epoch, c.taken, 10, 5)
			b.Peek(at(c.at), math.MaxInt64, c.count, c.burst)
			if got := b.Peek(at(c.later), 1, c.count, c.burst).Remaining; got != c.want {
				t.Fatalf("remaining = %d, want %d", got, c.want)
			}
		})
	}
	t.Run("exactly", func(t *testing.T) {
		t.Parallel()
		// After 33 ms 2.67 tokens are taken; at 7 a second they come back in 381 428 571 3/7 ns.
		s := gcraState{}.take(epoch, 3, 10, int64(time.Second)).carry(at(33), 7)
		if want := (instant{at(33) + 381_428_571, 3, 7}); s.full != want {
			t.Fatalf("full at %+v, want %+v", s.full, want)
		}
	})
}

func TestBurstAllocatesNothing(t *testing.T) {
	b := newBurst(t, 10, time.Second, Strict)
	now := epoch
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(7 * ms)
		b.Peek(now, 1, 20, 5)
		p, _ := b.TryAcquire(now, 1, 20, 5)
		b.TryAcquire(now, 30, 20, 5)
		b.Until(now, 20, 20, 5)
		b.Reset(now)
		b.Refund(now, p)
		b.Release(now, 1)
		b.Maintain(now)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
