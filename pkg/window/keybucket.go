package window

import "time"

// KeyBucket keeps one TokenBucket for each of many keys, in bounded memory and without ever
// forgetting a token that is missing. A key's entry is given to another key only when its bucket is
// full again; from that moment, at the rate of the last charge, it counts as full.
//
// A key that finds no room is not tracked: Result.Untracked is set, and the answer is that of the
// table's Overflow. With OverflowSketch such keys are held to a window: no real interval admits more
// than r.Limit of one of them, without burst. A key that finds room later starts from a bucket that
// misses what the window counts.
//
// Count and burst may differ from call to call, as in a TokenBucket; Interval*Denominator is that of
// the configuration.
//
// now is in nanoseconds since the Unix epoch and not negative; a caller whose clock lies behind
// finds no refill, and one whose key has no entry is served as if it came when the table last judged
// one expired, or its sketch was last charged. No method allocates, except where TryAcquire or
// Maintain resizes a shard, and where the first key of many finds no room. A KeyBucket is safe for
// concurrent use; make it with NewKeyBucket, the zero value is not usable.
type KeyBucket struct {
	table
	over slotSketch
}

// KeyBucketPermit is what a TryAcquire of a KeyBucket took: the proof that a Refund needs. The zero
// value is of a refusal or of a key that was not counted, and refunds nothing. A permit is refunded
// at most once.
type KeyBucketPermit struct {
	key      Key
	permit   BucketPermit
	slot     uint64 // of the sketch
	sketched bool
}

// Peek answers what TryAcquire would answer, and takes nothing. A key without an entry is answered
// as untracked unless it would find room.
func (t *KeyBucket) Peek(now int64, k Key, n int64, r Rate, burst int64) Result {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	var h history
	s, at, slot := t.find(sh, now, k, r, &h)
	res := s.peek(at, n, r, burst)
	if slot >= 0 || !res.OK && t.never(n, r, burst) || t.hasRoom(sh, t.own(now), k) {
		return res
	}
	return t.untracked(res, h.answer(n, r.Limit()))
}

// TryAcquire takes n of k's tokens if there are as many, and says so; else it changes nothing. n
// below 1 is refused, as is n above r.Limit + burst; neither takes an entry.
func (t *KeyBucket) TryAcquire(now int64, k Key, n int64, r Rate, burst int64) (KeyBucketPermit, Result) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	var h history
	before, at, slot := t.find(sh, now, k, r, &h)
	after, p, res := before.acquire(at, n, r, burst)
	if !res.OK {
		if slot < 0 && !t.never(n, r, burst) && !t.hasRoom(sh, t.own(now), k) {
			t.overflows.Add(1)
			res.Untracked = true
		}
		return KeyBucketPermit{}, res
	}
	s, ok := sh.store.Load(), true
	if slot < 0 {
		s, slot, ok = t.renew(sh, t.own(now), k)
	}
	if ok {
		saveBucket(s, slot, after)
		_, state := s.slot(slot)
		state.Store(after.neutral(r))
		return KeyBucketPermit{key: k, permit: p}, res
	}
	t.overflows.Add(1)
	if t.overflow != OverflowSketch {
		return KeyBucketPermit{}, t.untracked(res, res)
	}
	charged, res := t.over.charge(k, uint64(at), n, r.Limit())
	res.Untracked = true
	if !res.OK {
		return KeyBucketPermit{}, res
	}
	return KeyBucketPermit{key: k, permit: BucketPermit{n: n}, slot: charged, sketched: true}, res
}

// Refund gives back what TryAcquire took, unless there has been a refill since: that may have given
// it back already. What was counted in the sketch is given back there: if the key has got an entry
// since, that still misses it.
func (t *KeyBucket) Refund(now int64, p KeyBucketPermit) {
	if p.key == 0 {
		return
	}
	if p.sketched {
		t.over.refund(p.key, t.seq(t.own(now)), p.slot, p.permit.n)
		return
	}
	sh, _ := t.locate(p.key)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	if slot := s.find(p.key); slot >= 0 {
		saveBucket(s, slot, loadBucket(s, slot).refund(p.permit))
	}
}

// Release gives k n tokens back, whoever took them, and no more than are taken. For a key without an
// entry it does nothing.
func (t *KeyBucket) Release(now int64, k Key, n int64) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	if slot, live := t.entry(s, t.own(now), k); live {
		saveBucket(s, slot, loadBucket(s, slot).release(n))
	}
}

// Until returns how long after now a call of n would pass if nobody else came; 0 if it passes now.
// It returns false if it never does, or not within 36 years, and if it cannot be known because the
// table has no room for k.
func (t *KeyBucket) Until(now int64, k Key, n int64, r Rate, burst int64) (time.Duration, bool) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	var h history
	s, _, slot := t.find(sh, now, k, r, &h)
	if slot >= 0 {
		return s.until(now, n, r, burst)
	}
	if t.never(n, r, burst) {
		return 0, false
	}
	if t.overflow != OverflowAllow && !t.hasRoom(sh, t.own(now), k) {
		if t.overflow == OverflowBlock || n > r.Limit() {
			return 0, false
		}
		return h.until(now, n, r.Limit(), int64(t.over.width)), true
	}
	// Until it gets an entry, the key's bucket misses what the sketch counts, no less.
	f, _ := r.fill()
	return h.until(now, n, f.capacity(burst), int64(t.over.width)), true
}

// Reset returns how long after now a call would next find more tokens than now; 0 if k's bucket is
// full, or if that takes more than 36 years.
func (t *KeyBucket) Reset(now int64, k Key, r Rate) time.Duration {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	var h history
	s, _, slot := t.find(sh, now, k, r, &h)
	if slot < 0 {
		return h.reset(now, int64(t.over.width))
	}
	return s.reset(now, r)
}
