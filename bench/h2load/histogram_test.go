package h2load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestBuckets walks over every counter: their ranges must follow each other without gap.
func TestBuckets(t *testing.T) {
	t.Parallel()
	var h Histogram
	from := int64(0)
	for i := range h.counts {
		to := upper(i)
		if bucket(from) != i || bucket(to) != i {
			t.Fatalf("counter %d: bounds %d and %d fall into %d and %d", i, from, to, bucket(from), bucket(to))
		}
		if width := to - from + 1; width > 1 && float64(width) > float64(from)/subBuckets {
			t.Fatalf("counter %d is %d wide at %d", i, width, from)
		}
		from = to + 1
	}
	if from != 1<<36 {
		t.Errorf("the counters end at %d", from)
	}
	if got := bucket(1 << 62); got != len(h.counts)-1 {
		t.Errorf("bucket(2^62) = %d", got)
	}
}

func TestQuantileAgainstSortedList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 1<<35), 1, 300).Draw(t, "values")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		var parts [2]Histogram
		for i, v := range values {
			parts[i%2].Record(time.Duration(v))
		}
		parts[0].Merge(&parts[1])
		if got := parts[0].Count(); got != int64(len(values)) {
			t.Fatalf("Count = %d, want %d", got, len(values))
		}
		slices.Sort(values)
		rank := min(max(int(q*float64(len(values))+0.5), 1), len(values))
		want := values[rank-1]
		got := int64(parts[0].Quantile(q))
		if got < want || got > want+want/subBuckets {
			t.Fatalf("Quantile(%v) = %d, want %d", q, got, want)
		}
	})
}

func TestEmptyHistogram(t *testing.T) {
	t.Parallel()
	var h Histogram
	if got := h.Quantile(0.99); got != 0 {
		t.Errorf("Quantile of nothing = %v", got)
	}
	h.Record(-time.Second)
	if got := h.Quantile(1); got != 0 {
		t.Errorf("a negative duration counts as %v", got)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.ReportAllocs()
	var h Histogram
	v := time.Duration(rand.Int64N(1 << 20))
	for b.Loop() {
		h.Record(v)
	}
}
