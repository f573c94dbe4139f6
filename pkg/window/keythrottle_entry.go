package window

import "time"

// find returns k's state, and the time at which a call at now is served. slot is -1 if k has no
// entry that is live: its state then is what the sketch knows. The lock of the shard is held.
func (t *KeyThrottle) find(sh *shard, now int64, k Key) (state throttleState, at int64, slot int) {
	s := sh.store.Load()
	slot, live := t.entry(s, t.own(now), k)
	if live {
		return loadThrottle(s, slot), now, slot
	}
	if slot < 0 && t.overflow == OverflowSketch {
		state = t.over.look(k)
	}
	return state, int64(t.seq(t.own(now))), -1
}

// never says whether such requests are refused even if nobody was promised anything.
func (t *KeyThrottle) never(first, total int64, r Rate, maxWait time.Duration, strict bool) bool {
	return !(throttleState{}).peek(0, first, total, r, maxWait, strict).OK
}

// untracked is the answer to a key that finds no room, if the sketch says w.
func (t *KeyThrottle) untracked(w Wait) Wait {
	if t.overflow == OverflowBlock {
		return Wait{}
	}
	return w
}

// late is w, answered at the time at, as seen from now.
func late(w Wait, now, at int64) Wait {
	if w.OK {
		w.Wait += time.Duration(at - now)
	}
	return w
}

// neutral is the tick from which on forgetting the state changes no verdict, whatever the count of
// the rate: no call costs more than Interval*Denominator.
func (s throttleState) neutral(r Rate) uint64 {
	if s == (throttleState{}) {
		return 0
	}
	return uint64(s.last.up()) + uint64(mul(uint64(r.Interval), uint64(max(r.Denominator, 1))).atMost(2*maxCost))
}

func loadThrottle(s *store, slot int) throttleState {
	w := s.sideOf(slot)
	return throttleState{instant{ns: int64(word64(w)), part: w[2], of: w[3]}}
}

// saveThrottle changes an entry's state to one that has expired from the tick until on.
func saveThrottle(s *store, slot int, t throttleState, until uint64) {
	w := s.sideOf(slot)
	putWord64(w, uint64(t.last.ns))
	w[2], w[3] = t.last.part, t.last.of
	_, state := s.slot(slot)
	state.Store(until)
}
