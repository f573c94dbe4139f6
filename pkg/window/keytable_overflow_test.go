package window

import "testing"

// TestKeyTableOverflow fills a table, and looks at what a further key gets under either policy.
func TestKeyTableOverflow(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		for overflow, want := range map[Overflow]Result{
			OverflowBlock: {Untracked: true},
			OverflowAllow: {OK: true, Remaining: 3, Untracked: true},
		} {
			c.Overflow = overflow
			k := smallKeyTable(t, epoch, c)
			for i := range 16 {
				if _, r := k.TryAcquire(epoch, testKey(i), 1, 3); !r.OK || r.Untracked {
					t.Fatalf("%s: key %d of 16: %+v", name, i, r)
				}
			}
			late := testKey(16)
			if r := k.Peek(epoch, late, 1, 3); r != want {
				t.Errorf("%s: Peek = %+v, want %+v", name, r, want)
			}
			p, r := k.TryAcquire(epoch, late, 1, 3)
			if r != want || p != (KeyPermit{}) {
				t.Errorf("%s: TryAcquire = %+v, %+v, want %+v", name, p, r, want)
			}
			if d, ok := k.Until(epoch, late, 1, 3); d != 0 || ok != want.OK {
				t.Errorf("%s: Until = %v, %v", name, d, ok)
			}
			if r := k.Peek(epoch, late, 4, 3); r != (Result{Remaining: 3}) {
				t.Errorf("%s: what never fits is refused as such: %+v", name, r)
			}
			if got := k.Stats().Overflows; got != 1 {
				t.Errorf("%s: %d overflows, want 1", name, got)
			}
			// A refund leaves zero counts under a live tag: still nobody else's.
			k.Release(epoch, testKey(3), 1)
			if r := k.Peek(epoch, late, 1, 3); r != want {
				t.Errorf("%s: Peek = %+v after a release, want %+v", name, r, want)
			}
			// At the end of the interval the charges have left, and entries are free.
			last := epoch + int64(c.Interval) - 1
			if r := k.Peek(last, late, 1, 3); r != want {
				t.Errorf("%s: Peek = %+v at the last moment, want %+v", name, r, want)
			}
			if _, r := k.TryAcquire(last+1, late, 1, 3); r != (Result{OK: true, Remaining: 2}) {
				t.Errorf("%s: TryAcquire = %+v after the interval", name, r)
			}
			checkTable(t, &k.table)
		}
	}
}

func TestKeyTableBudget(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		c.MaxKeys, c.Overflow = 4, OverflowBlock
		c.Budget = &KeyBudget{Max: 6}
		a, b := smallKeyTable(t, epoch, c), smallKeyTable(t, epoch, c)
		fill := func(k *KeyTable, now int64, from int) (n int) {
			for i := range 10 {
				peek := k.Peek(now, testKey(from+i), 1, 3)
				if _, r := k.TryAcquire(now, testKey(from+i), 1, 3); !r.Untracked {
					n++
				} else if r.OK || peek != r {
					t.Errorf("%s: %+v, before it Peek %+v", name, r, peek)
				}
			}
			return n
		}
		check := func(what string, got, want int, used int64) {
			t.Helper()
			if got != want || c.Budget.Used() != used {
				t.Errorf("%s: %s: %d keys, %d of the budget used; want %d and %d", name, what, got, c.Budget.Used(), want, used)
			}
		}
		check("own bound", fill(a, epoch, 0), 4, 4)
		check("what is left", fill(b, epoch, 0), 2, 6)
		later := epoch + int64(c.Interval)
		a.Maintain(later)
		check("after Maintain of the other", fill(b, later, 10), 4, 4)
		a.Close()
		check("an empty table closed", 0, 0, 4)
		check("a closed table's keys", fill(a, later, 0), 4, 4)
		b.Close()
		check("both closed", 0, 0, 0)
		b.Maintain(later + int64(c.Interval))
		check("maintained after", int(b.Stats().Keys), 0, 0)
		checkTable(t, &a.table)
	}
	// Both bounds are checked before an entry is made; here the shared one is reached in between.
	keys, sh := &KeyBudget{Max: 1}, &shard{budget: new(KeyBudget)}
	if sh.take(keys) || sh.keys != 0 || keys.Used() != 0 {
		t.Error("a key was taken without room in the shared budget")
	}
	if (*KeyBudget)(nil).Used() != 0 || (*KeyBudget)(nil).full() || !new(KeyBudget).full() {
		t.Error("nil is no bound, the zero value a bound of none")
	}
}

// TestKeyTableLatePromotion: a key that was charged without room finds some, in a call that comes
// late: what it was charged in the newer slot counts on.
func TestKeyTableLatePromotion(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		c.MaxKeys = 1
		k := shapedKeyTable(t, epoch, c, tableSize{1, 8, 8})
		k.TryAcquire(epoch, testKey(0), 1, 2)
		key, i := testKey(1), 1
		for k.findExpired(k.shards[0].store.Load(), 1<<40, key) >= 0 { // it must not take that entry
			i++
			key = testKey(i)
		}
		now := epoch + 3*int64(c.Interval)
		if p, r := k.TryAcquire(now, key, 1, 2); !r.OK || !p.sketched {
			t.Fatalf("%s: %+v, %+v", name, p, r)
		}
		late := now - int64(c.Interval)/2
		k.Maintain(late)
		if p, r := k.TryAcquire(late, key, 1, 2); !r.OK || p.sketched {
			t.Fatalf("%s: %+v, %+v", name, p, r)
		}
		if _, r := k.TryAcquire(now, key, 1, 2); r != (Result{}) {
			t.Errorf("%s: %+v, want that two were admitted", name, r)
		}
	}
}
