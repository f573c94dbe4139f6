package window

// The states of LayoutWord:
//
//	| tag 16 | previous 24 | newest 24 |
//
// tag is the low end of the newest slot's number; newest is what was admitted in that slot, previous
// what was in the one before (always 0 where only one slot counts).
//
// A state is changed in one compare-and-swap, by whoever has seen it and the verdict on it, so the
// bound holds for each key as if calls came one at a time. vacant is out of reach: it would need a
// total of twice the largest limit.
//
// As a state's tag is never ahead of the table's clock, its age is the distance modulo 2^16, and
// not ambiguous for 65 535 slots: 17 minutes at the least width that rules of whole seconds have
// in any layout (1 s / 60), 9 hours at the least they have in this one (1 s / 2). Maintain, once a
// minute, drops entries long before. Where it comes too late, an entry seems to count again, for
// the last of each 2^16 slots: it refuses in error, for that long, and never admits.
const (
	wordCountBits = 24
	wordTagShift  = 2 * wordCountBits
	wordCountMask = 1<<wordCountBits - 1

	// maxWordLimit is the largest limit that LayoutWord enforces.
	maxWordLimit = wordCountMask
)

// wordAge is how many slots the newest slot of w lies behind seq.
func wordAge(w, seq uint64) uint64 { return (seq - w>>wordTagShift) & (1<<16 - 1) }

// wordAt is w as it stands in slot seq: with that as its newest slot.
func (f form) wordAt(w, seq uint64) uint64 {
	age := wordAge(w, seq)
	if age == 0 {
		return w
	}
	at := seq << wordTagShift
	if age < uint64(f.live) {
		at |= w & wordCountMask << wordCountBits
	}
	return at
}

// wordTotal is what w counts.
func wordTotal(w uint64) uint32 {
	return uint32(w>>wordCountBits&wordCountMask + w&wordCountMask)
}

func (t *KeyTable) peekWord(sh *shard, own uint64, k Key, n, limit int64) Result {
	state, w := sh.read(k)
	if state == nil {
		return t.peekAbsent(sh, own, k, n, limit)
	}
	return answer(wordTotal(t.form.wordAt(w, t.seq(own))), n, limit)
}

func (t *KeyTable) acquireWord(sh *shard, own uint64, k Key, n, limit int64) (KeyPermit, Result) {
	for {
		state, w := sh.read(k)
		if state == nil {
			if p, r, ok := t.insertWord(sh, own, k, n, limit); ok {
				return p, r
			}
			continue
		}
		seq := t.seq(own)
		at := t.form.wordAt(w, seq)
		r := answer(wordTotal(at), n, limit)
		if !r.OK {
			return KeyPermit{}, r
		}
		t.advance(seq)
		step(state)
		if state.CompareAndSwap(w, at+uint64(n)) { // no carry: the sum is at most maxWordLimit
			r.Remaining -= n
			return KeyPermit{key: k, seq: seq, n: n}, r
		}
	}
}

// insertWord gives k its entry, with the first charge in it. ok is false if another caller has done
// so meanwhile.
func (t *KeyTable) insertWord(sh *shard, own uint64, k Key, n, limit int64) (p KeyPermit, r Result, ok bool) {
	if neverFits(n, limit) {
		return KeyPermit{}, t.peekAbsent(sh, own, k, n, limit), true
	}
	lock(&sh.mu)
	defer sh.mu.Unlock()
	if sh.store.Load().find(k) >= 0 {
		return KeyPermit{}, Result{}, false
	}
	var h history
	s, slot, p, r, ok := t.claimFor(sh, own, k, n, limit, &h)
	if ok {
		w := p.seq<<wordTagShift | uint64(h.in(p.seq)) + uint64(n) // no carry: h and n are at most limit
		if t.form.live > 1 {
			w |= uint64(h.in(p.seq-1)) << wordCountBits
		}
		_, state := s.slot(slot)
		step(state)
		state.Store(w)
	}
	return p, r, true
}

func (t *KeyTable) lookWord(sh *shard, own uint64, k Key, h *history) bool {
	state, w := sh.read(k)
	if state == nil {
		return false
	}
	*h = history{seq: t.seq(own), live: t.form.live}
	w = t.form.wordAt(w, h.seq)
	h.total = int64(wordTotal(w))
	h.slots[0] = uint32(w & wordCountMask)
	h.slots[1] = uint32(w >> wordCountBits & wordCountMask)
	return true
}

func (t *KeyTable) refundWord(sh *shard, own uint64, p KeyPermit) {
	for {
		state, w := sh.read(p.key)
		if state == nil || t.seq(own)-p.seq >= uint64(t.form.live) {
			return
		}
		// The charge made its slot the newest; since then one more may have come.
		shift := uint(0)
		if wordAge(w, p.seq) != 0 {
			shift = wordCountBits
		}
		less := min(w>>shift&wordCountMask, uint64(p.n)) << shift
		if less == 0 {
			return
		}
		step(state)
		if state.CompareAndSwap(w, w-less) {
			return
		}
	}
}

func (t *KeyTable) releaseWord(sh *shard, own uint64, k Key, n int64) {
	for {
		state, w := sh.read(k)
		if state == nil {
			return
		}
		age, live := wordAge(w, t.seq(own)), uint64(t.form.live)
		var newest, previous uint64
		if age < live {
			newest = min(w&wordCountMask, uint64(n))
		}
		if age+1 < live {
			previous = min(w>>wordCountBits&wordCountMask, uint64(n)-newest)
		}
		if newest+previous == 0 {
			return
		}
		step(state)
		if state.CompareAndSwap(w, w-newest-previous<<wordCountBits) {
			return
		}
	}
}
