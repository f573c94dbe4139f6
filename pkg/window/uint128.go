package window

import "math/bits"

// uint128 is a whole number below 2^128. Products of a time, a count and a denominator need it; no
// operation checks for overflow, so each caller bounds its operands.
type uint128 struct{ hi, lo uint64 }

func mul(a, b uint64) uint128 {
	hi, lo := bits.Mul64(a, b)
	return uint128{hi, lo}
}

func (a uint128) times(b uint64) uint128 {
	p := mul(a.lo, b)
	p.hi += a.hi * b
	return p
}

func (a uint128) plus(b uint128) uint128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return uint128{hi, lo}
}

// minus returns a - b, or 0 where b is greater.
func (a uint128) minus(b uint128) uint128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return uint128{}
	}
	return uint128{hi, lo}
}

func (a uint128) less(b uint128) bool {
	return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo
}

func (a uint128) zero() bool { return a.hi|a.lo == 0 }

// div divides by d, which is not 0.
func (a uint128) div(d uint64) (quotient uint128, remainder uint64) {
	if a.hi != 0 {
		quotient.hi, a.hi = a.hi/d, a.hi%d
	}
	quotient.lo, remainder = bits.Div64(a.hi, a.lo, d)
	return quotient, remainder
}

// divUp divides by d, which is not 0, and rounds up.
func (a uint128) divUp(d uint64) uint128 {
	q, r := a.div(d)
	if r != 0 {
		q = q.plus(uint128{lo: 1})
	}
	return q
}

// atMost returns a, or limit where that is smaller.
func (a uint128) atMost(limit int64) int64 {
	if a.less(uint128{lo: uint64(limit)}) {
		return int64(a.lo)
	}
	return limit
}
