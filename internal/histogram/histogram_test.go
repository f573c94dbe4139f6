package histogram

import (
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBoundsRise(t *testing.T) {
	t.Parallel()
	for i := 1; i < len(bounds); i++ {
		if f := float64(bounds[i]) / float64(bounds[i-1]); f != 2 && f != 2.5 {
			t.Errorf("%v follows %v", bounds[i], bounds[i-1])
		}
	}
}

// Against sorting them: each bucket holds the durations up to its bound.
func TestReadTellsWhatWasObserved(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.Custom(func(t *rapid.T) time.Duration {
			bound := bounds[rapid.IntRange(0, len(bounds)-1).Draw(t, "bound")]
			return bound + time.Duration(rapid.IntRange(-2, 2).Draw(t, "off"))
		})
		any := rapid.Custom(func(t *rapid.T) time.Duration {
			return time.Duration(rapid.Int64Range(-int64(time.Second), int64(time.Minute)).Draw(t, "any"))
		})
		ds := rapid.SliceOf(rapid.OneOf(near, any)).Draw(t, "durations")
		var h Histogram
		var sum time.Duration
		for i, d := range ds {
			h.Observe(d)
			ds[i] = max(d, 0)
			sum += ds[i]
		}
		slices.Sort(ds)
		got := h.Read()
		if got.Count != uint64(len(ds)) || got.Sum != sum {
			t.Fatalf("got %d durations of together %v, want %d of %v", got.Count, got.Sum, len(ds), sum)
		}
		for i, b := range got.Buckets {
			n, _ := slices.BinarySearch(ds, b.Bound+1)
			if b.Bound != bounds[i] || b.Count != uint64(n) {
				t.Errorf("bucket %d holds %d up to %v, want %d up to %v", i, b.Count, b.Bound, n, bounds[i])
			}
		}
	})
}

// What is read while others observe fits together and never goes down.
func TestReadWhileObserving(t *testing.T) {
	t.Parallel()
	var h Histogram
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 2000 {
				h.Observe(bounds[(i+j)%len(bounds)])
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var before State
	for last := false; !last; {
		select {
		case <-done:
			last = true
		default:
		}
		got := h.Read()
		if got.Count < before.Count || got.Sum < before.Sum || got.Count < got.Buckets[len(bounds)-1].Count {
			t.Fatalf("got %+v after %+v", got, before)
		}
		for i, b := range got.Buckets {
			if before.Buckets != nil && b.Count < before.Buckets[i].Count || i > 0 && b.Count < got.Buckets[i-1].Count {
				t.Fatalf("got %+v after %+v", got, before)
			}
		}
		before = got
	}
	if before.Count != 8000 {
		t.Errorf("got %d, want 8000", before.Count)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	var h Histogram
	d := time.Duration(1)
	if n := testing.AllocsPerRun(100, func() { h.Observe(d); d *= 3 }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for _, d := range []time.Duration{900, 7 * time.Microsecond, 3 * time.Millisecond} {
		b.Run(d.String(), func(b *testing.B) {
			for b.Loop() {
				h.Observe(d)
			}
		})
	}
}
