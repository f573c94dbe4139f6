package attr

import (
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
)

// maxCookies is the longest Cookie header, in bytes, that is searched for cookies.
const maxCookies = 64 << 10

// cookieParam looks a cookie up in the Cookie header. Names are compared as they are, values are not
// decoded, and one pair of quotes around a value is removed, as Netty and Go do.
//
// Of several cookies of one name the first whose value RFC 6265 allows counts, because servers drop
// the others: else a client could put a made-up, malformed cookie before its real one and be
// counted under the made-up value. Where none is well-formed the first counts as it was sent.
func (b *Bag) cookieParam(name string) (string, engine.Presence) {
	h := b.known[knownCookie].value
	if len(h) > maxCookies {
		return "", engine.TooLarge
	}
	value, found := "", engine.Absent
	for h != "" {
		var pair string
		pair, h, _ = strings.Cut(h, ";")
		k, v, ok := strings.Cut(pair, "=")
		if !ok || trimBlank(k) != name {
			continue
		}
		v = unquote(trimBlank(v))
		if isCookieValue(v) {
			return v, engine.Present
		}
		if found == engine.Absent {
			value, found = v, engine.Present
		}
	}
	return value, found
}

func trimBlank(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

func unquote(v string) string {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		return v[1 : len(v)-1]
	}
	return v
}

// isCookieValue says whether v consists of the cookie-octets of RFC 6265.
func isCookieValue(v string) bool {
	for i := 0; i < len(v); i++ {
		if c := v[i]; c <= ' ' || c >= 0x7f || c == '"' || c == ',' || c == ';' || c == '\\' {
			return false
		}
	}
	return true
}
