package window

// The states of LayoutWide are the number of the newest slot, all 64 bits of it, so they need no
// wrap and never equal vacant. The counts of the slots lie beside, in the store: that of slot q at
// q modulo their number. All of it is read and changed under the lock of the shard.

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

// before is the place of the slot before the one at place at.
func before(counts []uint32, at int) int {
	if at == 0 {
		return len(counts) - 1
	}
	return at - 1
}

func (t *KeyTable) peekWide(sh *shard, own uint64, k Key, n, limit int64) Result {
	lock(&sh.mu)
	s := sh.store.Load()
	slot := s.find(k)
	if slot < 0 {
		sh.mu.Unlock()
		return t.peekAbsent(sh, own, k, n, limit)
	}
	_, state := s.slot(slot)
	head := state.Load()
	total := wideTotal(s.countsOf(slot), head, t.seq(own))
	sh.mu.Unlock()
	return answer(total, n, limit)
}

func (t *KeyTable) acquireWide(sh *shard, own uint64, k Key, n, limit int64) (KeyPermit, Result) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot := s.find(k)
	if slot < 0 {
		return t.insertWide(sh, own, k, n, limit)
	}
	_, state := s.slot(slot)
	head, counts := state.Load(), s.countsOf(slot)
	seq := t.seq(own)
	r := answer(wideTotal(counts, head, seq), n, limit)
	if !r.OK {
		return KeyPermit{}, r
	}
	t.advance(seq)
	live := uint64(len(counts))
	for age := min(seq-head, live); age > 0; age-- {
		counts[(seq-age+1)%live] = 0
	}
	state.Store(seq)
	counts[seq%live] += uint32(n) // no overflow: the sum of all is at most MaxLimit
	r.Remaining -= n
	return KeyPermit{key: k, seq: seq, n: n}, r
}

// insertWide gives k its entry, with the first charge in it. The lock is held.
func (t *KeyTable) insertWide(sh *shard, own uint64, k Key, n, limit int64) (KeyPermit, Result) {
	r := answer(0, n, limit)
	if !r.OK {
		return KeyPermit{}, r
	}
	s, slot, seq, ok := t.claim(sh, own, k)
	if !ok {
		t.overflows.Add(1)
		return KeyPermit{}, t.untracked(limit)
	}
	counts := s.countsOf(slot)
	clear(counts)
	counts[seq%uint64(len(counts))] = uint32(n)
	_, state := s.slot(slot)
	state.Store(seq)
	r.Remaining -= n
	return KeyPermit{key: k, seq: seq, n: n}, r
}

func (t *KeyTable) refundWide(sh *shard, own uint64, p KeyPermit) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot := s.find(p.key)
	if slot < 0 || t.seq(own)-p.seq >= uint64(t.form.live) {
		return
	}
	counts := s.countsOf(slot)
	c := &counts[p.seq%uint64(len(counts))]
	*c -= min(*c, uint32(p.n))
}

func (t *KeyTable) releaseWide(sh *shard, own uint64, k Key, n int64) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	slot := s.find(k)
	if slot < 0 {
		return
	}
	_, state := s.slot(slot)
	head, counts := state.Load(), s.countsOf(slot)
	left := uint32(min(n, MaxLimit))
	live := uint64(len(counts))
	at := int(head % live)
	for age := t.seq(own) - head; age < live && left > 0; age++ {
		less := min(counts[at], left)
		counts[at] -= less
		left -= less
		at = before(counts, at)
	}
}
