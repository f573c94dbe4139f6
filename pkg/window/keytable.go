package window

import "time"

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
// tracked: Result.Untracked is set, and the answer is that of the table's Overflow. With
// OverflowSketch the bound holds for such keys too, and a key that finds room later starts from
// what it was charged before.
//
// now is in nanoseconds since the Unix epoch and not negative, n counts hits, a limit may differ
// from call to call. No method allocates, except where TryAcquire or Maintain resizes a shard, and
// where the first key of many finds no room. In LayoutWord, calls on keys that have an entry take no
// lock. A KeyTable is safe for concurrent use; make it with NewKeyTable, the zero value is not
// usable.
type KeyTable struct {
	table
	over slotSketch
}

// KeyPermit is what a TryAcquire charged: the proof that a Refund needs. The zero value is of a
// refusal or of a key that was not counted, and refunds nothing. A permit is refunded at most once.
type KeyPermit struct {
	key      Key
	seq      uint64 // slot that was charged
	n        int64
	sketched bool // in the sketch
}

// Peek answers what TryAcquire would answer, and writes nothing. A key without an entry is answered
// as untracked unless it would find room. Between the two answers other callers may take the room;
// and where the table is so small that a resized shard may still lack room for the key, TryAcquire
// may find none where Peek saw some.
func (t *KeyTable) Peek(now int64, k Key, n, limit int64) Result {
	sh, k := t.locate(k)
	if !t.form.packed {
		return t.peekWide(sh, t.own(now), k, n, limit)
	}
	return t.peekWord(sh, t.own(now), k, n, min(limit, maxWordLimit))
}

// TryAcquire charges n hits to k if its window then holds at most limit, and says so; else it
// writes nothing. n below 1 is refused, as is n above limit, and neither takes an entry. A limit
// above MaxLimit acts as MaxLimit (2^24-1 in LayoutWord), one below 0 as 0.
func (t *KeyTable) TryAcquire(now int64, k Key, n, limit int64) (KeyPermit, Result) {
	sh, k := t.locate(k)
	if !t.form.packed {
		return t.acquireWide(sh, t.own(now), k, n, limit)
	}
	return t.acquireWord(sh, t.own(now), k, n, min(limit, maxWordLimit))
}

// Refund gives back what TryAcquire charged, if its slot still counts; less, if a Release has
// taken from it. What was charged in the sketch is given back there: if the key has got an entry
// since, it stays charged in that until the slot leaves.
func (t *KeyTable) Refund(now int64, p KeyPermit) {
	if p.n == 0 {
		return
	}
	sh, _ := t.locate(p.key)
	switch {
	case p.sketched:
		t.over.refund(p.key, t.seq(t.own(now)), p.seq, p.n)
	case t.form.packed:
		t.refundWord(sh, t.own(now), p)
	default:
		t.refundWide(sh, t.own(now), p)
	}
}

// Release takes n hits out of k's window, whoever charged them, from the newest slot backwards, and
// no more than is there. For a key without an entry it does nothing: in a sketch nobody can tell
// how much of a count is the key's own.
func (t *KeyTable) Release(now int64, k Key, n int64) {
	if n < 1 {
		return
	}
	sh, k := t.locate(k)
	if !t.form.packed {
		t.releaseWide(sh, t.own(now), k, n)
		return
	}
	t.releaseWord(sh, t.own(now), k, n)
}

// Until returns how long it takes until TryAcquire would charge n hits to k if nobody else came: 0
// if it would now. It returns false if that never happens, and if it cannot be known because the
// table has no room for k and refuses such keys.
func (t *KeyTable) Until(now int64, k Key, n, limit int64) (time.Duration, bool) {
	limit = enforced(limit)
	if t.form.packed {
		limit = min(limit, maxWordLimit)
	}
	if n < 1 || n > limit {
		return 0, false
	}
	sh, k := t.locate(k)
	var h history
	if !t.look(sh, t.own(now), k, &h) && t.overflow == OverflowBlock {
		return 0, t.hasRoom(sh, t.own(now), k)
	}
	return h.until(now, n, limit, t.width), true
}

// Reset returns how long it takes until the oldest slot of k that holds a charge leaves; 0 if none
// does.
func (t *KeyTable) Reset(now int64, k Key) time.Duration {
	sh, k := t.locate(k)
	var h history
	t.look(sh, t.own(now), k, &h)
	return h.reset(now, t.width)
}

// look fills h with k's window as a call in the slot own finds it. It returns false if k has no
// entry: what the window then holds is what the sketch knows.
func (t *KeyTable) look(sh *shard, own uint64, k Key, h *history) bool {
	if !t.form.packed {
		if t.lookWide(sh, own, k, h) {
			return true
		}
	} else if t.lookWord(sh, own, k, h) {
		return true
	}
	t.estimate(own, k, h)
	return false
}

// estimate fills h with what is known of k, which has no entry.
func (t *KeyTable) estimate(own uint64, k Key, h *history) {
	if t.overflow != OverflowSketch {
		*h = history{seq: t.seq(own), live: t.form.live}
		return
	}
	t.over.look(k, t.seq(own), h)
}

// peekAbsent answers for a key that has no entry.
func (t *KeyTable) peekAbsent(sh *shard, own uint64, k Key, n, limit int64) Result {
	var h history
	t.estimate(own, k, &h)
	r := h.answer(n, limit)
	if neverFits(n, limit) || t.hasRoom(sh, own, k) {
		return r
	}
	return t.untracked(r, limit)
}

// neverFits says whether n is refused whatever a window holds.
func neverFits(n, limit int64) bool { return !answer(0, n, limit).OK }

// claimFor makes an entry for k, which has none, if then n hits fit, and fills h with what they are
// to be added to. The lock of the shard is held. ok is false if they do not or there is no room:
// then p and r are the whole answer.
func (t *KeyTable) claimFor(sh *shard, own uint64, k Key, n, limit int64, h *history) (s *store, slot int, p KeyPermit, r Result, ok bool) {
	t.estimate(own, k, h)
	r = h.answer(n, limit)
	if !r.OK {
		if !neverFits(n, limit) && !t.hasRoom(sh, own, k) {
			t.overflows.Add(1)
			r.Untracked = true
		}
		return nil, 0, KeyPermit{}, r, false
	}
	s, slot, seq, ok := t.claim(sh, own, k)
	if ok {
		r.Remaining -= n
		return s, slot, KeyPermit{key: k, seq: seq, n: n}, r, true
	}
	t.overflows.Add(1)
	if t.overflow != OverflowSketch {
		return nil, 0, KeyPermit{}, t.untracked(r, limit), false
	}
	seq = t.seq(own)
	t.advance(seq)
	charged, r := t.over.charge(k, seq, n, limit)
	r.Untracked = true
	if !r.OK {
		return nil, 0, KeyPermit{}, r, false
	}
	return nil, 0, KeyPermit{key: k, seq: charged, n: n, sketched: true}, r, false
}

// untracked is the verdict on a key that finds no room, if the sketch says r.
func (t *KeyTable) untracked(r Result, limit int64) Result {
	switch t.overflow {
	case OverflowAllow:
		r = Result{OK: true, Remaining: max(limit, 0)}
	case OverflowBlock:
		r = Result{}
	}
	r.Untracked = true
	return r
}
