package attr

import (
	"net/netip"
	"strings"
)

// host returns the host of an authority: without port and one trailing dot, in lower case (ASCII).
// The brackets of an IPv6 literal stay; one without brackets has no port. It is returned without a
// copy unless it has upper-case letters.
func (s *scratch) host(authority string) string {
	h := authority
	if i := strings.LastIndexByte(h, ':'); i >= 0 && isPort(h[i+1:]) {
		// More than one colon outside brackets is an IPv6 literal, not a port.
		if strings.IndexByte(h, ':') == i || h[i-1] == ']' {
			h = h[:i]
		}
	}
	h = strings.TrimSuffix(h, ".")
	for i := 0; i < len(h); i++ {
		if h[i] >= 'A' && h[i] <= 'Z' {
			return s.lower(h)
		}
	}
	return h
}

func isPort(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func (s *scratch) lower(v string) string {
	start := len(s.buf)
	for i := 0; i < len(v); i++ {
		s.buf = append(s.buf, lowerASCII(v[i]))
	}
	return s.since(start)
}

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// ip returns the one spelling of a client address, so that a client does not get a budget for each
// of them: IPv4 in IPv6 is IPv4; IPv6 is as RFC 5952 writes it, without brackets and zone; a port
// is dropped; a mask that covers the whole address ("/32", "/128", as Envoy's masked_remote_address
// has it by default) is dropped, so that rules see the same value whichever action sent it, and any
// other mask stays. What is no address stays as it was sent.
func (s *scratch) ip(sent string) string {
	text, mask := sent, ""
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		text, mask = text[:i], text[i:]
	}
	if strings.HasPrefix(text, "[") {
		text, _, _ = strings.Cut(text[1:], "]")
	} else if i := strings.IndexByte(text, ':'); i >= 0 && strings.IndexByte(text[i+1:], ':') < 0 {
		text = text[:i] // IPv4 with a port
	}
	if i := strings.IndexByte(text, '%'); i >= 0 {
		text = text[:i]
	}
	if !looksLikeAddr(text) {
		return sent
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return sent
	}
	if addr.Is4() && mask == "/32" || addr.Is6() && mask == "/128" {
		mask = ""
	}
	if addr.Is4() && mask == "" {
		return text // netip takes no other spelling of an IPv4 address
	}
	start := len(s.buf)
	s.buf = addr.Unmap().AppendTo(s.buf)
	s.buf = append(s.buf, mask...)
	return s.since(start)
}

// looksLikeAddr keeps what is plainly no address from netip, which allocates its errors.
func looksLikeAddr(s string) bool {
	for i := 0; i < len(s); i++ {
		if _, hex := digit(s[i]); !hex && s[i] != '.' && s[i] != ':' {
			return false
		}
	}
	return s != ""
}
