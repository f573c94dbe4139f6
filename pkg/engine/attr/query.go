package attr

import (
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
)

// maxQuery is the longest query, in bytes as sent, that is searched for parameters.
const maxQuery = 64 << 10

// queryParam looks a parameter up in the query of the path. Names and values are percent-decoded
// and "+" is a space; an escape that is none stays as sent. One without "=" has the empty value.
//
// Of several parameters of one name the first that is well-formed counts, because servers drop the
// others: else a client could put a made-up, malformed one before its real one and be counted under
// the made-up value. Where none is well-formed the first counts.
func (b *Bag) queryParam(name string) (string, engine.Presence) {
	q := b.query
	if len(q) > maxQuery {
		return "", engine.TooLarge
	}
	first, found := "", engine.Absent
	for q != "" {
		var pair string
		pair, q, _ = strings.Cut(q, "&")
		k, v, _ := strings.Cut(pair, "=")
		if pair == "" || !decodesTo(k, name) {
			continue
		}
		if isWellFormed(pair) {
			return b.scratch.decoded(v), engine.Present
		}
		if found == engine.Absent {
			first, found = v, engine.Present
		}
	}
	return b.scratch.decoded(first), found
}

// isWellFormed says whether all of a query's escapes are escapes, and whether it is without the
// semicolons that some servers take for separators and others refuse.
func isWellFormed(pair string) bool {
	for i := 0; i < len(pair); i++ {
		switch pair[i] {
		case ';':
			return false
		case '%':
			if i+2 >= len(pair) {
				return false
			}
			if _, ok := unhex(pair[i+1], pair[i+2]); !ok {
				return false
			}
		}
	}
	return true
}

// decodesTo says whether the encoded form raw means want.
func decodesTo(raw, want string) bool {
	if len(raw) == len(want) {
		if raw == want && !isEncoded(raw) {
			return true
		}
	} else if len(raw) < len(want) {
		return false // decoding never lengthens
	}
	n := 0
	for i := 0; i < len(raw); n++ {
		var c byte
		c, i = decodeAt(raw, i)
		if n == len(want) || c != want[n] {
			return false
		}
	}
	return n == len(want)
}

// decoded returns what the encoded form raw means, without a copy where nothing is encoded.
func (s *scratch) decoded(raw string) string {
	if !isEncoded(raw) {
		return raw
	}
	start := len(s.buf)
	for i := 0; i < len(raw); {
		var c byte
		c, i = decodeAt(raw, i)
		s.buf = append(s.buf, c)
	}
	return s.since(start)
}

func isEncoded(raw string) bool {
	return strings.IndexByte(raw, '%') >= 0 || strings.IndexByte(raw, '+') >= 0
}

// decodeAt decodes the character that begins at raw[i] and returns where the next one begins.
func decodeAt(raw string, i int) (c byte, next int) {
	switch c = raw[i]; c {
	case '+':
		return ' ', i + 1
	case '%':
		if i+2 < len(raw) {
			if v, ok := unhex(raw[i+1], raw[i+2]); ok {
				return v, i + 3
			}
		}
	}
	return c, i + 1
}
