package rule

import (
	"math/big"
	"strconv"
	"strings"
)

// Bounds on a number as written, so that reading it exactly costs little. Java's largest double has
// 309 digits before the point.
const (
	maxNumberText = 64
	maxExponent   = 400
)

// isNumber tells whether text is a number by JSON's grammar: the one way of writing numbers that
// JSON, YAML 1.1 and YAML 1.2 read alike.
func isNumber(text string) bool {
	rest := strings.TrimPrefix(text, "-")
	whole := digits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return false
	}
	rest = rest[whole:]
	if fraction, ok := strings.CutPrefix(rest, "."); ok {
		n := digits(fraction)
		if n == 0 {
			return false
		}
		rest = fraction[n:]
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		rest = rest[1:]
	}
	return rest != "" && digits(rest) == len(rest)
}

// digits counts the digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

// parseNumber reads a number exactly. The reason says why it cannot.
func parseNumber(text string) (value *big.Rat, reason string) {
	if !isNumber(text) {
		return nil, "is not a plain decimal number"
	}
	if len(text) > maxNumberText {
		return nil, "has more than " + strconv.Itoa(maxNumberText) + " characters"
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(text[i+1:]); err != nil || exponent < -maxExponent || exponent > maxExponent {
			return nil, "has an exponent beyond " + strconv.Itoa(maxExponent)
		}
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, "is not a plain decimal number"
	}
	return value, ""
}

// outOfRange is why a whole number beyond 64 bits is none of ours.
const outOfRange = "is out of range"

// parseInteger reads a number that must be whole: 5, and 5.0 as some tools write it.
func parseInteger(text string) (value int64, reason string) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && isNumber(text) {
		return n, ""
	}
	exact, reason := parseNumber(text)
	switch {
	case reason != "":
		return 0, reason
	case !exact.IsInt():
		return 0, "is not a whole number"
	case !exact.Num().IsInt64():
		return 0, outOfRange
	}
	return exact.Num().Int64(), ""
}
