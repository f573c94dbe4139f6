package window

import "time"

// gcraState is a bucket that is filled continuously: it holds count + burst tokens, and count of
// them come back in an interval, one by one. What it knows is the moment at which it is full again,
// the "theoretical arrival time" of the generic cell rate algorithm; the zero value is full. Every
// span of time t admits at most count + burst + t*count/interval, exactly.
//
// Count and burst are 1 to MaxLimit and 0 to MaxLimit, interval is 1 to maxInterval. A bucket that
// takes longer than maxInterval to fill holds only what comes back in that time.
//
// Its methods change nothing but return the next state, and leave the lock to the owner.
type gcraState struct{ full instant }

// carry is the state, at now, of a bucket whose count may have changed: the same tokens are taken,
// which come back at the new count from now on. Without a change it is s. Owners store it before
// anything else, even if the call is then refused, so that nothing comes back at the old count any
// more.
func (s gcraState) carry(now, count int64) gcraState {
	if s == (gcraState{}) || int64(s.full.of) == count {
		return s
	}
	// A token is interval quanta at any count, so as many quanta are as many tokens. None of them
	// is lost to rounding: a nanosecond has count quanta.
	debt := s.full.since(now)
	if debt.zero() {
		return gcraState{s.full.inQuanta(uint64(count))}
	}
	most := mul(uint64(maxInterval), uint64(count))
	if most.less(debt) {
		debt = most
	}
	return gcraState{instantAfter(now, debt, uint64(count))}
}

// depth is how many quanta a bucket holds.
func depth(count, burst, interval int64) uint128 {
	d := mul(uint64(count+burst), uint64(interval))
	if most := mul(uint64(maxInterval), uint64(count)); most.less(d) {
		return most
	}
	return d
}

// room is how many whole tokens are there. s is carried to count.
func (s gcraState) room(now, count, burst, interval int64) int64 {
	left, _ := depth(count, burst, interval).minus(s.full.since(now)).div(uint64(interval))
	return left.atMost(MaxLimit)
}

// take is s less n tokens, which are there. s is carried to count.
func (s gcraState) take(now, n, count, interval int64) gcraState {
	debt := s.full.since(now).plus(mul(uint64(n), uint64(interval)))
	return gcraState{instantAfter(now, debt, uint64(count))}
}

// release is s with up to n tokens back, whoever took them. n is 0 to MaxLimit.
func (s gcraState) release(now, n, interval int64) gcraState {
	debt := s.full.since(now)
	if debt.zero() {
		return s
	}
	return gcraState{instantAfter(now, debt.minus(mul(uint64(n), uint64(interval))), uint64(s.full.of))}
}

// until is how long after now n tokens are there; false if they never are. s is carried to count.
func (s gcraState) until(now, n, count, burst, interval int64) (time.Duration, bool) {
	need, have := mul(uint64(n), uint64(interval)), depth(count, burst, interval)
	if have.less(need) {
		return 0, false
	}
	over := s.full.since(now).plus(need).minus(have)
	return time.Duration(over.divUp(uint64(count)).atMost(4 * int64(maxInterval))), true
}

// expired says whether the bucket is full, so that forgetting the state changes no verdict, now or
// later, whatever the count.
func (s gcraState) expired(now int64) bool { return s.full.since(now).zero() }
