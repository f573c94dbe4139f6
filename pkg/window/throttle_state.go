package window

import (
	"math"
	"time"
)

// throttleState is what a Throttle knows: the newest promise. The zero value has promised nothing.
// Its methods change nothing but return the next state, and leave the lock to the owner.
type throttleState struct{ last instant }

func (s throttleState) peek(now, first, total int64, r Rate, maxWait time.Duration, strict bool) Wait {
	p, ok := r.pace()
	if !ok {
		return Wait{}
	}
	b := p.bound(maxWait, strict)
	w := Wait{Remaining: p.places(s.wait(now, 1, 1, p), b)}
	if first < 1 || total < first || total > int64(p.limit) {
		return w
	}
	if wait := s.wait(now, uint64(first), uint64(total), p); b.holds(wait) {
		w.OK, w.Wait = true, p.duration(wait)
	}
	return w
}

func (s throttleState) acquire(now, n int64, r Rate, maxWait time.Duration, strict bool) (throttleState, Wait) {
	p, ok := r.pace()
	if !ok {
		return s, Wait{}
	}
	b := p.bound(maxWait, strict)
	if n >= 1 && n <= int64(p.limit) {
		if wait := s.wait(now, uint64(n), uint64(n), p); b.holds(wait) {
			s.last = instantAfter(now, wait, p.count)
			return s, Wait{OK: true, Wait: time.Duration(s.last.up() - now), Remaining: p.places(wait.plus(p.cost), b)}
		}
	}
	return s, Wait{Remaining: p.places(s.wait(now, 1, 1, p), b)}
}

// refund gives back the state before p if p is the newest promise. Each promise lies after the one
// before it, so two that both stand are never equal.
func (s throttleState) refund(p Promise) (throttleState, bool) {
	if p.after == (throttleState{}) || s != p.after {
		return s, false
	}
	return p.before, true
}

func (s throttleState) until(now, n int64, r Rate, maxWait time.Duration, strict bool) (time.Duration, bool) {
	p, ok := r.pace()
	if !ok || n < 1 || n > int64(p.limit) {
		return 0, false
	}
	b := p.bound(maxWait, strict)
	wait := s.wait(now, uint64(n), uint64(n), p)
	if b.holds(wait) {
		return 0, true
	}
	return p.duration(wait.minus(b.most)), true
}

// expired says whether every call at this rate would find what it would find in the zero state, so
// that forgetting the state changes no verdict, now or later. At a rate that lets nothing through
// no state has expired: another rate may follow.
func (s throttleState) expired(now int64, r Rate) bool {
	if s == (throttleState{}) {
		return true
	}
	p, ok := r.pace()
	return ok && s.wait(now, p.limit, p.limit, p).zero()
}

// wait is how long after now, in quanta, the last of several requests is due that together have
// total hits, first of them in the first, which comes now. It is the greater of two: behind the
// newest promise the cost of all, and behind now that of all but the first.
func (s throttleState) wait(now int64, first, total uint64, p pace) uint128 {
	wait := p.cost.times(total - first)
	if s == (throttleState{}) {
		return wait
	}
	last := s.last.inQuanta(p.count)
	behind := last.since(now).plus(p.cost.times(total)).minus(last.before(now))
	if wait.less(behind) {
		return behind
	}
	return wait
}

// waitBound is the longest wait in quanta.
type waitBound struct{ most uint128 }

func (p pace) bound(maxWait time.Duration, strict bool) waitBound {
	most := p.span(min(max(maxWait, 0), maxInterval))
	if strict { // a quantum less, unless it is 0 already
		most = most.minus(uint128{lo: 1})
	}
	return waitBound{most}
}

func (b waitBound) holds(wait uint128) bool { return !b.most.less(wait) }

// places is how many single requests are promised a moment one after another if the first of them
// waits so long.
func (p pace) places(wait uint128, b waitBound) int64 {
	if !b.holds(wait) {
		return 0
	}
	return 1 + p.requests(b.most.minus(wait)).atMost(MaxLimit-1)
}

// duration is q in nanoseconds, rounded up.
func (p pace) duration(q uint128) time.Duration {
	return time.Duration(q.divUp(p.count).atMost(math.MaxInt64))
}
