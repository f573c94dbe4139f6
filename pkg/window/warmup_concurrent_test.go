package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestWarmUpConcurrentExact: many callers at one moment get what is allowed then, no more and no less,
// second after second; one of them, whoever it is, begins each.
func TestWarmUpConcurrentExact(t *testing.T) {
	t.Parallel()
	for range 10 {
		w := newWarmUp(t, 100, 2*time.Second)
		for i, want := range []int64{33, 42, 66, 100, 100} {
			now := epoch + int64(i)*int64(time.Second)
			var admitted atomic.Int64
			var start, done sync.WaitGroup
			start.Add(1)
			for range goroutines {
				done.Go(func() {
					start.Wait()
					admitted.Add(int64(w.admitted(now, 5)))
				})
			}
			start.Done()
			done.Wait()
			if got := admitted.Load(); got != want {
				t.Fatalf("second %d: %d admitted, want %d", i, got, want)
			}
		}
	}
}

// TestWarmUpConcurrentBound: while the clock runs and terms change, with callers that give back, no
// slots in a row admit more than the largest limit.
func TestWarmUpConcurrentBound(t *testing.T) {
	t.Parallel()
	const interval, most = 10 * ms, 60
	w, err := NewWarmUp(epoch, 5, interval, Strict, WarmUpTerms{most, 5 * interval, 3})
	if err != nil {
		t.Fatal(err)
	}
	a := rush(200, int64(ms)/30, func(random *rand.Rand, now, n int64) bool {
		if random.IntN(100) == 0 {
			w.Adjust(now, WarmUpTerms{most - random.Int64N(20), 5 * interval, 3})
		}
		p, r := w.TryAcquire(now, n)
		if r.OK && random.IntN(8) == 0 {
			w.Refund(now, p)
			return false
		}
		return r.OK
	})
	a.each(func(span, sum int64) {
		if span <= int64(interval) && sum > most {
			t.Errorf("%d admitted in %d ns", sum, span)
		}
	})
	q := NewWarmUpQueue(epoch, interval, WarmUpTerms{most, 5 * interval, 3})
	var moments admissions
	rush(50, int64(ms)/30, func(_ *rand.Rand, now, n int64) bool {
		if _, w := q.Acquire(now, n, interval, false); w.OK {
			moments.add(now+int64(w.Wait), n)
		}
		return false
	})
	moments.each(func(span, sum int64) {
		if span <= int64(interval) && sum > most+3 {
			t.Errorf("%d answered in %d ns", sum, span)
		}
	})
}
