package window

import (
	"math"
	"strconv"
	"testing"
)

// TestKeyedHashFlooding: values that all fall into the same two groups under one seed, as nobody can
// choose them who does not know it, fall into all groups alike under another.
func TestKeyedHashFlooding(t *testing.T) {
	t.Parallel()
	const values, groups = 10_000 / min(scale, 5), 8
	for _, kind := range keyedKinds() {
		known, table, call := kind.table(t, keyedConfig{size: tableSize{1, groups, groups}})
		other, spread, otherCall := kind.table(t, keyedConfig{size: tableSize{1, 2048, 2048}})
		sameSize, same, _ := kind.table(t, keyedConfig{size: tableSize{1, groups, groups}})
		table.shards[0].resize(groups, table.form)
		same.shards[0].resize(groups, same.form)
		if known.Hash("a") == other.Hash("a") || table.sketch.salt == spread.sketch.salt {
			t.Fatalf("%s: two tables share a seed", kind.name)
		}
		chosen := make([]string, 0, values)
		value := []byte("v")
		for i := int64(0); len(chosen) < values; i++ {
			value = strconv.AppendInt(value[:1], i, 36)
			if a, b := table.shards[0].store.Load().choices(known.Hash(string(value))); a == 3 && b == 5 {
				chosen = append(chosen, string(value))
			}
		}
		at, cells := [groups]int{}, map[int]int{}
		for _, v := range chosen {
			call.acquire(epoch, known.Hash(v))
			otherCall.acquire(epoch, other.Hash(v))
			a, b := same.shards[0].store.Load().choices(sameSize.Hash(v))
			at[a]++
			at[b]++
			cells[same.sketch.places(sameSize.Hash(v))[0]]++
		}
		if s := known.Stats(); s.Keys != 2*groupSlots {
			t.Errorf("%s: %+v, want %d keys: the values were chosen badly", kind.name, s, 2*groupSlots)
		}
		if s := other.Stats(); s.Keys != values || s.Overflows != 0 {
			t.Errorf("%s: under another seed %+v, want %d keys", kind.name, s, values)
		}
		for i, n := range at {
			if !likely(n, values, 2./groups) {
				t.Errorf("%s: %d of %d values in group %d", kind.name, n, values, i)
			}
		}
		for i, n := range cells {
			if !likely(n, values, 1./leastColumns) {
				t.Errorf("%s: %d of %d values in cell %d of the sketch", kind.name, n, values, i)
			}
		}
	}
}

// likely says whether n of so many is within six deviations of what probability p makes it.
func likely(n, of int, p float64) bool {
	return math.Abs(float64(n)-float64(of)*p) <= 6*math.Sqrt(float64(of)*p*(1-p))
}

// TestKeyedSeed: a table hashes with a seed of its own unless it is given one, and a value that is
// there is never the one that is missing.
func TestKeyedSeed(t *testing.T) {
	t.Parallel()
	seen := map[Key]bool{}
	for _, kind := range keyedKinds() {
		for range 20 {
			k, _, _ := kind.table(t, keyedConfig{size: sixteen})
			if seen[k.Hash("value")] || k.Hash("") == k.MissingKey() {
				t.Fatalf("%s: hashes repeat", kind.name)
			}
			seen[k.Hash("value")] = true
		}
	}
}
