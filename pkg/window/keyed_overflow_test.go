package window

import (
	"testing"
	"time"
)

// sixteen is a table of one shard with 16 slots that cannot grow.
var sixteen = tableSize{1, 2, 2}

// fullKeyed returns a table in which 16 keys have an entry, and one that finds no room.
func fullKeyed(t testing.TB, kind keyedKind, o Overflow) (keyed, *table, keyedBudget, Key) {
	t.Helper()
	k, table, call := kind.table(t, keyedConfig{overflow: o, size: sixteen})
	for i := range 16 {
		if ok, untracked := call.acquire(epoch, testKey(i)); !ok || untracked {
			t.Fatalf("key %d of 16: %v, untracked %v", i, ok, untracked)
		}
	}
	return k, table, call, testKey(16)
}

// TestKeyedOverflow looks at what a key without room gets under each policy, and when room is free
// again.
func TestKeyedOverflow(t *testing.T) {
	t.Parallel()
	for _, kind := range keyedKinds() {
		for overflow, passes := range map[Overflow]int{OverflowSketch: kind.sketched, OverflowBlock: 0, OverflowAllow: 20} {
			k, table, call, key := fullKeyed(t, kind, overflow)
			empty := k.Stats()
			for i := range 20 {
				want := i < passes
				if ok, untracked := call.peek(epoch, key); ok != want || !untracked {
					t.Errorf("%s, %d: peek %d = %v, untracked %v", kind.name, overflow, i, ok, untracked)
				}
				if want {
					call.cancel(epoch, key)
				}
				if ok, untracked := call.acquire(epoch, key); ok != want || !untracked {
					t.Errorf("%s, %d: acquire %d = %v, untracked %v", kind.name, overflow, i, ok, untracked)
				}
			}
			s := k.Stats()
			if want := int64(20 + passes); s.Overflows != want {
				t.Errorf("%s, %d: %d overflows, want %d", kind.name, overflow, s.Overflows, want)
			}
			grown := s.Bytes - empty.Bytes
			if sketch := s.MaxBytes - empty.Bytes; (overflow == OverflowSketch) != (grown > 0) || grown != sketch {
				t.Errorf("%s, %d: %d bytes more, want those of the sketch, %d", kind.name, overflow, grown, sketch)
			}
			// Nobody who has an entry lost anything by it.
			for i := range 16 {
				for j := 1; j < kind.limit; j++ {
					if ok, untracked := call.acquire(epoch, testKey(i)); !ok || untracked {
						t.Errorf("%s, %d: hit %d of key %d: %v, untracked %v", kind.name, overflow, j+1, i, ok, untracked)
					}
				}
				if ok, _ := call.acquire(epoch, testKey(i)); ok {
					t.Errorf("%s, %d: key %d was admitted above its limit", kind.name, overflow, i)
				}
			}
			later := epoch + int64(4*time.Minute)
			k.Maintain(later)
			if s := k.Stats(); s.Keys != 0 || s.Bytes > empty.Bytes {
				t.Errorf("%s, %d: after Maintain %+v", kind.name, overflow, s)
			}
			if ok, untracked := call.acquire(later, key); !ok || untracked {
				t.Errorf("%s, %d: with room: %v, untracked %v", kind.name, overflow, ok, untracked)
			}
			checkTable(t, table)
		}
	}
}

// TestKeyedPromotion: a key that was charged without room starts from that when it finds room, and a
// key that finds room first after others were charged without does not.
func TestKeyedPromotion(t *testing.T) {
	t.Parallel()
	for _, kind := range keyedKinds() {
		_, table, call, key := fullKeyed(t, kind, OverflowSketch)
		late := epoch + int64(50*time.Second)
		for range 10 {
			call.acquire(late, key)
		}
		free := epoch + int64(61*time.Second)
		for name, test := range map[string]struct {
			key  Key
			want int
		}{"charged before": {key, kind.limit - kind.sketched}, "new": {testKey(17), kind.limit}} {
			got := 0
			for range 10 {
				peek, _ := call.peek(free, test.key)
				ok, untracked := call.acquire(free, test.key)
				if ok {
					got++
				}
				if untracked || ok != peek {
					t.Errorf("%s, %s: %v, untracked %v, after peek %v", kind.name, name, ok, untracked, peek)
				}
			}
			if got != test.want {
				t.Errorf("%s, %s: %d admitted when there is room, want %d", kind.name, name, got, test.want)
			}
		}
		checkTable(t, table)
	}
}

// TestKeyedBudget: tables of all kinds share a bound of their keys, and give back what they took.
func TestKeyedBudget(t *testing.T) {
	t.Parallel()
	for _, kind := range keyedKinds() {
		k, table, call := kind.table(t, keyedConfig{maxKeys: 3, size: sixteen})
		tracked := 0
		for i := range 9 {
			if _, untracked := call.acquire(epoch, testKey(i)); !untracked {
				tracked++
			}
		}
		if s := k.Stats(); tracked != 3 || s.Keys != 3 {
			t.Errorf("%s: %d keys, %+v, want 3", kind.name, tracked, s)
		}
		k.Maintain(epoch + int64(4*time.Minute))
		k.Close()
		if k.Stats().Keys != 0 {
			t.Errorf("%s: %+v", kind.name, k.Stats())
		}
		checkTable(t, table)
	}
}

func TestKeyedAllocatesNothing(t *testing.T) {
	for _, kind := range keyedKinds() {
		k, table, call, key := fullKeyed(t, kind, OverflowSketch)
		call.acquire(epoch, key) // which allocates the sketch
		now := epoch
		value := "a value of some length, longer than what fits in a few words"
		if got := testing.AllocsPerRun(1000, func() {
			now += int64(7 * time.Millisecond)
			call.acquire(now, k.Hash(value))
			for i := range 20 {
				call.peek(now, testKey(i))
				call.acquire(now, testKey(i))
				call.cancel(now, testKey(i))
			}
			k.Maintain(now)
			k.Stats()
		}); got != 0 {
			t.Errorf("%s: %v allocations, want 0", kind.name, got)
		}
		if k.Stats().Overflows < 1000 {
			t.Errorf("%s: %+v: there was room", kind.name, k.Stats())
		}
		checkTable(t, table)
	}
}
