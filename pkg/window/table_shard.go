package window

import (
	"sync"
	"sync/atomic"
)

// shard is one part of a table. Its lock is held to insert, drop and move entries and, in
// LayoutWide, for every call; its length is that of a cache line.
type shard struct {
	store  atomic.Pointer[store] // written under mu
	mu     sync.Mutex
	keys   int64      // entries; guarded by mu
	budget *KeyBudget // of those entries; nil once the table is closed; guarded by mu
	_      [cacheLine - 32]byte
}

// read returns the state of k's entry, and what it holds; nil if k has no entry. It takes no lock,
// unless the entry is on the move: then it waits for the mover.
func (sh *shard) read(k Key) (state *atomic.Uint64, w uint64) {
	for {
		s := sh.store.Load()
		i := s.find(k)
		if i < 0 {
			return nil, 0
		}
		key, state := s.slot(i)
		step(state)
		w := state.Load()
		if w == vacant {
			sh.awaitMove()
			continue
		}
		// A slot gets its key before its state: if the key is still k, w was k's.
		step(key)
		if key.Load() == uint64(k) {
			return state, w
		}
	}
}

// awaitMove returns when the entries that were on the move have arrived.
func (sh *shard) awaitMove() {
	lock(&sh.mu)
	defer sh.mu.Unlock()
}

// hasRoom says whether k, which has no entry, would get one now.
func (t *table) hasRoom(sh *shard, own uint64, k Key) bool {
	s := sh.store.Load()
	if t.findExpired(s, own, k) >= 0 {
		return true
	}
	return !t.keys.full() && !t.budget.full() && (s.size() < t.most || s.empty(k) >= 0)
}

// findExpired returns a slot whose entry has expired and may give way to k, or -1.
func (t *table) findExpired(s *store, own uint64, k Key) int {
	a, b := s.choices(k)
	for _, at := range [2]int{a, b} {
		g := &s.groups[at]
		step(&g.state[0])
		for i := range groupSlots {
			w := g.state[i].Load()
			if w != vacant && t.form.expired(w, max(own, t.latest.Load())) {
				return at*groupSlots + i
			}
		}
	}
	return -1
}

// claim makes an entry for k, which has none, and returns its slot, whose state is still vacant:
// the caller stores one with the tag seq. The lock of the shard is held throughout. ok is false,
// and nothing but perhaps the shard's size has changed, if there is no room.
func (t *table) claim(sh *shard, own uint64, k Key) (s *store, slot int, seq uint64, ok bool) {
	for {
		s = sh.store.Load()
		if slot = t.findExpired(s, own, k); slot >= 0 {
			if seq, ok = t.evict(s, slot, own); ok {
				break
			}
			continue // somebody charged the entry, so it counts again
		}
		if t.keys.full() || sh.budget.full() {
			return nil, 0, 0, false
		}
		if slot = s.empty(k); slot >= 0 {
			if !sh.take(&t.keys) {
				return nil, 0, 0, false
			}
			seq = t.seq(own)
			t.advance(seq)
			break
		}
		// By half: a shard is then between half and, as long as keys find room, 80 % full.
		n := min(max(s.size()*3/2+1, t.start), t.most)
		if n == s.size() || !sh.resize(n, t.form) {
			return nil, 0, 0, false
		}
	}
	key, _ := s.slot(slot)
	key.Store(uint64(k))
	return s, slot, seq, true
}

// evict makes the slot vacant if its entry has expired, and returns the number by which it had.
// The lock is held. The table's clock is there before the entry is gone: a caller whose own clock
// lies behind cannot make the entry anew in a slot that the forgotten charges still reach.
func (t *table) evict(s *store, slot int, own uint64) (seq uint64, ok bool) {
	_, state := s.slot(slot)
	step(state)
	w := state.Load()
	if w == vacant {
		return 0, false
	}
	if seq = t.seq(own); !t.form.expired(w, seq) {
		return 0, false
	}
	t.advance(seq)
	step(state)
	return seq, state.CompareAndSwap(w, vacant)
}

// take counts one entry more, if both bounds allow it. The lock is held.
func (sh *shard) take(keys *KeyBudget) bool {
	if !keys.take() {
		return false
	}
	if !sh.budget.take() {
		keys.give(1)
		return false
	}
	sh.keys++
	return true
}

// resize moves all entries to a store of n groups. The lock is held. It returns false, and changes
// nothing, if an entry finds no room there, which is as good as impossible while no more than nine
// slots of ten would be taken.
//
// Each state is swapped for vacant as it leaves, so that a caller who still has the old store before
// him cannot change what has been moved: he waits for the lock, and loads the new store.
func (sh *shard) resize(n int, f form) bool {
	old, next := sh.store.Load(), newStore(n, f)
	// One slot of each group at a time: neighbours in the old store have neighbouring choices in the
	// new one, and if they came one after the other they would not spread evenly.
	for i := range len(old.groups) * groupSlots {
		slot := i%len(old.groups)*groupSlots + i/len(old.groups)
		key, state := old.slot(slot)
		k := key.Load()
		if k == 0 {
			continue
		}
		to := next.makeRoom(Key(k))
		if to < 0 {
			old.restore(next)
			return false
		}
		newKey, newState := next.slot(to)
		newKey.Store(k)
		copy(next.sideOf(to), old.sideOf(slot))
		step(state)
		newState.Store(state.Swap(vacant))
	}
	sh.store.Store(next)
	return true
}

// restore gives the slots the states back that were moved to next.
func (s *store) restore(next *store) {
	for i := range len(s.groups) * groupSlots {
		key, state := s.slot(i)
		if k := key.Load(); k != 0 && state.Load() == vacant {
			_, moved := next.slot(next.find(Key(k)))
			state.Store(moved.Load())
		}
	}
}

// makeRoom is empty for a store that nobody else sees yet: if both groups of k are full, it moves
// one of their entries to that entry's other group.
func (s *store) makeRoom(k Key) int {
	if slot := s.empty(k); slot >= 0 {
		return slot
	}
	a, b := s.choices(k)
	for _, at := range [2]int{a, b} {
		for slot := at * groupSlots; slot < (at+1)*groupSlots; slot++ {
			key, state := s.slot(slot)
			to := s.empty(Key(key.Load()))
			if to < 0 {
				continue
			}
			newKey, newState := s.slot(to)
			newKey.Store(key.Load())
			newState.Store(state.Load())
			copy(s.sideOf(to), s.sideOf(slot))
			key.Store(0)
			state.Store(vacant)
			return slot
		}
	}
	return -1
}
