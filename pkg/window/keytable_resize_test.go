package window

import "testing"

// TestKeyTableResize grows every shard to the end and shrinks it again, with each key's counts
// intact.
func TestKeyTableResize(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.MaxKeys, c.Overflow = 3*4096, OverflowBlock
			k, err := NewKeyTable(epoch, c)
			if err != nil {
				t.Fatal(err)
			}
			fresh := k.Stats()
			if fresh.Slots != 0 || fresh.Keys != 0 {
				t.Errorf("a new table has %+v", fresh)
			}
			key := func(i int) Key { return testKey(i) }
			lost := 0
			for i := range c.MaxKeys {
				now := epoch + int64(i%2)*int64(c.Interval)/2
				if _, r := k.TryAcquire(now, key(i), int64(1+i%3), 5); r.Untracked {
					lost++
				}
			}
			if lost > c.MaxKeys/1000 {
				t.Errorf("%d of MaxKeys keys found no room, want at most 0.1%%", lost)
			}
			full := k.Stats()
			if full.Bytes != full.MaxBytes || full.MaxBytes != c.MaxBytes() || full.Slots < int64(c.MaxKeys)*4/3 {
				t.Errorf("full: %+v, want MaxBytes %d", full, c.MaxBytes())
			}
			checkTable(t, &k.table)
			now := epoch + int64(c.Interval)/2
			for i := range c.MaxKeys {
				if r := k.Peek(now, key(i), 1, 5); !r.Untracked && r.Remaining != int64(4-i%3) {
					t.Fatalf("key %d has %d left, want %d", i, r.Remaining, 4-i%3)
				}
			}
			// Half of a second later the keys that were late in the first slot are alone.
			for i := range 100 {
				k.TryAcquire(now+int64(c.Interval)/2, key(i), 1, 5)
			}
			k.Maintain(now + int64(c.Interval))
			checkTable(t, &k.table)
			if s := k.Stats(); s.Keys != 100 || s.Slots > 2*startSlots || s.Bytes > full.Bytes/4 {
				t.Errorf("after Maintain: %+v", s)
			}
			for i := range 100 {
				if r := k.Peek(now+int64(c.Interval), key(i), 1, 5); r.Remaining != 4 {
					t.Errorf("key %d has %d left, want 4", i, r.Remaining)
				}
			}
			k.Maintain(now + 2*int64(c.Interval))
			if s := k.Stats(); s.Keys != 0 || s.Bytes != fresh.Bytes {
				t.Errorf("after all has left: %+v, want %+v", s, fresh)
			}
		})
	}
}

// TestKeyTableResizeGivesUp makes keys that share both their groups at one size and not at another,
// so that they do not fit there: nothing is lost.
func TestKeyTableResizeGivesUp(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		k := shapedKeyTable(t, epoch, c, tableSize{1, 2, 4})
		sh := &k.shards[0]
		for i := range 16 {
			if _, r := k.TryAcquire(epoch, testKey(i), int64(1+i%3), 5); !r.OK || r.Untracked {
				t.Fatalf("%s: key %d: %+v", name, i, r)
			}
		}
		if sh.resize(1, k.form) {
			t.Fatalf("%s: 16 entries in 8 slots", name)
		}
		checkTable(t, &k.table)
		for i := range 16 {
			if r := k.Peek(epoch, testKey(i), 1, 5); r.Remaining != int64(4-i%3) {
				t.Errorf("%s: key %d has %d left, want %d", name, i, r.Remaining, 4-i%3)
			}
		}
	}
}

// TestStoreMakeRoom fills both groups of a key: an entry is moved that has room in its other one.
func TestStoreMakeRoom(t *testing.T) {
	t.Parallel()
	f := form{side: 3}
	s := newStore(3, f)
	k := testKey(0)
	a, b := s.choices(k)
	held := map[Key]uint32{}
	for i := 1; s.empty(k) >= 0 || len(held) < 16; i++ {
		// Fifteen entries that can be nowhere else, and as the last one that can.
		other := testKey(i)
		x, y := s.choices(other)
		if inside := x+y == a+b; inside != (len(held) < 15) {
			continue
		}
		slot := s.empty(k)
		if len(held) == 15 && slot/groupSlots != x && slot/groupSlots != y {
			continue
		}
		key, state := s.slot(slot)
		key.Store(uint64(other))
		state.Store(uint64(i))
		s.sideOf(slot)[2] = uint32(i)
		held[other] = uint32(i)
	}
	slot := s.makeRoom(k)
	if slot/groupSlots != a && slot/groupSlots != b {
		t.Fatalf("makeRoom = %d, want a slot of groups %d and %d", slot, a, b)
	}
	if key, state := s.slot(slot); key.Load() != 0 || state.Load() != vacant {
		t.Errorf("slot %d has key %#x and state %#x", slot, key.Load(), state.Load())
	}
	for key, i := range held {
		at := s.find(key)
		if at < 0 {
			t.Fatalf("key %#x is lost", key)
		}
		if _, state := s.slot(at); state.Load() != uint64(i) || s.sideOf(at)[2] != i {
			t.Errorf("key %#x has state %d and counts %v, want %d", key, state.Load(), s.sideOf(at), i)
		}
	}
}
