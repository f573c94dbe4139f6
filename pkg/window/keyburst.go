package window

import "time"

// KeyBurst keeps one Burst for each of many keys, in bounded memory and without ever forgetting a
// charge that still counts. A key's entry is given to another key only when its window is empty and
// its bucket is full.
//
// A key that finds no room is not tracked: Result.Untracked is set, and the answer is that of the
// table's Overflow. With OverflowSketch such keys are held to a window: no real interval admits more
// than count of one of them, without burst, so both bounds of a Burst hold. A key that finds room
// later starts with that window, and with a bucket that misses what it counts.
//
// Count and burst may differ from call to call, as in a Burst.
//
// now is in nanoseconds since the Unix epoch and not negative. A caller whose clock lies behind is
// charged to the newest slot of its key, and one whose key has no entry is served as if it came when
// the table last judged one expired, or its sketch was last charged. No method allocates, except
// where TryAcquire or Maintain resizes a shard, and where the first key of many finds no room. A
// KeyBurst is safe for concurrent use; make it with NewKeyBurst, the zero value is not usable.
type KeyBurst struct {
	table
	over     slotSketch
	interval int64
	live     int // slots of a window that count
}

// KeyBurstPermit is what a TryAcquire of a KeyBurst charged: the proof that a Refund needs. The zero
// value is of a refusal or of a key that was not counted, and refunds nothing. A permit is refunded
// at most once.
type KeyBurstPermit struct {
	key           Key
	slot          uint64 // of the window
	n             int64
	before, after gcraState
	sketched      bool
}

// Peek answers what TryAcquire would answer, and charges nothing. A key without an entry is answered
// as untracked unless it would find room.
func (t *KeyBurst) Peek(now int64, k Key, n, count, burst int64) Result {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	count, burst = capacity(count, burst)
	var h history
	e, at, slot := t.find(sh, now, k, count, &h)
	r := t.answer(e, &h, at, n, count, burst)
	if slot >= 0 || !r.OK && t.never(at, n, count, burst) || t.hasRoom(sh, t.own(now), k) {
		return r
	}
	return t.untracked(r, h.answer(n, count))
}

// TryAcquire charges n hits to k if its window then holds at most count + burst and its bucket has n
// tokens, and says so; else it charges neither. n below 1 is refused.
func (t *KeyBurst) TryAcquire(now int64, k Key, n, count, burst int64) (KeyBurstPermit, Result) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	count, burst = capacity(count, burst)
	var h history
	e, at, slot := t.find(sh, now, k, count, &h)
	r := t.answer(e, &h, at, n, count, burst)
	if !r.OK {
		if slot < 0 && !t.never(at, n, count, burst) && !t.hasRoom(sh, t.own(now), k) {
			t.overflows.Add(1)
			r.Untracked = true
		}
		return KeyBurstPermit{}, r
	}
	s, ok := sh.store.Load(), true
	if slot < 0 {
		s, slot, ok = t.renew(sh, t.own(now), k)
		if ok {
			wideStart(burstCounts(s, slot), h.seq, &h)
			e.head = h.seq
		}
	}
	if !ok {
		return t.overflowing(k, at, n, count, r)
	}
	counts := burstCounts(s, slot)
	wideTurn(counts, e.head, h.seq)
	counts[h.seq%uint64(t.live)] += uint32(n) // no overflow: the sum of all is at most MaxLimit
	before := e.bucket
	e = burstEntry{head: h.seq, bucket: before.take(at, n, count, t.interval)}
	t.save(s, slot, e)
	r.Remaining -= n
	return KeyBurstPermit{key: k, slot: h.seq, n: n, before: before, after: e.bucket}, r
}

// overflowing charges k, for which there is no room, as the table's overflow says; with room the
// answer would be r.
func (t *KeyBurst) overflowing(k Key, at, n, count int64, r Result) (KeyBurstPermit, Result) {
	t.overflows.Add(1)
	if t.overflow != OverflowSketch {
		return KeyBurstPermit{}, t.untracked(r, r)
	}
	slot, r := t.over.charge(k, uint64(at), n, count)
	r.Untracked = true
	if !r.OK {
		return KeyBurstPermit{}, r
	}
	return KeyBurstPermit{key: k, slot: slot, n: n, sketched: true}, r
}

// Refund gives back what TryAcquire charged: to the window if the slot still counts, less if a
// Release has taken from it; to the bucket if nothing has been charged or given back since. What was
// charged in the sketch is given back there: if the key has got an entry since, it stays charged in
// that.
func (t *KeyBurst) Refund(now int64, p KeyBurstPermit) {
	if p.key == 0 {
		return
	}
	if p.sketched {
		t.over.refund(p.key, t.seq(t.own(now)), p.slot, p.n)
		return
	}
	sh, _ := t.locate(p.key)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot, live := t.entry(s, t.own(now), p.key)
	if !live {
		return
	}
	e := loadBurst(s, slot)
	if t.turnOf(e, now)-p.slot < uint64(t.live) {
		c := &burstCounts(s, slot)[p.slot%uint64(t.live)]
		*c -= min(*c, uint32(p.n))
	}
	if p.after == e.bucket {
		e.bucket = p.before
		t.save(s, slot, e)
	}
}

// Release takes n hits out of k's window, from the newest slot backwards, and gives its bucket n
// tokens back, whoever was charged for them, and no more than are there and were taken. For a key
// without an entry it does nothing.
func (t *KeyBurst) Release(now int64, k Key, n int64) {
	if n < 1 {
		return
	}
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot, live := t.entry(s, t.own(now), k)
	if !live {
		return
	}
	e := loadBurst(s, slot)
	wideRelease(burstCounts(s, slot), e.head, t.turnOf(e, now), n)
	e.bucket = e.bucket.release(now, min(n, MaxLimit), t.interval)
	t.save(s, slot, e)
}

// Until returns how long after now a charge of n would fit if nobody else came; 0 if it fits now. It
// returns false if it never fits, and if it cannot be known because the table has no room for k.
func (t *KeyBurst) Until(now int64, k Key, n, count, burst int64) (time.Duration, bool) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	count, burst = capacity(count, burst)
	var h history
	e, at, slot := t.find(sh, now, k, count, &h)
	if n < 1 || n > count+burst {
		return 0, false
	}
	width := int64(t.over.width)
	if slot >= 0 {
		d, ok := e.bucket.until(at, n, count, burst, t.interval)
		return max(d, h.until(now, n, count+burst, width)), ok
	}
	if t.overflow != OverflowAllow && !t.hasRoom(sh, t.own(now), k) {
		if t.overflow == OverflowBlock || n > count {
			return 0, false
		}
		return h.until(now, n, count, width), true
	}
	// Until it gets an entry, the key's bucket misses what the sketch counts, no less.
	return h.until(now, n, count+burst, width), true
}

// Reset returns how long after now the oldest slot of k that holds a charge leaves; 0 if none does.
func (t *KeyBurst) Reset(now int64, k Key) time.Duration {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	var h history
	t.find(sh, now, k, 0, &h)
	return h.reset(now, int64(t.over.width))
}
