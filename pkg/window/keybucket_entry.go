package window

import "time"

// find returns k's bucket, and the time at which a call at now is served. slot is -1 if k has no
// entry that is live: then the bucket misses, as of that time, what the sketch counts, which h is
// filled with. The lock of the shard is held.
func (t *KeyBucket) find(sh *shard, now int64, k Key, r Rate, h *history) (state bucketState, at int64, slot int) {
	s := sh.store.Load()
	slot, live := t.entry(s, t.own(now), k)
	if live {
		return loadBucket(s, slot), now, slot
	}
	at = int64(t.seq(t.own(now)))
	if slot < 0 && t.overflow == OverflowSketch {
		at = int64(t.over.look(k, uint64(at), h))
		if h.total != 0 {
			state = missing(min(h.total, MaxLimit), at, r)
		}
	}
	return state, at, -1
}

// never says whether n is refused by a full bucket.
func (t *KeyBucket) never(n int64, r Rate, burst int64) bool {
	return !(bucketState{}).peek(0, n, r, burst).OK
}

// untracked is the verdict on a key that finds no room, where with room it would be res, and the
// sketch says sketched.
func (t *KeyBucket) untracked(res, sketched Result) Result {
	switch t.overflow {
	case OverflowBlock:
		res = Result{}
	case OverflowSketch:
		res = sketched
	}
	res.Untracked = true
	return res
}

// missing is a bucket that was refilled now and misses n tokens.
func missing(n, now int64, r Rate) bucketState {
	f, ok := r.fill()
	if !ok {
		return bucketState{}
	}
	return bucketState{stamp: millis(now), taken: uint64(n) * f.den, of: uint32(f.den)}
}

// neutral is the tick from which on, at the rate, the bucket is full again whatever its burst.
func (s bucketState) neutral(r Rate) uint64 {
	f, _ := r.fill()
	const age = int64(maxInterval / time.Millisecond)
	return uint64(s.stamp+min(f.wait(s.taken), age)) * uint64(time.Millisecond)
}

func loadBucket(s *store, slot int) bucketState {
	w := s.sideOf(slot)
	return bucketState{stamp: int64(word64(w)), taken: word64(w[2:]), of: w[4]}
}

func saveBucket(s *store, slot int, b bucketState) {
	w := s.sideOf(slot)
	putWord64(w, uint64(b.stamp))
	putWord64(w[2:], b.taken)
	w[4] = b.of
}
