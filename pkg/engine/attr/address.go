package attr

import (
	"net/netip"
	"strings"
)

// host returns the host of an authority in the one spelling in which hosts are compared: without
// port and trailing dots, in lower case (ASCII), an IPv6 address as RFC 5952 writes it and in
// brackets. What stands in the place of the port is dropped whether it is one or not: applications
// that ask for the host drop it too, and a client would otherwise get a budget for each
// "a.example:x" that it makes up. It is returned without a copy if it is in that spelling already.
func (s *scratch) host(authority string) string {
	h := authority
	if strings.HasPrefix(h, "[") {
		if i := strings.IndexByte(h, ']'); i >= 0 {
			if addr, ok := parseAddr(dropZone(h[1:i])); ok {
				return s.bracketed(addr)
			}
			h = h[:i+1]
		}
	} else if i := strings.IndexByte(h, ':'); i >= 0 {
		if addr, ok := parseAddr(dropZone(h)); ok {
			return s.bracketed(addr)
		}
		h = h[:i]
	}
	return s.lower(strings.TrimRight(h, "."))
}

func (s *scratch) bracketed(addr netip.Addr) string {
	start := len(s.buf)
	s.buf = append(s.buf, '[')
	s.buf = addr.AppendTo(s.buf)
	s.buf = append(s.buf, ']')
	return s.since(start)
}

// lower returns v in lower case, upper in upper case; only ASCII letters have one here. Both return
// v itself where that changes nothing.
func (s *scratch) lower(v string) string { return s.setCase(v, 'A') }
func (s *scratch) upper(v string) string { return s.setCase(v, 'a') }

// setCase turns over the case of the 26 letters from the given one on.
func (s *scratch) setCase(v string, from byte) string {
	i := 0
	for i < len(v) && v[i]-from >= 26 {
		i++
	}
	if i == len(v) {
		return v
	}
	start := len(s.buf)
	s.buf = append(s.buf, v...)
	for written := s.buf[start:]; i < len(written); i++ {
		if written[i]-from < 26 {
			written[i] ^= 'a' - 'A'
		}
	}
	return s.since(start)
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
	text = dropZone(text)
	addr, ok := parseAddr(text)
	if !ok {
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

// dropZone removes the zone of an address, which means nothing to any other host.
func dropZone(s string) string {
	s, _, _ = strings.Cut(s, "%")
	return s
}

func parseAddr(s string) (netip.Addr, bool) {
	if !looksLikeAddr(s) {
		return netip.Addr{}, false
	}
	addr, err := netip.ParseAddr(s)
	return addr, err == nil
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
