package window

// The states of the tables here are changed under the lock of the shard, and the word that the
// table knows of each is the tick from which on the entry has expired. One that has is as good as
// none, whether it has been dropped or not, so it does not matter when it is: only that a key whose
// entry is still there cannot have been charged in the sketch since.

// entry returns the slot of k's entry, -1 if there is none, and whether it is live: there, and not
// expired. The lock of the shard is held.
func (t *table) entry(s *store, own uint64, k Key) (slot int, live bool) {
	slot = s.find(k)
	if slot < 0 {
		return slot, false
	}
	_, state := s.slot(slot)
	return slot, !t.form.expired(state.Load(), t.seq(own))
}

// renew is claim for a key whose own entry may be there and have expired.
func (t *table) renew(sh *shard, own uint64, k Key) (s *store, slot int, ok bool) {
	s = sh.store.Load()
	if slot = s.find(k); slot >= 0 {
		_, ok = t.evict(s, slot, own)
		return s, slot, ok
	}
	s, slot, _, ok = t.claim(sh, own, k)
	return s, slot, ok
}

// word64 and putWord64 keep 64 bits in two words.
func word64(w []uint32) uint64 { return uint64(w[0])<<32 | uint64(w[1]) }

func putWord64(w []uint32, v uint64) { w[0], w[1] = uint32(v>>32), uint32(v) }
