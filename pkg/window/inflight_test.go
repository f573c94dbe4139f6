package window

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

func TestInflightEdges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		under, n, limit int64
		want            Result
	}{
		{"room", 2, 1, 3, Result{OK: true, Remaining: 0}},
		{"none left", 3, 1, 3, Result{}},
		{"several at once", 1, 2, 3, Result{OK: true, Remaining: 0}},
		{"more than are left", 2, 2, 3, Result{Remaining: 1}},
		{"more than the limit", 0, 4, 3, Result{Remaining: 3}},
		{"a limit that was lowered", 5, 1, 3, Result{}},
		{"a limit of 0", 0, 1, 0, Result{}},
		{"a negative limit", 0, 1, -1, Result{}},
		{"nothing", 0, 0, 3, Result{Remaining: 3}},
		{"less than nothing", 2, -1, 3, Result{Remaining: 1}},
		{"as many as can be counted", 1, math.MaxInt64, math.MaxInt64, Result{Remaining: MaxLimit - 1}},
	}
	for _, tt := range tests {
		var f Inflight
		if tt.under > 0 && !f.TryAcquire(tt.under, MaxLimit).OK {
			t.Fatalf("%s: cannot begin", tt.name)
		}
		peek := f.Peek(tt.n, tt.limit)
		want := tt.want
		if want.OK { // before the charge
			want.Remaining += tt.n
		}
		if peek != want {
			t.Errorf("%s: Peek = %+v, want %+v", tt.name, peek, want)
		}
		if got := f.TryAcquire(tt.n, tt.limit); got != tt.want {
			t.Errorf("%s: TryAcquire = %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestInflightTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var a Inflight
		var b twin.Inflight
		for i := range rapid.IntRange(1, 100).Draw(t, "calls") {
			n := rapid.Int64Range(-1, 5).Draw(t, "n")
			limit := rapid.Int64Range(0, 9).Draw(t, "limit")
			if rapid.Bool().Draw(t, "release") {
				a.Release(n)
				b.Release(n)
			} else {
				got := a.TryAcquire(n, limit)
				if ok, remaining := b.TryAcquire(0, n, limit); got != (Result{OK: ok, Remaining: remaining}) {
					t.Fatalf("call %d: TryAcquire(%d, %d) = %+v, want %v, %d", i, n, limit, got, ok, remaining)
				}
			}
			if a.Current() != b.Current() {
				t.Fatalf("call %d: %d under way, want %d", i, a.Current(), b.Current())
			}
		}
	})
}

// TestInflightConcurrent: callers that come and go at once, while the limit changes, are never more
// than the highest limit, and none is left when all have gone.
func TestInflightConcurrent(t *testing.T) {
	t.Parallel()
	var f Inflight
	inFlight(t, func() func() {
		limit := int64(5 + rand.IntN(3))
		n := int64(1 + rand.IntN(2))
		if !f.TryAcquire(n, limit).OK {
			return nil
		}
		return func() { f.Release(n) }
	}, func() int64 { return f.Current() }, 7)
	if got := f.Current(); got != 0 {
		t.Errorf("%d left", got)
	}
}

// inFlight lets many callers acquire and release at once, and holds what is under way, which current
// tells, to the bound.
func inFlight(t *testing.T, acquire func() (release func()), current func() int64, bound int64) {
	t.Helper()
	var admitted, most atomic.Int64
	var done sync.WaitGroup
	for range goroutines {
		done.Go(func() {
			for range 2000 {
				release := acquire()
				if release == nil {
					continue
				}
				admitted.Add(1)
				now := current()
				for {
					seen := most.Load()
					if now <= seen || most.CompareAndSwap(seen, now) {
						break
					}
				}
				release()
			}
		})
	}
	done.Wait()
	if most.Load() > bound {
		t.Errorf("%d under way at a time, bound %d", most.Load(), bound)
	}
	if admitted.Load() == 0 {
		t.Error("nobody was admitted")
	}
}

// TestInflightExact: of more callers than there is room for, as many as there is room for get in.
func TestInflightExact(t *testing.T) {
	t.Parallel()
	const limit = 20_011 // many, so that the callers overlap
	for range 5 {
		var f Inflight
		var admitted atomic.Int64
		var start, done sync.WaitGroup
		start.Add(1)
		for range goroutines {
			done.Go(func() {
				start.Wait()
				for range limit {
					if f.TryAcquire(1, limit).OK {
						admitted.Add(1)
					}
				}
			})
		}
		start.Done()
		done.Wait()
		if admitted.Load() != limit || f.Current() != limit {
			t.Fatalf("%d admitted, %d under way, limit %d", admitted.Load(), f.Current(), limit)
		}
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestInflightAllocatesNothing(t *testing.T) {
	var f Inflight
	if got := testing.AllocsPerRun(1000, func() {
		f.Peek(1, 3)
		f.TryAcquire(1, 3)
		f.Release(1)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkInflight(b *testing.B) {
	var f Inflight
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if f.TryAcquire(1, 1000).OK {
				f.Release(1)
			}
		}
	})
}
