package attr

import (
	"bytes"
	"strings"
)

// maxPath is the longest path, in bytes as sent and without the query, that is normalised and
// matched.
const maxPath = 64 << 10

// splitTarget takes a request target apart: the fragment goes, an absolute form is reduced to its
// path, and the query is split off.
func splitTarget(raw string) (path, query string) {
	if i := strings.IndexByte(raw, '#'); i >= 0 {
		raw = raw[:i]
	}
	path, query, _ = strings.Cut(raw, "?")
	return dropOrigin(path), query
}

// dropOrigin removes scheme and authority of an absolute form.
func dropOrigin(path string) string {
	if path == "" || path[0] == '/' {
		return path
	}
	scheme, rest, ok := strings.Cut(path, "://")
	if !ok || !isScheme(scheme) {
		return path
	}
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		return "/"
	}
	return rest[i:]
}

func isScheme(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i > 0 && (c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// path returns the one spelling in which paths are compared, so that no client gets around a rule
// by spelling a path differently:
//
//   - it begins with a slash, except for the asterisk form "*";
//   - the path parameters of each segment (";x=y") are removed, as Spring and Tomcat do before they
//     route, so "/a;x=1/..;/b" is "/b";
//   - repeated slashes are one, and then dot segments are resolved, in the order of nginx, Tomcat
//     and Go: "/a//../b" is "/b"; what goes above the root stops there;
//   - an escape of a character that may stand in a segment as it is (unreserved, ":", "@", and the
//     sub-delimiters but ";") is that character: "/%2e%2e/%61" is "/../a" before the dots are
//     resolved. Every other escape stays, with upper-case digits: "%2f" is "%2F", no slash;
//   - a byte that must not stand in a path as it is (a space, a backslash, anything outside ASCII)
//     is escaped, and so is a percent sign that begins no escape;
//   - a trailing slash is kept.
//
// Normalising twice changes nothing. A path in that spelling already is returned without a copy.
func (s *scratch) path(p string) string {
	if isNormal(p) || p == "*" {
		return p
	}
	start := len(s.buf)
	s.buf = appendNormal(s.buf, p)
	return s.since(start)
}

// isNormal says whether p is normalised and has no escapes.
func isNormal(p string) bool {
	if p == "" || p[0] != '/' {
		return false
	}
	for i := 1; i < len(p); i++ {
		switch c := p[i]; {
		case c == '/':
			if p[i-1] == '/' {
				return false
			}
		case c == '.':
			if p[i-1] == '/' && beginsWithDots(p[i:]) {
				return false
			}
		case !isPlain(c):
			return false
		}
	}
	return true
}

// beginsWithDots says whether the first segment of p is "." or "..".
func beginsWithDots(p string) bool {
	p = strings.TrimPrefix(p[1:], ".")
	return p == "" || p[0] == '/'
}

// appendNormal appends the normal spelling of p to dst. It takes time linear in p and appends at
// most 3*len(p) + 1 bytes.
func appendNormal(dst []byte, p string) []byte {
	root := len(dst)
	kept := false // whether the newest segment went into dst
	for more := true; more; {
		var seg string
		seg, p, more = strings.Cut(p, "/")
		mark := len(dst)
		dst = append(dst, '/')
		dst = appendSegment(dst, seg)
		kept = false
		switch string(dst[mark+1:]) {
		case "", ".":
			dst = dst[:mark]
		case "..":
			dst = dst[:mark]
			if i := bytes.LastIndexByte(dst[root:], '/'); i >= 0 {
				dst = dst[:root+i]
			}
		default:
			kept = true
		}
	}
	if !kept {
		dst = append(dst, '/')
	}
	return dst
}

// appendSegment appends a segment without its parameters, escapes put right.
func appendSegment(dst []byte, seg string) []byte {
	seg, _, _ = strings.Cut(seg, ";")
	for i := 0; i < len(seg); i++ {
		c := seg[i]
		if c == '%' && i+2 < len(seg) {
			if v, ok := unhex(seg[i+1], seg[i+2]); ok {
				c = v
				i += 2
			}
		}
		if isPlain(c) {
			dst = append(dst, c)
		} else {
			const digits = "0123456789ABCDEF"
			dst = append(dst, '%', digits[c>>4], digits[c&15])
		}
	}
	return dst
}

// The characters that stand for themselves in a normalised segment, one bit each: RFC 3986 pchar
// without escapes and ";".
const (
	plainLow uint64 = 1<<'!' | 1<<'$' | 1<<'&' | 1<<'\'' | 1<<'(' | 1<<')' | 1<<'*' | 1<<'+' | 1<<',' | 1<<'-' | 1<<'.' |
		(1<<10-1)<<'0' | 1<<':' | 1<<'='
	plainHigh uint64 = 1<<('@'-64) | (1<<26-1)<<('A'-64) | 1<<('_'-64) | (1<<26-1)<<('a'-64) | 1<<('~'-64)
)

func isPlain(c byte) bool {
	switch {
	case c < 64:
		return plainLow>>c&1 != 0
	case c < 128:
		return plainHigh>>(c-64)&1 != 0
	}
	return false
}

// unhex returns the byte that two hexadecimal digits mean.
func unhex(hi, lo byte) (v byte, ok bool) {
	h, ok1 := digit(hi)
	l, ok2 := digit(lo)
	return h<<4 | l, ok1 && ok2
}

func digit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
