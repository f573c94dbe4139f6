package rule

import (
	"fmt"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// TestWholeRateIsTheShortest compares with trying every factor.
func TestWholeRateIsTheShortest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bounds := rapid.SampledFrom([]scale{windowScale, {factor: 120, seconds: 1 << 31}}).Draw(t, "bounds")
		denominator := rapid.SampledFrom([]int64{1, 2, 3, 7, 10, 25, 59, 60, 61, 100, 120, 121, 1000}).Draw(t, "denominator")
		count := big.NewRat(rapid.Int64Range(0, 1<<33).Draw(t, "numerator"), denominator)
		seconds := rapid.SampledFrom([]int64{1, 7, 60, 86400, maxIntervalSec / 2, maxIntervalSec}).Draw(t, "seconds")

		var want rate
		found := false
		for k := int64(1); k <= bounds.factor && !found; k++ {
			scaled := new(big.Rat).Mul(count, big.NewRat(k, 1))
			if scaled.IsInt() {
				found = scaled.Num().Cmp(big.NewInt(MaxLimit)) <= 0 && seconds*k <= bounds.seconds
				want = rate{limit: scaled.Num().Int64(), seconds: seconds * k}
				break
			}
		}
		got, ok := bounds.wholeRate(count, seconds)
		if ok != found || ok && got != want {
			t.Fatalf("wholeRate(%s, %d) = %v, %v, want %v, %v", count, seconds, got, ok, want, found)
		}
		if ok && big.NewRat(got.limit, got.seconds).Cmp(new(big.Rat).Quo(count, big.NewRat(seconds, 1))) != 0 {
			t.Fatalf("%v is not the rate of %s per %d s", got, count, seconds)
		}
	})
}

// TestNearestRates compares with trying every limit and factor.
func TestNearestRates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := big.NewRat(rapid.Int64Range(1, 3_000).Draw(t, "numerator"), rapid.Int64Range(61, 1500).Draw(t, "denominator"))
		if count.Denom().Int64() <= windowScale.factor {
			t.Skip("it has a whole rate")
		}
		if count.Cmp(big.NewRat(1, windowScale.factor)) < 0 {
			t.Skip("it is a slow rate")
		}
		var below, above *big.Rat
		for k := int64(1); k <= windowScale.factor; k++ {
			for n := int64(1); n <= 50*windowScale.factor; n++ {
				r := big.NewRat(n, k)
				if c := r.Cmp(count); c < 0 && (below == nil || r.Cmp(below) > 0) {
					below = r
				} else if c > 0 && (above == nil || r.Cmp(above) < 0) {
					above = r
				}
				if r.Cmp(count) > 0 {
					break
				}
			}
		}
		var want []rate
		for _, r := range []*big.Rat{below, above} {
			if r != nil {
				want = append(want, rate{r.Num().Int64(), r.Denom().Int64() * 5})
			}
		}
		if got := nearestRates(count, 5); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("nearestRates(%s, 5) = %v, want %v", count, got, want)
		}
	})
}

// Of a rate below one request per 60 intervals the closest ones are of one request.
func TestSlowRates(t *testing.T) {
	t.Parallel()
	for count, want := range map[string]string{
		"0.0001": "write count 1 with intervalSec 50000",
		"0.016":  "write count 1 with intervalSec 313, or count 1 with intervalSec 312",
		"1e-400": "write a whole number, or 0 to block everything",
		"1e-7":   "write a whole number, or 0 to block everything",
	} {
		exact, reason := parseNumber(count)
		if reason != "" {
			t.Fatal(reason)
		}
		if got := offer(nearestRates(exact, 5), LimitGateway); got != want {
			t.Errorf("%s per 5 s: %s, want %s", count, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		if !isNumber(text) {
			t.Fatalf("%q is not taken for a number", text)
		}
		got, reason := parseNumber(text)
		if reason != "" {
			t.Fatalf("parseNumber(%q): %s", text, reason)
		}
		want, _ := strconv.ParseFloat(text, 64)
		if f, _ := got.Float64(); f != want {
			t.Fatalf("parseNumber(%q) = %s, want %v", text, got, want)
		}
		if n, reason := parseInteger(text); (reason == "") != (got.IsInt() && got.Num().IsInt64()) || reason == "" && n != got.Num().Int64() {
			t.Fatalf("parseInteger(%q) = %d, %q", text, n, reason)
		}
	})
	for _, text := range []string{"", "-", "+1", "01", "-01", ".5", "5.", "1e", "1e+", "0x10", "1_000", "1.5.2", "NaN", "Inf", ".inf", " 1", "1 ", "1/2", "１"} {
		if isNumber(text) {
			t.Errorf("%q is taken for a number", text)
		}
		if _, reason := parseNumber(text); reason == "" {
			t.Errorf("%q is read as a number", text)
		}
		if _, reason := parseInteger(text); reason == "" {
			t.Errorf("%q is read as an integer", text)
		}
	}
}
