package window

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	const age = maxCost
	for _, c := range []struct {
		name  string
		rate  Rate
		valid bool
		limit int64
	}{
		{"whole", Rate{10, 1, time.Second}, true, 10},
		{"no denominator", Rate{10, 0, time.Second}, true, 10},
		{"negative denominator", Rate{10, -3, time.Second}, true, 10},
		{"a fraction above 1", Rate{5, 2, time.Second}, true, 3},
		{"a fraction below 1", Rate{2, 5, time.Second}, true, 1},
		{"not in lowest terms", Rate{10, 10, time.Second}, true, 1},
		{"the greatest", Rate{MaxLimit, 1, 1}, true, MaxLimit},
		{"the zero value", Rate{}, false, 0},
		{"nothing", Rate{0, 1, time.Second}, false, 0},
		{"negative", Rate{-1, 1, time.Second}, false, 0},
		{"above the greatest", Rate{MaxLimit + 1, 1, time.Second}, false, 0},
		{"a denominator above the greatest", Rate{1, MaxLimit + 1, time.Second}, false, 0},
		{"no interval", Rate{1, 1, 0}, false, 0},
		{"negative interval", Rate{1, 1, -time.Second}, false, 0},
		{"once in an age", Rate{1, 1, age}, true, 1},
		{"less than once in an age", Rate{1, 1, age + 1}, false, 0},
		{"once in an age, by the denominator", Rate{1, 2, age / 2}, true, 1},
		{"less, by the denominator", Rate{1, 2, age/2 + 1}, false, 0},
		{"more, by the count", Rate{3, 4, age}, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.rate.Valid(); got != c.valid {
				t.Errorf("Valid = %t, want %t", got, c.valid)
			}
			if got := c.rate.Limit(); got != c.limit {
				t.Errorf("Limit = %d, want %d", got, c.limit)
			}
		})
	}
}

// TestUint128 compares with math/big, on numbers whose bits are spread over both words.
func TestUint128(t *testing.T) {
	t.Parallel()
	number := func(t *rapid.T, name string) (uint128, *big.Int) {
		bits := rapid.UintRange(0, 126).Draw(t, name+" bits")
		u := uint128{rapid.Uint64().Draw(t, name+" hi"), rapid.Uint64().Draw(t, name+" lo")}
		b := new(big.Int).Rsh(u.big(), 128-bits)
		return uint128{new(big.Int).Rsh(b, 64).Uint64(), b.Uint64()}, b
	}
	rapid.Check(t, func(t *rapid.T) {
		a, x := number(t, "a")
		b, y := number(t, "b")
		f := rapid.Uint64().Draw(t, "f") >> rapid.UintRange(0, 63).Draw(t, "shift") // may be 0
		same := func(name string, got uint128, want *big.Int) {
			if got.big().Cmp(want) != 0 {
				t.Fatalf("%s = %v, want %v", name, got.big(), want)
			}
		}
		same("plus", a.plus(b), new(big.Int).Add(x, y))
		difference := new(big.Int).Sub(x, y)
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		same("minus", a.minus(b), difference)
		same("mul", mul(a.lo, f), new(big.Int).Mul(new(big.Int).SetUint64(a.lo), new(big.Int).SetUint64(f)))
		if product := new(big.Int).Mul(x, new(big.Int).SetUint64(f)); product.BitLen() <= 128 {
			same("times", a.times(f), product)
		}
		if got, want := a.less(b), x.Cmp(y) < 0; got != want {
			t.Fatalf("less = %t, want %t", got, want)
		}
		if got, want := a.zero(), x.Sign() == 0; got != want {
			t.Fatalf("zero = %t, want %t", got, want)
		}
		limit := int64(f >> 1)
		least := big.NewInt(limit)
		if x.Cmp(least) < 0 {
			least = x
		}
		if got := a.atMost(limit); got != least.Int64() {
			t.Fatalf("atMost = %d, want %v", got, least)
		}
		if f == 0 {
			return
		}
		q, r := new(big.Int).QuoRem(x, new(big.Int).SetUint64(f), new(big.Int))
		gotQ, gotR := a.div(f)
		same("div", gotQ, q)
		if gotR != r.Uint64() {
			t.Fatalf("remainder = %d, want %v", gotR, r)
		}
		if r.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		same("divUp", a.divUp(f), q)
	})
}

func (a uint128) big() *big.Int {
	b := new(big.Int).SetUint64(a.hi)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(a.lo))
}
