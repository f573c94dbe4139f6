package window

import (
	"math/big"
	"time"
)

// Rate is count/den requests per interval, the numbers positive.
type Rate struct {
	Count, Den int64
	Interval   time.Duration
}

// Limit is the whole number of requests that is no less than those of an interval.
func (r Rate) Limit() int64 { return ceil(r.per(int64(r.Interval))) }

// per is how many requests ns nanoseconds have room for.
func (r Rate) per(ns int64) *big.Rat {
	q := big.NewRat(r.Count, r.Den)
	return q.Mul(q, big.NewRat(ns, int64(r.Interval)))
}

// cost is how many nanoseconds n requests take.
func (r Rate) cost(n int64) *big.Rat {
	q := big.NewRat(r.Den, r.Count)
	return q.Mul(q, new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(n), big.NewInt(int64(r.Interval)))))
}

// Bound is the longest wait, and whether a wait must be shorter than that unless it is 0.
type Bound struct {
	Wait   time.Duration
	Strict bool
}

func (b Bound) holds(wait *big.Rat) bool {
	switch c := wait.Cmp(whole(int64(b.Wait))); {
	case wait.Sign() == 0:
		return true
	case b.Strict:
		return c < 0
	default:
		return c <= 0
	}
}

// Throttle is the twin of window.Throttle: the list of the promises that stand.
type Throttle struct{ promises []promise }

type promise struct {
	id     int
	moment *big.Rat // nanoseconds
	count  int64    // of the rate
}

// Acquire promises n requests a moment under the name id, unless they had to wait too long.
func (t *Throttle) Acquire(id int, now, n int64, r Rate, b Bound) (ok bool, wait time.Duration) {
	if n < 1 || n > r.Limit() {
		return false, 0
	}
	moment := whole(now)
	if len(t.promises) > 0 {
		newest := t.promises[len(t.promises)-1]
		after := newest.moment
		if newest.count != r.Count {
			after = whole(ceil(after))
		}
		after = new(big.Rat).Add(after, r.cost(n))
		if after.Cmp(moment) > 0 {
			moment = after
		}
	}
	exact := new(big.Rat).Sub(moment, whole(now))
	if !b.holds(exact) {
		return false, 0
	}
	t.promises = append(t.promises, promise{id, moment, r.Count})
	return true, time.Duration(ceil(exact))
}

// Peek acquires for the first and for the rest, however long they wait, and forgets it again.
func (t *Throttle) Peek(now, first, total int64, r Rate, b Bound) (ok bool, wait time.Duration) {
	if first < 1 || total < first || total > r.Limit() {
		return false, 0
	}
	c := t.copy()
	always := Bound{Wait: 1 << 62}
	_, wait = c.Acquire(0, now, first, r, always)
	if total > first {
		_, wait = c.Acquire(0, now, total-first, r, always)
	}
	exact := new(big.Rat).Sub(c.promises[len(c.promises)-1].moment, whole(now))
	if !b.holds(exact) {
		return false, 0
	}
	return true, wait
}

// Remaining acquires for single requests until one is refused, and forgets it again.
func (t *Throttle) Remaining(now int64, r Rate, b Bound) (n int64) {
	c := t.copy()
	for {
		if ok, _ := c.Acquire(0, now, 1, r, b); !ok {
			return n
		}
		n++
	}
}

// Refund forgets the promise, if it is the newest.
func (t *Throttle) Refund(id int) bool {
	if n := len(t.promises); n > 0 && t.promises[n-1].id == id {
		t.promises = t.promises[:n-1]
		return true
	}
	return false
}

// Until searches the first moment at which n would not be refused.
func (t *Throttle) Until(now, n int64, r Rate, b Bound) (time.Duration, bool) {
	if n < 1 || n > r.Limit() {
		return 0, false
	}
	return search(func(d int64) bool {
		ok, _ := t.copy().Acquire(0, now+d, n, r, b)
		return ok
	}), true
}

func (t *Throttle) copy() *Throttle {
	return &Throttle{append([]promise(nil), t.promises...)}
}

// search returns the least d for which ok holds, which is so from then on.
func search(ok func(d int64) bool) time.Duration {
	low, high := int64(-1), int64(1)<<61
	for high-low > 1 {
		if d := low + (high-low)/2; ok(d) {
			high = d
		} else {
			low = d
		}
	}
	return time.Duration(high)
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func floor(r *big.Rat) int64 {
	return new(big.Int).Div(r.Num(), r.Denom()).Int64() // Euclid's, and the divisor is positive
}

func ceil(r *big.Rat) int64 { return -floor(new(big.Rat).Neg(r)) }
