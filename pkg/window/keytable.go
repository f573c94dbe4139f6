package window

import (
	"hash/maphash"
	"sync/atomic"
)

// Key is the hash of a value, by which a KeyTable knows it; the value itself is not kept. Keys come
// from Hash and MissingKey. The zero Key acts as MissingKey.
type Key uint64

// missingKey is the key that Hash never returns. Its bits are spread, so that it has two groups in
// a shard like any other.
const missingKey Key = 0x9e3779b97f4a7c15

// KeyTable keeps one sliding window for each of many keys, in bounded memory and without ever
// forgetting a charge that still counts. Its slots are those of a LeapArray: they start at
// multiples of interval/sampleCount since the Unix epoch, and of each key every sampleCount
// consecutive ones (one more in Strict) admit at most the limit, exactly, under any concurrency.
//
// The table has one clock for all keys: the newest slot that any key was charged in, or that
// Maintain was told of. A caller whose now lies behind it, because it was delayed or its clock went
// back, is served as if it came in that slot. So an entry that was judged expired, and dropped,
// cannot come back and count less than it did.
//
// A key takes an entry with its first charge. The entry is given to another key only when all its
// slots have left, so that forgetting it changes no verdict. A key that finds no room is not
// tracked: Result.Untracked is set, and the answer is the table's Overflow.
//
// now is in nanoseconds since the Unix epoch and not negative, n counts hits, a limit may differ
// from call to call. No method allocates, except where TryAcquire or Maintain resizes a shard. In
// LayoutWord, calls on keys that have an entry take no lock. A KeyTable is safe for concurrent
// use; make it with NewKeyTable, the zero value is not usable.
type KeyTable struct {
	// Never written after NewKeyTable.
	seed     maphash.Seed
	width    int64 // nanoseconds of a slot
	form     form  // what a state means
	overflow Overflow
	shift    uint8 // of a key, to the number of its shard
	start    int   // groups of a new shard
	most     int   // groups of a shard at full size
	shards   []shard
	budget   *KeyBudget // shared with other tables; may be nil
	_        [cacheLine]byte

	// latest is the table's clock. It is written before whatever depends on it: before a state gets
	// its number as tag, and before an entry that has expired by it is dropped. Whoever loads latest
	// after a state therefore sees a number no smaller than the state's tag.
	latest atomic.Uint64
	_      [cacheLine - 8]byte

	keys      KeyBudget // the table's own bound
	overflows atomic.Int64
}

// KeyPermit is what a TryAcquire charged: the proof that a Refund needs. The zero value is of a
// refusal or of an untracked key, and refunds nothing. A permit is refunded at most once.
type KeyPermit struct {
	key Key
	seq uint64 // slot that was charged
	n   int64
}

// Hash returns the key of a value: all of it, whatever its length and bytes. Without the table's
// seed nobody can choose values whose keys collide.
func (t *KeyTable) Hash(value string) Key { return keyOf(maphash.String(t.seed, value)) }

// keyOf keeps hashes off the two keys that mean something else.
func keyOf(hash uint64) Key {
	if k := Key(hash); k != 0 && k != missingKey {
		return k
	}
	return Key(hash ^ 1<<32)
}

// MissingKey returns the key of requests that have no value: no string hashes to it.
func (t *KeyTable) MissingKey() Key { return missingKey }

// Peek answers what TryAcquire would answer, and writes nothing. A key without an entry is answered
// as an empty window if it would find room, else as untracked. Between the two answers other
// callers may take the room; and where the table is so small that a resized shard may still lack
// room for the key, TryAcquire may find none where Peek saw some.
func (t *KeyTable) Peek(now int64, k Key, n, limit int64) Result {
	sh, k := t.locate(k)
	if t.form.layout == LayoutWide {
		return t.peekWide(sh, t.own(now), k, n, limit)
	}
	return t.peekWord(sh, t.own(now), k, n, min(limit, maxWordLimit))
}

// TryAcquire charges n hits to k if its window then holds at most limit, and says so; else it
// writes nothing. n below 1 is refused, as is n above limit, and neither takes an entry. A limit
// above MaxLimit acts as MaxLimit (2^24-1 in LayoutWord), one below 0 as 0.
func (t *KeyTable) TryAcquire(now int64, k Key, n, limit int64) (KeyPermit, Result) {
	sh, k := t.locate(k)
	if t.form.layout == LayoutWide {
		return t.acquireWide(sh, t.own(now), k, n, limit)
	}
	return t.acquireWord(sh, t.own(now), k, n, min(limit, maxWordLimit))
}

// Refund gives back what TryAcquire charged, if its slot still counts; less, if a Release has
// taken from it.
func (t *KeyTable) Refund(now int64, p KeyPermit) {
	if p.n == 0 {
		return
	}
	sh, _ := t.locate(p.key)
	if t.form.layout == LayoutWide {
		t.refundWide(sh, t.own(now), p)
		return
	}
	t.refundWord(sh, t.own(now), p)
}

// Release takes n hits out of k's window, whoever charged them, from the newest slot backwards, and
// no more than is there. For a key without an entry it does nothing.
func (t *KeyTable) Release(now int64, k Key, n int64) {
	if n < 1 {
		return
	}
	sh, k := t.locate(k)
	if t.form.layout == LayoutWide {
		t.releaseWide(sh, t.own(now), k, n)
		return
	}
	t.releaseWord(sh, t.own(now), k, n)
}

// locate returns the shard that k may be in. Key 0 marks the slots without an entry.
func (t *KeyTable) locate(k Key) (*shard, Key) {
	if k == 0 {
		k = missingKey
	}
	return &t.shards[k>>t.shift], k
}

// own is the number of the slot that now lies in.
func (t *KeyTable) own(now int64) uint64 { return uint64(max(now, 0) / t.width) }

// seq returns the slot that a call of the slot own is served in. It is asked after the state that
// it is compared with has been loaded, so that it is no smaller than that state's tag: ages are
// never negative, whatever callers do meanwhile.
func (t *KeyTable) seq(own uint64) uint64 {
	step(&t.latest)
	return max(own, t.latest.Load())
}

// advance moves the table's clock to seq, unless it is there.
func (t *KeyTable) advance(seq uint64) {
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

// peekAbsent answers for a key that has no entry.
func (t *KeyTable) peekAbsent(sh *shard, own uint64, k Key, n, limit int64) Result {
	r := answer(0, n, limit)
	if r.OK && !t.hasRoom(sh, own, k) {
		return t.untracked(limit)
	}
	return r
}

// untracked is the verdict on a key that found no room, and the place where what such keys did is
// remembered and asked, if the policy wants more than one answer for all of them. Everything that
// passes for a key without an entry comes through here, Peek included.
func (t *KeyTable) untracked(limit int64) Result {
	if t.overflow == OverflowAllow {
		return Result{OK: true, Remaining: max(limit, 0), Untracked: true}
	}
	return Result{Untracked: true}
}
