package window

import (
	"hash/maphash"

	"pgregory.net/rapid"
)

// testKey is the i-th of a fixed series of keys, spread like hashes.
func testKey(i int) Key {
	x := uint64(i+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return Key(x ^ x>>31)
}

// drawSize draws a table of one or two shards that has 8 or 16 slots at first.
func drawSize(t *rapid.T) tableSize {
	return rapid.SampledFrom([]tableSize{{1, 2, 2}, {1, 1, 1}, {1, 1, 7}, {1, 2, 8}, {2, 1, 3}}).Draw(t, "size")
}

// drawResize resizes a shard for no reason, up or down.
func drawResize(t *rapid.T, k *table) {
	sh := &k.shards[rapid.IntRange(0, len(k.shards)-1).Draw(t, "shard")]
	sh.resize(rapid.IntRange(k.start, k.most).Draw(t, "groups"), k.form)
}

// drawSketch draws whether keys without room share cells. If not, what a sketch knows is exact.
func drawSketch(t *rapid.T, s *sketch, cell int) (shared bool) {
	shared = rapid.Bool().Draw(t, "shared")
	s.init(8<<12, cell, maphash.MakeSeed())
	if shared {
		s.init(8, cell, maphash.MakeSeed())
		s.columns = 2
	}
	s.salt = 7 // for the test to be the same each time
	return shared
}

// hasEntry says whether k has an entry, though it may have expired.
func (t *table) hasEntry(k Key) bool {
	sh, k := t.locate(k)
	return sh.store.Load().find(k) >= 0
}

// isLive says whether k has an entry that has not expired.
func (t *table) isLive(now int64, k Key) bool {
	sh, k := t.locate(k)
	_, live := t.entry(sh.store.Load(), t.own(now), k)
	return live
}

// served returns the time at which a call on k is served, in a table whose ticks are nanoseconds.
func (t *table) served(now int64, k Key) int64 {
	if t.isLive(now, k) {
		return now
	}
	return max(now, int64(t.latest.Load()))
}

// checkTable holds a table at rest to its invariants.
func checkTable(t rapid.TB, k *table) {
	t.Helper()
	entries := int64(0)
	seen := map[uint64]bool{}
	for i := range k.shards {
		sh := &k.shards[i]
		s := sh.store.Load()
		mine := int64(0)
		for slot := range len(s.groups) * groupSlots {
			key, state := s.slot(slot)
			if (key.Load() == 0) != (state.Load() == vacant) {
				t.Fatalf("slot %d has key %#x and state %#x", slot, key.Load(), state.Load())
			}
			if key.Load() == 0 {
				continue
			}
			mine++
			if seen[key.Load()] {
				t.Fatalf("key %#x has two entries", key.Load())
			}
			seen[key.Load()] = true
			if s.find(Key(key.Load())) != slot {
				t.Fatalf("key %#x is not found in its slot", key.Load())
			}
			if k.form.packed && wordAge(state.Load(), k.latest.Load()) > 1<<15 {
				t.Fatalf("state %#x is ahead of the table's clock %d", state.Load(), k.latest.Load())
			}
		}
		if mine != sh.keys {
			t.Fatalf("shard %d counts %d entries, has %d", i, sh.keys, mine)
		}
		entries += mine
	}
	st := k.Stats()
	if st.Keys != entries || st.Bytes > st.MaxBytes {
		t.Fatalf("%+v, have %d entries", st, entries)
	}
}
