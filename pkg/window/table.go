package window

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// Key is the hash of a value, by which a keyed table knows it; the value itself is not kept. Keys
// come from the Hash and MissingKey of the table that they are used with. The zero Key acts as
// MissingKey.
type Key uint64

// missingKey is the key that Hash never returns. Its bits are spread, so that it has two groups in
// a shard like any other.
const missingKey Key = 0x9e3779b97f4a7c15

// table is what the keyed tables have in common: it finds, makes, moves and drops the entries of
// keys, within bounds of number and memory. Of an entry's state it knows only whether it has
// expired, which is to say that forgetting it changes no verdict, and how much memory it takes; the
// rest is known to the tables that are built on it.
//
// A key takes an entry with its first charge. The entry is given to another key only when its state
// has expired. A key that finds no room is not tracked: the answer is that of the Overflow.
//
// A table has one clock for all keys, in ticks. An entry is dropped only when the clock has reached
// the tick by which it was judged expired, and a caller whose now lies behind the clock finds no
// key in a state that the clock has seen expire: what has been dropped cannot come back and count
// less than it did.
type table struct {
	// Never written after init.
	seed     maphash.Seed
	width    int64 // nanoseconds of a tick
	form     form  // what a state means
	overflow Overflow
	shift    uint8 // of a key, to the number of its shard
	start    int   // groups of a shard with its first entry
	most     int   // groups of a shard at full size
	fixed    int64 // bytes without the groups and the sketch
	shards   []shard
	blank    *store     // of every shard without an entry
	budget   *KeyBudget // shared with other tables; may be nil
	sketch   *sketch    // of keys that found no room; nil unless that is the overflow
	_        [cacheLine]byte

	// latest is the table's clock. It is written before whatever depends on it: before a state gets
	// its number as tag, and before an entry that has expired by it is dropped. Whoever loads latest
	// after a state therefore sees a number no smaller than the state's tag.
	latest atomic.Uint64
	_      [cacheLine - 8]byte

	keys      KeyBudget // the table's own bound
	overflows atomic.Int64
}

// Hash returns the key of a value: all of it, whatever its length and bytes. Without the table's
// seed nobody can choose values whose keys collide.
func (t *table) Hash(value string) Key { return keyOf(maphash.String(t.seed, value)) }

// HashPair returns the key of two values that stand together, in this order. Each is hashed by itself, so that
// none can reach into the other.
func (t *table) HashPair(a, b string) Key {
	return keyOf(bits.RotateLeft64(maphash.String(t.seed, a), 32) ^ maphash.String(t.seed, b))
}

// keyOf keeps hashes off the two keys that mean something else.
func keyOf(hash uint64) Key {
	if k := Key(hash); k != 0 && k != missingKey {
		return k
	}
	return Key(hash ^ 1<<32)
}

// MissingKey returns the key of requests that have no value: no string hashes to it.
func (t *table) MissingKey() Key { return missingKey }

// locate returns the shard that k may be in. Key 0 marks the slots without an entry.
func (t *table) locate(k Key) (*shard, Key) {
	if k == 0 {
		k = missingKey
	}
	return &t.shards[k>>t.shift], k
}

// own is the tick that now lies in.
func (t *table) own(now int64) uint64 { return uint64(max(now, 0) / t.width) }

// seq returns the tick that a call of the tick own is served in. It is asked after the state that
// it is compared with has been loaded, so that it is no smaller than that state's tag: ages are
// never negative, whatever callers do meanwhile.
func (t *table) seq(own uint64) uint64 {
	step(&t.latest)
	return max(own, t.latest.Load())
}

// advance moves the table's clock to seq, unless it is there.
func (t *table) advance(seq uint64) {
	for {
		step(&t.latest)
		latest := t.latest.Load()
		if seq <= latest {
			return
		}
		step(&t.latest)
		if t.latest.CompareAndSwap(latest, seq) {
			return
		}
	}
}
