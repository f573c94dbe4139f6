package window

import (
	"math"
	"time"
)

// bucketState is what a TokenBucket knows. The zero value is full, and its first call starts its
// intervals. Its methods change nothing but return the next state, and leave the lock to the owner.
type bucketState struct {
	stamp int64  // last refill, in milliseconds since the Unix epoch
	taken uint64 // tokens that are taken, in fractions of 1/of; below 2^62
	of    uint32 // denominator in lowest terms of the rate of the last charge
}

// fill is a valid rate as a bucket needs it, in lowest terms.
type fill struct {
	count, den uint64 // of a token a millis
	millis     uint64
	limit      uint64 // tokens of a call at most, without burst
}

func (r Rate) fill() (fill, bool) {
	p, ok := r.pace()
	f := fill{count: p.count, den: p.den, millis: p.interval / uint64(time.Millisecond), limit: p.limit}
	if !ok || f.millis == 0 {
		return fill{}, false
	}
	if f.den != 1 {
		a, b := f.count, f.den
		for b != 0 {
			a, b = b, a%b
		}
		f.count, f.den = f.count/a, f.den/a
	}
	return f, true
}

// capacity is how many tokens a bucket holds.
func (f fill) capacity(burst int64) int64 {
	return min(int64(f.limit)+min(max(burst, 0), MaxLimit), MaxLimit)
}

// back is how much a refill after so many milliseconds gives back: nothing if they are not more
// than the interval.
func (f fill) back(passed int64) uint64 {
	if passed <= int64(f.millis) {
		return 0
	}
	q, _ := mul(uint64(passed), f.count).div(f.millis)
	return uint64(q.atMost(math.MaxInt64))
}

// wait is after how many milliseconds a refill gives back as much as want, or all of an age.
func (f fill) wait(want uint64) int64 {
	return max(int64(f.millis)+1, mul(want, f.millis).divUp(f.count).atMost(int64(maxInterval)))
}

// millis is now in whole milliseconds, which is all that a bucket knows of time.
func millis(now int64) int64 { return now / int64(time.Millisecond) }

// at is the state that a call at the millisecond ms takes tokens from.
func (s bucketState) at(ms int64, f fill) bucketState {
	if s == (bucketState{}) {
		return bucketState{stamp: ms, of: uint32(f.den)}
	}
	if s.of != uint32(f.den) {
		s.taken, s.of = mul(s.taken, f.den).divUp(uint64(s.of)).lo, uint32(f.den)
	}
	if back := f.back(ms - s.stamp); back != 0 {
		s.taken -= min(s.taken, back)
		s.stamp = ms
	}
	return s
}

// room is how many whole tokens are there.
func (s bucketState) room(capacity int64) int64 {
	taken := s.taken
	if of := uint64(s.of); of != 1 {
		taken = (taken + of - 1) / of
	}
	return max(capacity-int64(taken), 0)
}

func (s bucketState) peek(now, n int64, r Rate, burst int64) Result {
	_, _, res := s.acquire(now, n, r, burst)
	if res.OK {
		res.Remaining += n
	}
	return res
}

func (s bucketState) acquire(now, n int64, r Rate, burst int64) (bucketState, BucketPermit, Result) {
	f, ok := r.fill()
	if !ok {
		return s, BucketPermit{}, Result{}
	}
	next := s.at(millis(now), f)
	room := next.room(f.capacity(burst))
	if n < 1 || n > room {
		return s, BucketPermit{}, Result{Remaining: room}
	}
	next.taken += uint64(n) * f.den
	return next, BucketPermit{stamp: next.stamp, n: n}, Result{OK: true, Remaining: room - n}
}

func (s bucketState) refund(p BucketPermit) bucketState {
	if p.stamp == s.stamp {
		return s.release(p.n)
	}
	return s
}

func (s bucketState) release(n int64) bucketState {
	s.taken -= min(s.taken, uint64(min(max(n, 0), MaxLimit))*uint64(s.of))
	return s
}

func (s bucketState) until(now, n int64, r Rate, burst int64) (time.Duration, bool) {
	f, ok := r.fill()
	if !ok || n < 1 || n > f.capacity(burst) {
		return 0, false
	}
	ms := millis(now)
	if n <= s.at(ms, f).room(f.capacity(burst)) {
		return 0, true
	}
	s = s.at(s.stamp, f) // in the rate's fractions, without a refill
	return s.untilBack(now, s.taken-uint64(f.capacity(burst)-n)*f.den, f)
}

func (s bucketState) reset(now int64, r Rate) time.Duration {
	f, ok := r.fill()
	if !ok || s == (bucketState{}) {
		return 0
	}
	s = s.at(s.stamp, f)
	back := f.back(millis(now) - s.stamp)
	if back >= s.taken {
		return 0
	}
	d, _ := s.untilBack(now, back+1, f)
	return d
}

// untilBack is how long after now a refill gives back as much as want; false if that takes an age.
func (s bucketState) untilBack(now int64, want uint64, f fill) (time.Duration, bool) {
	d := s.stamp + f.wait(want) - millis(now)
	if d > int64(maxInterval/time.Millisecond) {
		return 0, false
	}
	return time.Duration(d)*time.Millisecond - time.Duration(now%int64(time.Millisecond)), true
}

// expired says whether every call at this rate would find the bucket full, whatever its burst, so
// that forgetting the state changes no verdict, now or later. At a rate that lets nothing through
// no state has expired: another rate may follow.
func (s bucketState) expired(now int64, r Rate) bool {
	if s == (bucketState{}) {
		return true
	}
	f, ok := r.fill()
	if !ok {
		return false
	}
	passed := millis(now) - s.stamp
	return passed > int64(f.millis) && f.back(passed) >= s.at(s.stamp, f).taken
}
