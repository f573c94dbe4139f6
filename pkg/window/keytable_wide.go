package window

// The states of LayoutWide are the number of the slot in which the newest one that they count will
// have left: all 64 bits of it, so they need no wrap and never equal vacant. The counts of the slots
// lie beside, in the store: that of slot q at q modulo their number. All of it is read and changed
// under the lock of the shard.

// wideTotal is what counts, with newest slot head, hold in slot seq.
func wideTotal(counts []uint32, head, seq uint64) uint32 {
	total := uint32(0)
	live := uint64(len(counts))
	at := int(head % live)
	for age := seq - head; age < live; age++ {
		total += counts[at]
		at = before(counts, at)
	}
	return total
}

// wideTurn clears the counts, with newest slot head, that have left by slot seq.
func wideTurn(counts []uint32, head, seq uint64) {
	live := uint64(len(counts))
	for age := range min(seq-head, live) {
		counts[(seq-age)%live] = 0
	}
}

// wideRelease takes up to n out of the counts, with newest slot head, that still count in slot seq,
// the newest first.
func wideRelease(counts []uint32, head, seq uint64, n int64) {
	left := uint32(min(n, MaxLimit))
	live := uint64(len(counts))
	at := int(head % live)
	for age := seq - head; age < live && left > 0; age++ {
		less := min(counts[at], left)
		counts[at] -= less
		left -= less
		at = before(counts, at)
	}
}

// wideHistory fills h with the counts, whose newest slot is head, as they stand in slot seq.
func wideHistory(counts []uint32, head, seq uint64, h *history) {
	*h = history{seq: seq, live: len(counts)}
	at := int(head % uint64(h.live))
	for age := seq - head; age < uint64(h.live); age++ {
		h.slots[age] = counts[at]
		h.total += int64(counts[at])
		at = before(counts, at)
	}
}

// wideStart makes the counts those of h in slot seq.
func wideStart(counts []uint32, seq uint64, h *history) {
	for age := range uint64(len(counts)) {
		counts[(seq-age)%uint64(len(counts))] = h.in(seq - age)
	}
}

// before is the place of the slot before the one at place at.
func before(counts []uint32, at int) int {
	if at == 0 {
		return len(counts) - 1
	}
	return at - 1
}

// wideEntry is an entry of LayoutWide.
type wideEntry struct {
	counts []uint32
	head   uint64 // newest slot
}

// wide returns k's entry; ok is false if there is none. The lock of the shard is held.
func (t *KeyTable) wide(s *store, k Key) (slot int, e wideEntry, ok bool) {
	slot = s.find(k)
	if slot < 0 {
		return slot, e, false
	}
	_, state := s.slot(slot)
	return slot, wideEntry{s.sideOf(slot), state.Load() - uint64(t.form.live)}, true
}

func (t *KeyTable) peekWide(sh *shard, own uint64, k Key, n, limit int64) Result {
	lock(&sh.mu)
	_, e, ok := t.wide(sh.store.Load(), k)
	if !ok {
		sh.mu.Unlock()
		return t.peekAbsent(sh, own, k, n, limit)
	}
	total := wideTotal(e.counts, e.head, t.seq(own))
	sh.mu.Unlock()
	return answer(total, n, limit)
}

func (t *KeyTable) acquireWide(sh *shard, own uint64, k Key, n, limit int64) (KeyPermit, Result) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot, e, ok := t.wide(s, k)
	if !ok {
		return t.insertWide(sh, own, k, n, limit)
	}
	seq := t.seq(own)
	r := answer(wideTotal(e.counts, e.head, seq), n, limit)
	if !r.OK {
		return KeyPermit{}, r
	}
	t.advance(seq)
	wideTurn(e.counts, e.head, seq)
	t.storeWide(s, slot, seq)
	e.counts[seq%uint64(len(e.counts))] += uint32(n) // no overflow: the sum of all is at most MaxLimit
	r.Remaining -= n
	return KeyPermit{key: k, seq: seq, n: n}, r
}

// storeWide makes seq the newest slot of an entry.
func (t *KeyTable) storeWide(s *store, slot int, seq uint64) {
	_, state := s.slot(slot)
	state.Store(seq + uint64(t.form.live))
}

// insertWide gives k its entry, with the first charge in it. The lock is held.
func (t *KeyTable) insertWide(sh *shard, own uint64, k Key, n, limit int64) (KeyPermit, Result) {
	var h history
	s, slot, p, r, ok := t.claimFor(sh, own, k, n, limit, &h)
	if ok {
		counts := s.sideOf(slot)
		wideStart(counts, p.seq, &h)
		counts[p.seq%uint64(len(counts))] += uint32(n)
		t.storeWide(s, slot, p.seq)
	}
	return p, r
}

func (t *KeyTable) refundWide(sh *shard, own uint64, p KeyPermit) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	_, e, ok := t.wide(sh.store.Load(), p.key)
	if !ok || t.seq(own)-p.seq >= uint64(t.form.live) {
		return
	}
	c := &e.counts[p.seq%uint64(len(e.counts))]
	*c -= min(*c, uint32(p.n))
}

func (t *KeyTable) releaseWide(sh *shard, own uint64, k Key, n int64) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	if _, e, ok := t.wide(sh.store.Load(), k); ok {
		wideRelease(e.counts, e.head, t.seq(own), n)
	}
}

func (t *KeyTable) lookWide(sh *shard, own uint64, k Key, h *history) bool {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	_, e, ok := t.wide(sh.store.Load(), k)
	if ok {
		wideHistory(e.counts, e.head, t.seq(own), h)
	}
	return ok
}
