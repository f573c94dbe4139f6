package rule

import (
	"fmt"
	"math/big"
	"strings"
)

// maxScale is the most by which count and interval are multiplied to make a fractional count whole.
const maxScale = 60

// rate is limit requests per seconds.
type rate struct{ limit, seconds int64 }

func (r rate) String() string { return fmt.Sprintf("%d per %d s", r.limit, r.seconds) }

// wholeRate finds the rate with a whole limit that equals count per seconds exactly and has the
// shortest interval. It is false if there is none within maxScale and maxIntervalSec, or its limit
// is above MaxLimit.
func wholeRate(count *big.Rat, seconds int64) (rate, bool) {
	// In lowest terms, the smallest k that makes count·k whole is the denominator.
	k := count.Denom()
	if !k.IsInt64() || k.Int64() > maxScale || k.Int64()*seconds > maxIntervalSec {
		return rate{}, false
	}
	if !count.Num().IsInt64() || count.Num().Int64() > MaxLimit {
		return rate{}, false
	}
	return rate{limit: count.Num().Int64(), seconds: seconds * k.Int64()}, true
}

// nearestRates returns the closest enforceable rates below and above count per seconds, for a count
// that has no wholeRate. A rate of none at all is not offered.
func nearestRates(count *big.Rat, seconds int64) []rate {
	var below, above *big.Rat
	for k := int64(1); k <= maxScale && k*seconds <= maxIntervalSec; k++ {
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
	var out []rate
	for _, r := range []*big.Rat{below, above} {
		if r != nil {
			out = append(out, rate{limit: r.Num().Int64(), seconds: r.Denom().Int64() * seconds})
		}
	}
	return out
}

// offer words rates as what to write.
func offer(rates []rate) string {
	var words []string
	for _, r := range rates {
		words = append(words, fmt.Sprintf("count %d with intervalSec %d", r.limit, r.seconds))
	}
	if len(words) == 0 {
		return "write a whole number"
	}
	return "write " + strings.Join(words, ", or ")
}
