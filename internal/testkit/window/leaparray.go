// Package window holds the naive twins of pkg/window: the same answers computed the slow and
// obvious way, for tests to compare with. They know nothing of the real ones, and are not safe for
// concurrent use.
package window

import "time"

// LeapArray is the twin of window.LeapArray: the list of what was admitted and when.
type LeapArray struct {
	width   time.Duration
	live    int64 // slots that count
	newest  int64 // latest time that any call came with, nanoseconds
	charges []charge
}

type charge struct {
	id   int
	slot int64
	n    int64
}

// NewLeapArray returns an empty window of sampleCount slots, or one more if strict.
func NewLeapArray(now int64, sampleCount int, interval time.Duration, strict bool) *LeapArray {
	a := &LeapArray{width: interval / time.Duration(sampleCount), live: int64(sampleCount), newest: now}
	if strict {
		a.live++
	}
	return a
}

// TryAcquire admits n under the name id if the window then holds at most limit, and returns the
// room left.
func (a *LeapArray) TryAcquire(id int, now, n, limit int64) (ok bool, remaining int64) {
	ok, remaining = a.Peek(now, n, limit)
	if ok {
		a.charges = append(a.charges, charge{id, a.slot(a.newest), n})
		remaining -= n
	}
	return ok, remaining
}

// Peek tells what TryAcquire would, with the room there is before.
func (a *LeapArray) Peek(now, n, limit int64) (ok bool, remaining int64) {
	a.newest = max(a.newest, now)
	room := limit - a.held(a.newest)
	return n > 0 && n <= room, max(room, 0)
}

// Refund takes out of the slot that id was charged to as much as id was charged, or all it holds.
func (a *LeapArray) Refund(id int, now int64) {
	a.newest = max(a.newest, now)
	for _, c := range a.charges {
		if c.id == id && c.slot > a.slot(a.newest)-a.live {
			a.take(c.slot, c.n)
			return
		}
	}
}

// Release takes up to n out of the window, the newest slots first.
func (a *LeapArray) Release(now, n int64) {
	a.newest = max(a.newest, now)
	for s := a.slot(a.newest); s > a.slot(a.newest)-a.live; s-- {
		n -= a.take(s, n)
	}
}

// Until tries every moment at which something may change.
func (a *LeapArray) Until(now, n, limit int64) (time.Duration, bool) {
	a.newest = max(a.newest, now)
	if n < 1 || n > limit {
		return 0, false
	}
	if a.held(a.newest)+n <= limit {
		return 0, true
	}
	for s := a.slot(a.newest) + 1; ; s++ {
		if t := s * int64(a.width); a.held(t)+n <= limit {
			return time.Duration(t - now), true
		}
	}
}

// Reset tells when the first of what is held leaves.
func (a *LeapArray) Reset(now int64) time.Duration {
	a.newest = max(a.newest, now)
	held := a.held(a.newest)
	if held == 0 {
		return 0
	}
	for s := a.slot(a.newest) + 1; ; s++ {
		if t := s * int64(a.width); a.held(t) < held {
			return time.Duration(t - now)
		}
	}
}

// Previous tells what the slot before the newest holds.
func (a *LeapArray) Previous(now int64) int64 {
	a.newest = max(a.newest, now)
	return a.in(a.slot(a.newest) - 1)
}

// Slots tells what each live slot holds, the oldest first.
func (a *LeapArray) Slots(now int64) []int64 {
	a.newest = max(a.newest, now)
	var all []int64
	for s := a.slot(a.newest) - a.live + 1; s <= a.slot(a.newest); s++ {
		all = append(all, a.in(s))
	}
	return all
}

func (a *LeapArray) slot(t int64) int64 { return t / int64(a.width) }

// held sums what counts at t.
func (a *LeapArray) held(t int64) int64 {
	var sum int64
	for _, c := range a.charges {
		if c.slot > a.slot(t)-a.live {
			sum += c.n
		}
	}
	return sum
}

// in sums what the slot s was charged.
func (a *LeapArray) in(s int64) int64 {
	var sum int64
	for _, c := range a.charges {
		if c.slot == s {
			sum += c.n
		}
	}
	return sum
}

// take enters what leaves the slot s, at most n and at most what it holds, as a negative charge.
func (a *LeapArray) take(s, n int64) int64 {
	n = max(min(n, a.in(s)), 0)
	a.charges = append(a.charges, charge{id: -1, slot: s, n: -n})
	return n
}
