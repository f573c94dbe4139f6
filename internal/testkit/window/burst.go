package window

import (
	"math/big"
	"time"
)

// Burst is the twin of window.Burst: the twin of its window, and a level that falls steadily.
type Burst struct {
	window   *LeapArray
	interval time.Duration
	level                     // of the bucket
	charges  map[int][2]level // before and after
}

// level is how many tokens were taken at a moment. Without a count, none ever were.
type level struct {
	taken *big.Rat
	at    *big.Rat // nanoseconds
	count int64    // that come back in an interval
}

// NewBurst returns an empty window of sampleCount slots, or one more if strict, and a full bucket.
func NewBurst(now int64, sampleCount int, interval time.Duration, strict bool) *Burst {
	return &Burst{
		window:   NewLeapArray(now, sampleCount, interval, strict),
		interval: interval,
		charges:  map[int][2]level{},
	}
}

// Peek tells what TryAcquire would, with the room there is before.
func (b *Burst) Peek(now, n, count, burst int64) (ok bool, remaining int64) {
	_, remaining = b.window.Peek(now, n, count+burst)
	if count == 0 {
		return false, 0
	}
	b.carry(now, count)
	remaining = min(remaining, b.room(now, count+burst))
	return n > 0 && n <= remaining, remaining
}

// TryAcquire admits n under the name id if there is room in both.
func (b *Burst) TryAcquire(id int, now, n, count, burst int64) (ok bool, remaining int64) {
	ok, remaining = b.Peek(now, n, count, burst)
	if !ok {
		return false, remaining
	}
	b.window.TryAcquire(id, now, n, count+burst)
	before := b.level
	taken := whole(n)
	if b.count != 0 {
		taken.Add(taken, b.takenAt(now))
	}
	b.level = level{taken, whole(now), count}
	b.charges[id] = [2]level{before, b.level}
	return true, remaining - n
}

// Refund gives back to the window, and to the bucket if nothing has happened to it since.
func (b *Burst) Refund(id int, now int64) {
	b.window.Refund(id, now)
	if c, ok := b.charges[id]; ok && b.same(c[1]) {
		b.level = c[0]
	}
}

// Release gives back to both.
func (b *Burst) Release(now, n int64) {
	b.window.Release(now, n)
	if b.count == 0 {
		return
	}
	if taken := b.takenAt(now); taken.Sign() > 0 {
		if taken.Sub(taken, whole(max(n, 0))); taken.Sign() < 0 {
			taken = new(big.Rat)
		}
		b.level = level{taken, whole(now), b.count}
	}
}

// Until searches the first moment at which there is room in both.
func (b *Burst) Until(now, n, count, burst int64) (time.Duration, bool) {
	d, ok := b.window.Until(now, n, count+burst)
	if !ok || count == 0 {
		return 0, false
	}
	b.carry(now, count)
	return max(d, search(func(d int64) bool { return b.room(now+d, count+burst) >= n })), true
}

// Reset tells when the first of what the window holds leaves.
func (b *Burst) Reset(now int64) time.Duration { return b.window.Reset(now) }

// carry makes count what comes back from now on. A level that has fallen to nothing stays there,
// but for callers who come late: for them it falls from the next whole nanosecond on.
func (b *Burst) carry(now, count int64) {
	if b.count == 0 || b.count == count {
		return
	}
	if taken := b.takenAt(now); taken.Sign() > 0 {
		b.level = level{taken, whole(now), count}
		return
	}
	b.level = level{new(big.Rat), whole(ceil(b.empty())), count}
}

// takenAt is how many tokens are missing.
func (b *Burst) takenAt(now int64) *big.Rat {
	r := new(big.Rat).Sub(whole(now), b.at)
	r.Mul(r, big.NewRat(b.count, int64(b.interval)))
	if r.Sub(b.taken, r); r.Sign() < 0 {
		return new(big.Rat)
	}
	return r
}

// empty is when no token is missing any more.
func (b *Burst) empty() *big.Rat {
	r := new(big.Rat).Mul(b.taken, big.NewRat(int64(b.interval), b.count))
	return r.Add(r, b.at)
}

func (b *Burst) room(now, capacity int64) int64 {
	if b.count == 0 {
		return capacity
	}
	return max(floor(new(big.Rat).Sub(whole(capacity), b.takenAt(now))), 0)
}

// same compares what is left of two levels from now on.
func (b *Burst) same(l level) bool {
	return b.count == l.count && b.empty().Cmp((&Burst{interval: b.interval, level: l}).empty()) == 0
}
