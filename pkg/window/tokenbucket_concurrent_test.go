package window

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTokenBucketConcurrentExact: many callers at one moment get what the bucket holds, no more and
// no less.
func TestTokenBucketConcurrentExact(t *testing.T) {
	t.Parallel()
	rate := Rate{80, 1, 1000 * ms}
	for range 20 {
		b := NewTokenBucket()
		var admitted atomic.Int64
		var start, done sync.WaitGroup
		start.Add(1)
		for range goroutines {
			done.Go(func() {
				start.Wait()
				for range 5 {
					if _, r := b.TryAcquire(epoch, 1, rate, 20); r.OK {
						admitted.Add(1)
					}
				}
			})
		}
		start.Done()
		done.Wait()
		if got := admitted.Load(); got != 100 {
			t.Fatalf("%d admitted, want 100", got)
		}
	}
}

// admissions are what goroutines were admitted when.
type admissions struct {
	mu  sync.Mutex
	all []struct{ at, n int64 }
}

func (a *admissions) add(at, n int64) {
	a.mu.Lock()
	a.all = append(a.all, struct{ at, n int64 }{at, n})
	a.mu.Unlock()
}

// each calls f with the length of every span that begins and ends with an admission, and what was
// admitted in it, in the order of the beginnings.
func (a *admissions) each(f func(span, sum int64)) {
	slices.SortFunc(a.all, func(x, y struct{ at, n int64 }) int { return cmp.Compare(x.at, y.at) })
	for i, first := range a.all {
		sum := int64(0)
		for _, last := range a.all[i:] {
			sum += last.n
			f(last.at-first.at, sum)
		}
	}
}

// rush makes 64 goroutines call, while the clock runs by step on average, with try, which says
// whether n was admitted at now and not given back.
func rush(calls int, step int64, try func(random *rand.Rand, now, n int64) bool) *admissions {
	var clock atomic.Int64
	clock.Store(epoch)
	var a admissions
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			random := rand.New(rand.NewPCG(3, uint64(g)))
			for range calls {
				now := clock.Add(random.Int64N(2 * step))
				if n := 1 + random.Int64N(3); try(random, now, n) {
					a.add(now, n)
				}
			}
		})
	}
	done.Wait()
	return &a
}

// TestTokenBucketConcurrentBound: while the clock runs, with callers that give back, no interval
// admits more than twice what the bucket holds.
func TestTokenBucketConcurrentBound(t *testing.T) {
	t.Parallel()
	rate := Rate{80, 1, 10 * ms}
	b := NewTokenBucket()
	a := rush(100, int64(ms)/30, func(random *rand.Rand, now, n int64) bool {
		p, r := b.TryAcquire(now, n, rate, 20)
		if r.OK && random.IntN(8) == 0 {
			b.Refund(p)
			return false
		}
		return r.OK
	})
	most := int64(0)
	a.each(func(span, sum int64) {
		if span <= int64(rate.Interval) {
			most = max(most, sum)
		}
	})
	if most > 200 || most < 90 {
		t.Fatalf("at most %d in an interval, bound 200", most)
	}
}
