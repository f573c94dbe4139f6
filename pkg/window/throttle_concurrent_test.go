package window

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestThrottleConcurrentExact: many callers at one moment are promised the moments that there are,
// each of them once.
func TestThrottleConcurrentExact(t *testing.T) {
	t.Parallel()
	rate := Rate{3, 1, time.Second}
	const places = 61 // one now, and 60 in 20 seconds
	for range 20 {
		a := NewThrottle()
		var mu sync.Mutex
		var waits []time.Duration
		var start, done sync.WaitGroup
		start.Add(1)
		for range goroutines {
			done.Go(func() {
				start.Wait()
				for range 5 {
					if _, w := a.Acquire(epoch, 1, rate, 20*time.Second, false); w.OK {
						mu.Lock()
						waits = append(waits, w.Wait)
						mu.Unlock()
					}
				}
			})
		}
		start.Done()
		done.Wait()
		slices.Sort(waits)
		if len(waits) != places {
			t.Fatalf("%d promised a moment, want %d", len(waits), places)
		}
		for k, got := range waits {
			if want := (time.Duration(k)*time.Second + 2) / 3; got != want {
				t.Fatalf("promise %d waits %v, want %v", k, got, want)
			}
		}
	}
}

// TestThrottleConcurrentBound: while the clock runs, with callers that come late and callers that
// give back, promises leave their cost between them.
func TestThrottleConcurrentBound(t *testing.T) {
	t.Parallel()
	rate := Rate{7000, 3, time.Second}
	a := NewThrottle()
	var clock, refunds atomic.Int64
	clock.Store(epoch)
	type admission struct {
		at instant
		n  int64
	}
	admitted := make([][]admission, goroutines)
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(g)))
			for range 500 {
				now := clock.Add(random.Int64N(int64(time.Millisecond)))
				if random.IntN(8) == 0 {
					now -= random.Int64N(3 * int64(time.Millisecond))
				}
				n := 1 + random.Int64N(3)
				p, w := a.Acquire(now, n, rate, 20*time.Millisecond, true)
				switch {
				case !w.OK:
				case random.IntN(4) == 0 && a.Refund(now, p):
					refunds.Add(1)
				default:
					admitted[g] = append(admitted[g], admission{p.after.last, n})
				}
			}
		})
	}
	done.Wait()
	all := slices.Concat(admitted...)
	slices.SortFunc(all, func(x, y admission) int {
		if x.at.ns != y.at.ns {
			return int(x.at.ns - y.at.ns)
		}
		return int(x.at.part) - int(y.at.part)
	})
	checkSpacing(t, rate, len(all), func(i int) (instant, int64) { return all[i].at, all[i].n })
	if len(all) < 1000 || refunds.Load() == 0 {
		t.Fatalf("%d promises and %d refunds: nothing was tried", len(all), refunds.Load())
	}
}
