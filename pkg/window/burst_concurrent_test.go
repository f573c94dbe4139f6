package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestBurstConcurrentExact: many callers at one moment get count and burst, no more and no less;
// and as soon as the window is empty again, what has come back to the bucket.
func TestBurstConcurrentExact(t *testing.T) {
	t.Parallel()
	for range 20 {
		b := newBurst(t, 10, time.Second, Aligned)
		for _, c := range []struct{ ms, want int64 }{{0, 100}, {1000, 80}} {
			var admitted atomic.Int64
			var start, done sync.WaitGroup
			start.Add(1)
			for range goroutines {
				done.Go(func() {
					start.Wait()
					for range 5 {
						if _, r := b.TryAcquire(at(c.ms), 1, 80, 20); r.OK {
							admitted.Add(1)
						}
					}
				})
			}
			start.Done()
			done.Wait()
			if got := admitted.Load(); got != c.want {
				t.Fatalf("at %d ms: %d admitted, want %d", c.ms, got, c.want)
			}
		}
	}
}

// TestBurstConcurrentBound: while the clock runs, with callers that give back, no span admits more
// than count + burst and what comes back in it.
func TestBurstConcurrentBound(t *testing.T) {
	t.Parallel()
	const count, burst, interval = 80, 20, 10 * ms
	b := newBurst(t, 10, interval, Aligned)
	a := rush(100, int64(ms)/30, func(random *rand.Rand, now, n int64) bool {
		p, r := b.TryAcquire(now, n, count, burst)
		if r.OK && random.IntN(8) == 0 {
			b.Refund(now, p)
			return false
		}
		return r.OK
	})
	most := int64(0)
	a.each(func(span, sum int64) {
		if span <= int64(interval) {
			most = max(most, sum)
		}
		if !withinBurst(span, sum, count, burst, interval) {
			t.Errorf("%d admitted in %d ns", sum, span)
		}
	})
	if most < 90 {
		t.Fatalf("at most %d in an interval: nothing was tried", most)
	}
}
