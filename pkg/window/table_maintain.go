package window

// KeyStats is the size of a keyed table at one moment.
type KeyStats struct {
	Keys      int64 // entries, those that have expired since the last Maintain included
	MaxKeys   int64 // most entries that the table may hold; a bound that tables share may be reached before
	Slots     int64 // places for entries, at the present size
	Bytes     int64 // memory, at the present size
	MaxBytes  int64 // memory, at full size and with the sketch that keys without room are counted in
	Overflows int64 // calls, since the table was made, that would have made an entry and found no room
}

// Maintain drops the entries that have expired, gives their keys back to the budget, and makes
// shards smaller that have become mostly empty, and nothing of those that have no entry left; it drops
// the sketch when all that it counts has expired. It holds the lock of one shard at a time, for as long
// as it takes to look at each of its slots once.
//
// Call it about once a minute. Without it nothing is admitted beyond a limit, however late it
// comes, but keys that nobody uses any more count towards MaxKeys and the budget; and in a KeyTable
// of LayoutWord a key may be refused in error when 2^16 slots have gone by since its last charge.
func (t *table) Maintain(now int64) {
	own := t.own(now)
	t.advance(own)
	for i := range t.shards {
		t.sweep(&t.shards[i], own)
	}
	if t.sketch != nil {
		t.sketch.drop(own)
	}
}

// sweep is Maintain for one shard.
func (t *table) sweep(sh *shard, own uint64) {
	lock(&sh.mu)
	defer sh.mu.Unlock()
	s := sh.store.Load()
	dropped := int64(0)
	for i := range len(s.groups) * groupSlots {
		if _, ok := t.evict(s, i, own); ok {
			key, _ := s.slot(i)
			key.Store(0)
			dropped++
		}
	}
	sh.keys -= dropped
	t.keys.give(dropped)
	sh.budget.give(dropped)

	// Half full at most after the change, a quarter before: a shard whose keys come and go is not
	// resized each time.
	if sh.keys == 0 {
		sh.store.Store(t.blank)
		return
	}
	n := t.start
	for int64(n*groupSlots) < 2*sh.keys {
		n *= 2
	}
	if n <= len(s.groups)/2 {
		sh.resize(n, t.form)
	}
}

// Close gives the table's keys back to the budget, when the table has been replaced. Calls that are
// still under way, and later ones, are answered as before, but count towards the table's own bound
// only.
func (t *table) Close() {
	for i := range t.shards {
		sh := &t.shards[i]
		lock(&sh.mu)
		sh.budget.give(sh.keys)
		sh.budget = nil
		sh.mu.Unlock()
	}
}

// Stats returns the table's size. It takes no lock.
func (t *table) Stats() KeyStats {
	st := KeyStats{
		Keys:      t.keys.Used(),
		MaxKeys:   t.keys.Max,
		Bytes:     t.fixed,
		MaxBytes:  t.fixed + int64(len(t.shards))*t.form.storeBytes(t.most),
		Overflows: t.overflows.Load(),
	}
	for i := range t.shards {
		s := t.shards[i].store.Load()
		st.Slots += int64(s.size() * groupSlots)
		st.Bytes += t.form.storeBytes(s.size())
	}
	if t.sketch != nil {
		st.MaxBytes += t.sketch.size
		if t.sketch.used.Load() {
			st.Bytes += t.sketch.size
		}
	}
	return st
}
