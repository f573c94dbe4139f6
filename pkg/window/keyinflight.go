package window

import "sync/atomic"

// KeyInflight counts the calls that are under way for each of many keys: it is an Inflight for every
// key, in bounded memory. The entry of a key with calls under way is never given to another key; it
// may be as soon as the last of them has been released.
//
// A key that finds no room is told so in its Result. With OverflowSketch its calls are counted
// together with those of other such keys, so that it never has more under way than the limit, and may
// be refused for what others have; OverflowBlock refuses it, OverflowAllow lets it pass uncounted. A key
// that finds room later goes on counting what it has in the sketch.
//
// Time means nothing to it. No method allocates, except where TryAcquire or Maintain resizes a shard,
// and where the first key of many finds no room. A KeyInflight is safe for concurrent use; make it
// with NewKeyInflight, the zero value is not usable.
type KeyInflight struct {
	table
	over  callSketch
	total atomic.Int64 // under way, those in the sketch included
}

// KeyCalls is what a TryAcquire admitted: the proof that a Release needs. The zero value is of a
// refusal or of a key that was not counted, and releases nothing.
type KeyCalls struct {
	key      Key
	n        uint32
	sketched bool // it is counted in the sketch, not in an entry
}

// Counted says whether a Release of c changes anything.
func (c KeyCalls) Counted() bool { return c.n != 0 }

// The states of a KeyInflight, as numbers of the tick from which on the entry has expired.
const (
	stateIdle = 0
	stateBusy = vacant - 1 // calls are under way
)

// Peek answers what a TryAcquire would be answered, and changes nothing. The key is untracked if it
// has no entry and would find no room for one.
func (t *KeyInflight) Peek(k Key, n, limit int64) Result {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	slot, calls := t.look(sh, k)
	r := callsLeft(calls, n, limit)
	if slot >= 0 || n < 1 || n > limit || t.hasRoom(sh, 0, k) {
		return r
	}
	return t.untracked(r, limit)
}

// TryAcquire admits n calls of k if no more than limit of k are under way then, and changes nothing
// otherwise. n below 1 is refused; limits above MaxLimit count as MaxLimit.
func (t *KeyInflight) TryAcquire(k Key, n, limit int64) (KeyCalls, Result) {
	sh, k := t.locate(k)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	slot, calls := t.look(sh, k)
	r := callsLeft(calls, n, limit)
	if !r.OK {
		if slot >= 0 || n < 1 || n > limit || t.hasRoom(sh, 0, k) {
			return KeyCalls{}, r
		}
		t.overflows.Add(1)
		return KeyCalls{}, t.untracked(r, limit)
	}
	s, ok := sh.store.Load(), true
	if slot < 0 {
		if s, slot, ok = t.renew(sh, 0, k); ok {
			s.sideOf(slot)[0] = 0
		}
	}
	admitted := KeyCalls{key: k, n: uint32(n), sketched: !ok}
	switch {
	case ok:
		s.sideOf(slot)[0] += uint32(n)
		_, state := s.slot(slot)
		state.Store(stateBusy)
	case t.overflow == OverflowSketch:
		t.overflows.Add(1)
		t.over.add(k, uint32(n))
		r.Untracked = true
	default:
		t.overflows.Add(1)
		return KeyCalls{}, t.untracked(r, limit)
	}
	t.total.Add(n)
	r.Remaining -= n
	return admitted, r
}

// Release ends calls that a TryAcquire admitted. It must be called once for each.
func (t *KeyInflight) Release(c KeyCalls) {
	if c.n == 0 {
		return
	}
	sh, _ := t.locate(c.key)
	lock(&sh.mu)
	defer sh.mu.Unlock()
	t.total.Add(-int64(c.n))
	if c.sketched {
		t.over.subtract(c.key, c.n)
		return
	}
	s := sh.store.Load()
	slot := s.find(c.key) // there is one, because it counts these calls
	counts := s.sideOf(slot)
	if counts[0] -= c.n; counts[0] == 0 {
		_, state := s.slot(slot)
		state.Store(stateIdle)
	}
}

// Current returns how many calls of all keys are under way. It takes no lock.
func (t *KeyInflight) Current() int64 { return t.total.Load() }

// look returns the slot of k's entry, -1 if it has none that is busy, and how many of its calls are under way at
// most. The lock of the shard is held.
func (t *KeyInflight) look(sh *shard, k Key) (slot int, calls int64) {
	s := sh.store.Load()
	slot, busy := t.entry(s, 0, k)
	if busy {
		calls = int64(s.sideOf(slot)[0])
	} else {
		slot = -1
	}
	if t.overflow == OverflowSketch {
		calls += t.over.look(k)
	}
	return slot, calls
}

// untracked is the answer to a key that finds no room, if counted together it is answered r.
func (t *KeyInflight) untracked(r Result, limit int64) Result {
	switch t.overflow {
	case OverflowBlock:
		return Result{Untracked: true}
	case OverflowAllow:
		return Result{OK: r.OK, Remaining: max(min(limit, MaxLimit), 0), Untracked: true}
	}
	r.Untracked = true
	return r
}
