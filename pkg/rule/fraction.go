package rule

import (
	"fmt"
	"math/big"
	"strings"
)

// scale bounds what a rate may become when count and interval are multiplied by a factor to make a
// fractional count whole.
type scale struct{ factor, seconds int64 }

var (
	// A window counts over the whole multiplied interval, so it must not become much longer.
	windowScale = scale{factor: 60, seconds: maxIntervalSec}
	// Elsewhere the fraction only gives the rate, with six decimals at least. Added to any time of this
	// century, 2^31 s stay within 63 bits of nanoseconds.
	rateScale = scale{factor: 1_000_000, seconds: 1<<31 - 1}
)

// rate is limit requests per seconds.
type rate struct{ limit, seconds int64 }

func (r rate) String() string { return fmt.Sprintf("%d per %d s", r.limit, r.seconds) }

// wholeRate finds the rate with a whole limit that equals count per seconds exactly and has the
// shortest interval. It is false if there is none within the bounds, or its limit is above MaxLimit.
func (s scale) wholeRate(count *big.Rat, seconds int64) (rate, bool) {
	// In lowest terms, the smallest k that makes count·k whole is the denominator.
	k := count.Denom()
	if !k.IsInt64() || k.Int64() > s.factor || k.Int64()*seconds > s.seconds {
		return rate{}, false
	}
	if !count.Num().IsInt64() || count.Num().Int64() > MaxLimit {
		return rate{}, false
	}
	return rate{limit: count.Num().Int64(), seconds: seconds * k.Int64()}, true
}

// nearestRates returns the closest rates below and above count per seconds that any rule can enforce,
// for a count that is none of them. A rate of none at all is not offered.
func nearestRates(count *big.Rat, seconds int64) []rate {
	var below, above *big.Rat
	for k := int64(1); k <= windowScale.factor && k*seconds <= windowScale.seconds; k++ {
		scaled := new(big.Rat).Mul(count, big.NewRat(k, 1))
		floor := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		if !floor.IsInt64() || floor.Int64() >= MaxLimit {
			break
		}
		low, high := big.NewRat(floor.Int64(), k), big.NewRat(floor.Int64()+1, k)
		if floor.Sign() > 0 && (below == nil || low.Cmp(below) > 0) {
			below = low
		}
		if above == nil || high.Cmp(above) < 0 {
			above = high
		}
	}
	if below == nil && count.Sign() > 0 {
		return slowRates(count, seconds)
	}
	var out []rate
	for _, r := range []*big.Rat{below, above} {
		if r != nil {
			out = append(out, rate{limit: r.Num().Int64(), seconds: r.Denom().Int64() * seconds})
		}
	}
	return out
}

// slowRates are the closest rates of one request in a longer interval; none if it would be too long.
func slowRates(count *big.Rat, seconds int64) []rate {
	interval := new(big.Rat).Quo(big.NewRat(seconds, 1), count)
	whole := new(big.Int).Quo(interval.Num(), interval.Denom())
	if !whole.IsInt64() || whole.Int64() >= maxIntervalSec {
		return nil
	}
	exact := rate{limit: 1, seconds: whole.Int64()}
	if interval.IsInt() {
		return []rate{exact}
	}
	return []rate{{limit: 1, seconds: exact.seconds + 1}, exact}
}

// offer words rates as what to write in a rule of the kind.
func offer(rates []rate, k LimitKind) string {
	var words []string
	for _, r := range rates {
		words = append(words, fmt.Sprintf("count %d with %s %d", r.limit, limitWords[k].interval, r.seconds))
	}
	if len(words) == 0 {
		return "write a whole number, or 0 to block everything"
	}
	return "write " + strings.Join(words, ", or ")
}
