package window

// advance loads word, after a rotation if the newest slot lies behind seq.
func (a *LeapArray) advance(seq uint32) uint64 {
	for {
		step(&a.word)
		w := a.word.Load()
		if head, _ := unpack(w); int32(seq-head) <= 0 {
			return w
		}
		a.rotate(seq)
	}
}

// rotate makes seq the newest slot, if it is newer: it empties the slots that leave, then takes
// what they held out of total in the same step that shows the new sequence. Between the two, word
// counts what no slot holds any more: callers may be refused in error, never admitted.
func (a *LeapArray) rotate(seq uint32) {
	lock(&a.mu)
	defer a.mu.Unlock()

	step(&a.word)
	head, _ := unpack(a.word.Load())
	if int32(seq-head) <= 0 {
		return
	}
	// The slots up to seq-live leave. Each place of the ring is emptied once however long the
	// jump, and gets the tag of its next use, so that the new head's slot is ready when word shows
	// it and a charge that comes late for the old use finds another tag.
	ring := uint32(len(a.slots))
	removed := uint32(0)
	for i := range min(seq-head, ring) {
		q := seq - a.live - i
		slot := &a.slots[q&a.mask]
		step(slot)
		_, count := unpack(slot.Swap(pack(q+ring, 0)))
		removed += count
	}
	if a.live == 1 {
		last := removed
		if seq-head > 1 {
			last = 0
		}
		step(&a.previous)
		a.previous.Store(pack(seq, last))
	}
	for {
		step(&a.word)
		w := a.word.Load()
		_, total := unpack(w)
		step(&a.word)
		if a.word.CompareAndSwap(w, pack(seq, total-removed)) {
			return
		}
	}
}

// awaitRotation returns when the rotation that is under way, if any, has shown its sequence.
func (a *LeapArray) awaitRotation() {
	lock(&a.mu)
	defer a.mu.Unlock()
}
