package window

import (
	"math/big"
	"time"
)

// TokenBucket is the twin of window.TokenBucket: Sentinel's check, step by step as it is written
// there, with fractions of a token where the count has some.
type TokenBucket struct {
	stamp    int64 // milliseconds
	rest     *big.Rat
	capacity int64 // when rest was counted
	charges  map[int]tokens
}

type tokens struct{ stamp, n int64 }

// TryAcquire takes n tokens under the name id, if there are as many.
func (b *TokenBucket) TryAcquire(id int, now, n int64, r Rate, burst int64) bool {
	ms, millis := now/1e6, int64(r.Interval)/1e6
	capacity := r.Limit() + burst
	if n < 1 || n > capacity {
		return false
	}
	stamp, rest := ms, whole(capacity)
	if b.rest != nil {
		stamp, rest = b.stamp, b.restAt(r, burst)
		if passed := ms - b.stamp; passed > millis {
			rest.Add(rest, r.lowest().back(passed))
			if rest.Cmp(whole(capacity)) > 0 {
				rest = whole(capacity)
			}
			stamp = ms
		}
	}
	rest.Sub(rest, whole(n))
	if rest.Sign() < 0 {
		return false
	}
	b.stamp, b.rest, b.capacity = stamp, rest, capacity
	if b.charges == nil {
		b.charges = map[int]tokens{}
	}
	b.charges[id] = tokens{stamp, n}
	return true
}

// Remaining takes single tokens until there are no more, and gives them back.
func (b *TokenBucket) Remaining(now int64, r Rate, burst int64) (n int64) {
	c := b.copy()
	for c.TryAcquire(0, now, 1, r, burst) {
		n++
	}
	return n
}

// Refund gives back what id took, unless there was a refill since.
func (b *TokenBucket) Refund(id int) {
	if c := b.charges[id]; c.stamp == b.stamp {
		b.Release(c.n)
	}
}

// Release gives n tokens back, or what is missing.
func (b *TokenBucket) Release(n int64) {
	if b.rest == nil || n < 0 {
		return
	}
	b.rest.Add(b.rest, whole(n))
	if full := whole(b.capacity); b.rest.Cmp(full) > 0 {
		b.rest = full
	}
}

// Until searches the first moment at which there are n tokens.
func (b *TokenBucket) Until(now, n int64, r Rate, burst int64) (time.Duration, bool) {
	if n < 1 || n > r.Limit()+burst {
		return 0, false
	}
	return search(func(d int64) bool { return b.copy().TryAcquire(0, now+d, n, r, burst) }), true
}

// Reset searches the first moment at which the tokens are more than now.
func (b *TokenBucket) Reset(now int64, r Rate) time.Duration {
	if b.rest == nil {
		return 0
	}
	have := func(now int64) *big.Rat {
		rest := b.restAt(r, 0)
		if passed := now/1e6 - b.stamp; passed > int64(r.Interval)/1e6 {
			rest.Add(rest, r.lowest().back(passed))
		}
		if full := whole(r.Limit()); rest.Cmp(full) > 0 {
			return full
		}
		return rest
	}
	before := have(now)
	if before.Cmp(whole(r.Limit())) == 0 {
		return 0
	}
	return search(func(d int64) bool { return have(now+d).Cmp(before) > 0 })
}

// restAt is what is left of another capacity, and of another denominator, without a refill.
func (b *TokenBucket) restAt(r Rate, burst int64) *big.Rat {
	den := r.lowest().Den
	taken := new(big.Rat).Sub(whole(b.capacity), b.rest)
	taken = big.NewRat(ceil(taken.Mul(taken, whole(den))), den)
	return taken.Sub(whole(r.Limit()+burst), taken)
}

func (r Rate) lowest() Rate {
	q := big.NewRat(r.Count, r.Den)
	return Rate{q.Num().Int64(), q.Denom().Int64(), r.Interval}
}

// back is what comes back in so many milliseconds, in whole fractions of a token.
func (r Rate) back(passed int64) *big.Rat {
	q := new(big.Rat).SetFrac64(passed*r.Count, int64(r.Interval)/1e6)
	return new(big.Rat).SetFrac(big.NewInt(floor(q)), big.NewInt(r.Den))
}

func (b *TokenBucket) copy() *TokenBucket {
	c := &TokenBucket{stamp: b.stamp, capacity: b.capacity}
	if b.rest != nil {
		c.rest = new(big.Rat).Set(b.rest)
	}
	return c
}
