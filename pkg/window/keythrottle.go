package window

import "time"

// KeyThrottle spaces the requests of each of many keys evenly: it is a Throttle for every key, in
// bounded memory and without ever forgetting a promise that still matters. A key's entry is given to
// another key only when a call of any size would find what it would find without it.
//
// A key that finds no room is told so beside its Wait: it is untracked. With OverflowSketch its
// promises are still spaced as the rate says, or wider; a key that finds room later follows its
// last promise. OverflowBlock refuses it, OverflowAllow lets it pass at once.
//
// Counts may differ from call to call, as in a Throttle; Interval and Denominator must not, or an
// entry may be forgotten that a slower rate would have minded.
//
// now is in nanoseconds since the Unix epoch and not negative; a caller whose clock lies behind
// waits the longer, and one whose key has no entry is served as if it came when the table last
// judged one expired. No method allocates, except where Acquire or Maintain resizes a shard, and
// where the first key of many finds no room. A KeyThrottle is safe for concurrent use; make it with
// NewKeyThrottle, the zero value is not usable.
type KeyThrottle struct {
	table
	over promiseSketch
}

// KeyPromise is what an Acquire took: the proof that a Refund needs. The zero value is of a refusal
// or of a key that was not counted, and refunds nothing. A promise is refunded at most once.
type KeyPromise struct {
	key      Key
	promise  Promise
	until    uint64 // tick from which on the state before the promise has expired
	sketched uint64 // number of the promise in the sketch; 0: it is in an entry
}

// Peek answers what the last of several Acquires would be answered that together ask for total
// hits, first of them in the first; for a single request both are its hits. It changes nothing.
// The key is untracked if it has no entry and would find no room for one.
func (t *KeyThrottle) Peek(now int64, k Key, first, total int64, r Rate, maxWait time.Duration, strict bool) (w Wait, untracked bool) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s, at, slot := t.find(sh, now, k)
	w = late(s.peek(at, first, total, r, maxWait, strict), now, at)
	if slot >= 0 || !w.OK && t.never(first, total, r, maxWait, strict) || t.hasRoom(sh, t.own(now), k) {
		return w, false
	}
	return t.untracked(w), true
}

// Acquire promises n hits of k a moment if it lies no more than maxWait after now, or, if strict,
// less than maxWait after; now itself is always allowed. Otherwise it changes nothing. Limits and
// bounds are those of a Throttle.
func (t *KeyThrottle) Acquire(now int64, k Key, n int64, r Rate, maxWait time.Duration, strict bool) (p KeyPromise, w Wait, untracked bool) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	before, at, slot := t.find(sh, now, k)
	after, w := before.acquire(at, n, r, maxWait, strict)
	w = late(w, now, at)
	if !w.OK {
		if slot >= 0 || t.never(n, n, r, maxWait, strict) || t.hasRoom(sh, t.own(now), k) {
			return KeyPromise{}, w, false
		}
		t.overflows.Add(1)
		return KeyPromise{}, w, true
	}
	s, ok := sh.store.Load(), true
	if slot < 0 {
		s, slot, ok = t.renew(sh, t.own(now), k)
	}
	if ok {
		saveThrottle(s, slot, after, after.neutral(r))
		return KeyPromise{key: k, promise: Promise{before, after}, until: before.neutral(r)}, w, false
	}
	t.overflows.Add(1)
	if t.overflow != OverflowSketch {
		return KeyPromise{}, t.untracked(w), true
	}
	id, w := t.over.acquire(k, at, n, r, maxWait, strict)
	w = late(w, now, at)
	if !w.OK {
		return KeyPromise{}, w, true
	}
	return KeyPromise{key: k, sketched: id}, w, true
}

// Refund takes back the newest promise of its key: the key's next request gets its place. It returns
// false, and changes nothing, if there has been a later promise, which stands, so that the place
// stays unused; if forgetting the promise would change nothing any more; and for the zero
// KeyPromise. A promise of an untracked key can be taken back only until the next one to any
// untracked key, and if the key has got no entry since.
func (t *KeyThrottle) Refund(now int64, p KeyPromise) bool {
	if p.key == 0 {
		return false
	}
	sh, _ := t.locate(p.key)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot := s.find(p.key)
	if p.sketched != 0 {
		return slot < 0 && t.over.refund(p.key, t.seq(t.own(now)), p.sketched)
	}
	if slot < 0 {
		return false
	}
	state, ok := loadThrottle(s, slot).refund(p.promise)
	if ok {
		saveThrottle(s, slot, state, p.until)
	}
	return ok
}

// Until returns how long it takes until a call of n hits would not be refused, if nobody else came;
// 0 if it would not be now. It returns false if it always will be, and if it cannot be known because
// the table has no room for k and refuses such keys.
func (t *KeyThrottle) Until(now int64, k Key, n int64, r Rate, maxWait time.Duration, strict bool) (time.Duration, bool) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s, at, slot := t.find(sh, now, k)
	d, ok := s.until(at, n, r, maxWait, strict)
	if ok && slot < 0 && t.overflow == OverflowBlock {
		return 0, t.hasRoom(sh, t.own(now), k)
	}
	if d > 0 {
		d += time.Duration(at - now)
	}
	return d, ok
}
