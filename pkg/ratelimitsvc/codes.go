package ratelimitsvc

import (
	"fmt"
	"strconv"
	"strings"
)

// The least and the greatest status that a response can have; Envoy writes 0 where there was none.
const (
	minStatus = 100
	maxStatus = 999
)

// StatusCodes is a set of HTTP status codes. The zero value is empty; it is copied by assignment. It is
// safe for concurrent use once nothing is added any more.
type StatusCodes struct {
	has [maxStatus/64 + 1]uint64
}

// ServerErrors returns the codes from 500 to 599.
func ServerErrors() StatusCodes {
	var s StatusCodes
	s.add(500, 599)
	return s
}

// Add adds what a word means: a code (429), a range with both its ends (500-504), or a class (5xx).
func (s *StatusCodes) Add(word string) error {
	first, last, isRange := strings.Cut(word, "-")
	if !isRange {
		last = first
	}
	if !isRange && len(word) == 3 && strings.EqualFold(word[1:], "xx") {
		first, last = word[:1]+"00", word[:1]+"99"
	}
	from, ok := statusCode(first)
	to, ok2 := statusCode(last)
	switch {
	case !ok || !ok2:
		return fmt.Errorf("%q is neither a status code from %d to %d, nor a range such as 500-504, nor a class such as 5xx", word, minStatus, maxStatus)
	case from > to:
		return fmt.Errorf("%q is a range that ends before it begins; write %d-%d", word, to, from)
	}
	s.add(from, to)
	return nil
}

func (s *StatusCodes) add(from, to int) {
	for code := from; code <= to; code++ {
		s.has[code/64] |= 1 << (code % 64)
	}
}

// Has says whether the code, as it is written in three digits, is in the set.
func (s *StatusCodes) Has(code string) bool {
	n, ok := statusCode(code)
	return ok && s.holds(n)
}

func (s *StatusCodes) holds(n int) bool { return s.has[n/64]&(1<<(n%64)) != 0 }

// statusCode reads three digits.
func statusCode(text string) (int, bool) {
	if len(text) != 3 {
		return 0, false
	}
	n := 0
	for i := range len(text) {
		d := text[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = 10*n + int(d)
	}
	return n, n >= minStatus
}

// Words returns the fewest words, in ascending order, by which Add makes the same set: classes where one
// is whole, ranges, and codes.
func (s StatusCodes) Words() []string {
	words := []string{}
	for n := minStatus; n <= maxStatus; n++ {
		if !s.holds(n) {
			continue
		}
		from := n
		for n < maxStatus && s.holds(n+1) {
			n++
		}
		switch {
		case from == n:
			words = append(words, strconv.Itoa(from))
		case from%100 == 0 && n == from+99:
			words = append(words, strconv.Itoa(from/100)+"xx")
		default:
			words = append(words, fmt.Sprintf("%d-%d", from, n))
		}
	}
	return words
}
