package window

// burstEntry is an entry but for the counts of its slots, which lie behind it: that of slot q at q
// modulo their number.
type burstEntry struct {
	head   uint64 // newest slot
	bucket gcraState
}

func burstCounts(s *store, slot int) []uint32 { return s.sideOf(slot)[burstWords:] }

func loadBurst(s *store, slot int) burstEntry {
	w := s.sideOf(slot)
	return burstEntry{
		head:   word64(w),
		bucket: gcraState{instant{ns: int64(word64(w[2:])), part: w[4], of: w[5]}},
	}
}

// save changes an entry. It expires when its newest slot has left and its bucket is full.
func (t *KeyBurst) save(s *store, slot int, e burstEntry) {
	w := s.sideOf(slot)
	putWord64(w, e.head)
	putWord64(w[2:], uint64(e.bucket.full.ns))
	w[4], w[5] = e.bucket.full.part, e.bucket.full.of
	_, state := s.slot(slot)
	state.Store(max((e.head+uint64(t.live))*t.over.width, uint64(e.bucket.full.up())))
}

// answer is the verdict on n more hits above e and h. count and burst are in range.
func (t *KeyBurst) answer(e burstEntry, h *history, at, n, count, burst int64) Result {
	r := h.answer(n, count+burst)
	if count == 0 {
		return r
	}
	r.Remaining = min(r.Remaining, e.bucket.room(at, count, burst, t.interval))
	r.OK = n >= 1 && n <= r.Remaining
	return r
}

// find returns k's entry, its bucket carried to count, fills h with its window, and returns the time
// at which a call at now is served. slot is -1 if k has no entry that is live: then h is what the
// sketch counts, and the bucket misses as much. The lock of the shard is held.
func (t *KeyBurst) find(sh *shard, now int64, k Key, count int64, h *history) (e burstEntry, at int64, slot int) {
	s := sh.store.Load()
	slot, live := t.entry(s, t.own(now), k)
	if live {
		e = loadBurst(s, slot)
		wideHistory(burstCounts(s, slot), e.head, t.turnOf(e, now), h)
		if count == 0 {
			return e, now, slot // nothing passes at count 0, and Reset asks for the window alone
		}
		if carried := e.bucket.carry(now, count); carried != e.bucket {
			e.bucket = carried
			t.save(s, slot, e)
		}
		return e, now, slot
	}
	at = int64(t.seq(t.own(now)))
	if slot >= 0 || t.overflow != OverflowSketch {
		*h = history{seq: uint64(at) / t.over.width, live: t.live}
	} else {
		at = int64(t.over.look(k, uint64(at), h))
	}
	if count > 0 {
		e.bucket = missingTokens(min(h.total, MaxLimit), at, count, t.interval)
	}
	return e, at, -1
}

// missingTokens is a bucket that misses n tokens now, or as many as come back in maxInterval. It is
// full no earlier than now: what was known of it before is not known any more.
func missingTokens(n, now, count, interval int64) gcraState {
	debt, most := mul(uint64(n), uint64(interval)), mul(uint64(maxInterval), uint64(count))
	if most.less(debt) {
		debt = most
	}
	return gcraState{instantAfter(now, debt, uint64(count))}
}

// never says whether n is refused by an empty window and a full bucket.
func (t *KeyBurst) never(at, n, count, burst int64) bool {
	return !t.answer(burstEntry{}, &history{}, at, n, count, burst).OK
}

// untracked is the verdict on a key that finds no room, where with room it would be r, and the
// sketch says sketched.
func (t *KeyBurst) untracked(r, sketched Result) Result {
	switch t.overflow {
	case OverflowBlock:
		r = Result{}
	case OverflowSketch:
		r = sketched
	}
	r.Untracked = true
	return r
}

// turnOf is the slot that a call at now, of a key with an entry, is charged in.
func (t *KeyBurst) turnOf(e burstEntry, now int64) uint64 {
	return max(t.own(now)/t.over.width, e.head)
}
