package window

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestOutcomesConcurrentExact: of callers at one moment each is told of another number of calls,
// from 1 to all of them, and the last of everything.
func TestOutcomesConcurrentExact(t *testing.T) {
	t.Parallel()
	const calls = 50
	kinds := [...]Outcome{fast, slow, failed, both}
	for name, o := range map[string]outcomes{
		"window": newOutcomeWindow(t, epoch, 10, time.Second),
		"ring":   newOutcomeRing(t, goroutines*calls),
	} {
		told := make([][]int64, goroutines)
		now := at(12_345) // the window has to be moved there by whoever comes first
		var start, done sync.WaitGroup
		start.Add(1)
		for g := range goroutines {
			done.Go(func() {
				start.Wait()
				for i := range calls {
					told[g] = append(told[g], o.Record(now, kinds[i%len(kinds)]).Total)
				}
			})
		}
		start.Done()
		done.Wait()
		all := slices.Concat(told...)
		slices.Sort(all)
		for i, n := range all {
			if n != int64(i+1) {
				t.Fatalf("%s: call %d of %d was told of %d", name, i+1, len(all), n)
			}
		}
		var want Tally
		for range goroutines {
			for i := range calls {
				want = want.Plus(kinds[i%len(kinds)])
			}
		}
		got := o.Tally(now)
		got.Since = 0
		if got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// TestOutcomesConcurrentDrift: while the clock runs, with callers that come late and resets, nothing
// is counted that is not there, and nothing stays that has left.
func TestOutcomesConcurrentDrift(t *testing.T) {
	t.Parallel()
	const size = 100
	w := newOutcomeWindow(t, epoch, 10, 10*time.Millisecond)
	r := newOutcomeRing(t, size)
	var clock, wrong atomic.Int64
	clock.Store(epoch)
	var done sync.WaitGroup
	for g := range goroutines {
		done.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(g)))
			for range 500 {
				now := clock.Add(random.Int64N(int64(time.Millisecond) / 8))
				if random.IntN(8) == 0 {
					now -= random.Int64N(int64(20 * time.Millisecond))
				}
				o := Outcome{RT: time.Duration(random.Int64N(100)), Slow: random.IntN(2) == 0, Error: random.IntN(2) == 0}
				for _, t := range []Tally{w.Record(now, o), r.Record(now, o), w.Tally(now), r.Tally(now)} {
					if t.Slow > t.Total || t.Errors > t.Total || t.RT > time.Duration(t.Total)*100 || t.RT < 0 {
						wrong.Add(1)
					}
				}
				if random.IntN(100) == 0 {
					w.Reset()
					r.Reset()
				}
			}
		})
	}
	done.Wait()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d tallies that cannot be", n)
	}
	if got := w.Tally(clock.Load() + int64(10*time.Millisecond)); got != (Tally{}) {
		t.Errorf("an interval later, the window holds %+v", got)
	}
	for range size {
		r.Record(clock.Load(), fast)
	}
	got := r.Tally(0)
	if got.Since = 0; got != (Tally{Total: size, RT: size * fast.RT}) {
		t.Errorf("after as many fast calls as it holds, the ring holds %+v", got)
	}
}
