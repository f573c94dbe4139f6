package admin

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The bounds of the paper hold against counting everything, whatever comes: no count is too small, none is too large by
// more than its error, no error is above n/m, and no value above n/m is missing.
func TestSpaceSavingKeepsItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 20).Draw(t, "counters")
		s := newSpaceSaving(m)
		counts := make(map[uint64]int64)
		n := int64(0)
		hashes := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 200))
		for range rapid.IntRange(0, 500).Draw(t, "length") {
			hash, weight := hashes.Draw(t, "value"), rapid.SampledFrom([]int64{1, 1, 1, 2, 64}).Draw(t, "weight")
			s.add(hash, seen{text: fmt.Sprint(hash)}, weight)
			counts[hash] += weight
			n += weight
		}
		if s.total != n || len(s.byHash) != min(m, len(counts)) || len(s.byHash) != len(s.smallest) {
			t.Fatalf("total %d of %d, %d values of %d in %d counters", s.total, n, len(s.byHash), len(counts), m)
		}
		sum := int64(0)
		for hash, c := range s.byHash {
			if c.hash != hash || c.value.text != fmt.Sprint(hash) {
				t.Fatalf("%d is counted as %+v", hash, c)
			}
			if c.count < counts[hash] || c.count-c.over > counts[hash] {
				t.Fatalf("%d: count %d, of others %d, true %d", hash, c.count, c.over, counts[hash])
			}
			if c.over*int64(m) > n {
				t.Fatalf("%d: error %d above %d/%d", hash, c.over, n, m)
			}
			sum += c.count
		}
		if sum != n {
			t.Fatalf("the counts sum up to %d, not %d", sum, n)
		}
		for hash, count := range counts {
			if s.byHash[hash] == nil && (count*int64(m) > n || count > s.floor()) {
				t.Fatalf("%d is missing: true %d of %d in %d counters, floor %d", hash, count, n, m, s.floor())
			}
		}
	})
}

// Two halves bound a count as one does.
func TestTopOfTwoHalvesKeepsTheBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		counts := make(map[string]int64)
		l := look{}
		for i := range l.halves {
			l.halves[i] = newSpaceSaving(rapid.IntRange(1, 6).Draw(t, "counters"))
			for range rapid.IntRange(0, 60).Draw(t, "length") {
				hash := rapid.Uint64Range(0, 12).Draw(t, "value")
				l.halves[i].add(hash, seen{text: fmt.Sprint(hash)}, 1)
				counts[fmt.Sprint(hash)]++
			}
		}
		values, observed := l.top(100)
		n := int64(0)
		for _, count := range counts {
			n += count
		}
		if observed != n {
			t.Fatalf("%d observed, want %d", observed, n)
		}
		for i, v := range values {
			if v.count < counts[v.text] || v.count-v.over > counts[v.text] {
				t.Fatalf("%s: count %d, of others %d, true %d", v.text, v.count, v.over, counts[v.text])
			}
			if i > 0 && v.count-v.over > values[i-1].count-values[i-1].over {
				t.Fatal("they are not in order")
			}
		}
	})
}
