package rule

import (
	"fmt"
	"net/netip"
	"strings"
)

// normalHost returns the spelling in which a host is compared: without port and trailing dots, in
// lower case, an IPv6 address as RFC 5952 writes it and in brackets.
func normalHost(authority string) string {
	host, _ := splitHost(authority)
	if addr, ok := hostAddr(host); ok {
		return "[" + addr.String() + "]"
	}
	return lowerASCII(strings.TrimRight(host, "."))
}

// hostAddr returns the address that a host is which is written as an IPv6 address, in brackets or not.
func hostAddr(host string) (netip.Addr, bool) {
	if inner, open := strings.CutPrefix(host, "["); open {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, ok := parseAddr(inner)
		return addr, ok && closed
	}
	if !strings.Contains(host, ":") {
		return netip.Addr{}, false
	}
	return parseAddr(host)
}

// splitHost splits an authority before its port, or what stands in the place of one.
func splitHost(authority string) (host, port string) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']') + 1
		if end == 0 {
			end = len(authority)
		}
		return authority[:end], authority[end:]
	}
	if i := strings.IndexByte(authority, ':'); i >= 0 {
		if _, ok := hostAddr(authority); !ok {
			return authority[:i], authority[i:]
		}
	}
	return authority, ""
}

func hasPort(authority string) bool {
	_, port := splitHost(authority)
	return port != ""
}

// normalIP returns the spelling in which a client address is compared, which is without port, zone
// and brackets, and its mask, if one stays. It is false, and returns the text as it is, for what is
// no address.
func normalIP(text string) (spelt, mask string, ok bool) {
	addr := text
	if i := strings.LastIndexByte(addr, '/'); i >= 0 {
		addr, mask = addr[:i], addr[i:]
	}
	if inner, bracketed := strings.CutPrefix(addr, "["); bracketed {
		addr, _, _ = strings.Cut(inner, "]")
	} else if strings.Count(addr, ":") == 1 {
		addr, _, _ = strings.Cut(addr, ":")
	}
	ip, ok := parseAddr(addr)
	if !ok {
		return text, "", false
	}
	if ip.Is4() && mask == "/32" || ip.Is6() && mask == "/128" {
		mask = ""
	}
	return ip.Unmap().String() + mask, mask, true
}

// parseAddr parses an address and forgets its zone, which means nothing to any other host.
func parseAddr(s string) (netip.Addr, bool) {
	s, _, _ = strings.Cut(s, "%")
	addr, err := netip.ParseAddr(s)
	return addr, err == nil
}

// lowerASCII is in lower case what has one in ASCII.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// checkHost reports what the host of a request can never be.
func (f *fileLoad) checkHost(at spot, written string) {
	quoted := fmt.Sprintf("%q", clip(written))
	if _, rest, has := strings.Cut(written, "://"); has {
		fix := ""
		if host := hostOnly(rest); host != "" {
			fix = fmt.Sprintf("write %q", clip(host))
		}
		f.fail(at, quoted+" is a URL, not a host", fix)
		return
	}
	host := normalHost(written)
	if host != "" && hasPort(written) {
		f.fail(at, quoted+" has a port; hosts are compared without", fmt.Sprintf("write %q", clip(host)))
		return
	}
	if host := hostOnly(written); host != "" && strings.ContainsAny(written, "/?#") {
		f.fail(at, quoted+" has a path, a host has none", fmt.Sprintf("write %q", clip(host)))
		return
	}
	if _, ok := hostAddr(host); ok {
		return
	}
	name := strings.TrimPrefix(host, "*.")
	switch {
	case host == "*" || name == "":
		f.fail(at, quoted+" is no host", "leave host out to match any")
	case strings.Contains(name, "*"):
		f.fail(at, quoted+" is no host: * may only stand for the first labels, as in *.example.com", "")
	case strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e }):
		f.fail(at, quoted+" is not ASCII, as hosts are on the wire", "write it in its xn-- form")
	case strings.Contains(name, "..") || name[0] == '.' || strings.ContainsFunc(name, notInHost):
		f.fail(at, quoted+" is no host", "")
	}
}

// hostOnly is what is left of an authority, with what may follow it in a URL, that a host may be
// written as; empty if nothing is.
func hostOnly(rest string) string {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	host := normalHost(rest[strings.LastIndexByte(rest, '@')+1:])
	if _, ok := hostAddr(host); !ok && strings.ContainsFunc(strings.TrimPrefix(host, "*."), notInHost) {
		return ""
	}
	return host
}

func notInHost(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

// checkSpelling reports a pattern for hosts or client addresses that their one spelling never
// matches. Of other parameters the pattern may be anything.
func (f *fileLoad) checkSpelling(at spot, item *ParamItem) {
	switch exact := item.Match == MatchExact; {
	case item.Match == MatchRegex:
	case item.Source == SourceHost && exact:
		f.checkHostValue(at, item.Pattern)
	case item.Source == SourceClientIP && exact:
		f.checkIPValue(at, item.Pattern)
	case item.Source == SourceHost:
		f.checkPartOf(at, "hosts", item)
	case item.Source == SourceClientIP:
		f.checkPartOf(at, "client addresses", item)
	}
}

func (f *fileLoad) checkHostValue(at spot, pattern string) {
	normal := normalHost(pattern)
	switch {
	case strings.Contains(pattern, "*"):
		f.fail(at, fmt.Sprintf("%q never matches: matchStrategy exact has no wildcards", clip(pattern)), "write matchStrategy regex, or remove the pattern to limit every host")
	case normal == "":
		f.fail(at, fmt.Sprintf("%q never matches: a request without host has no parameter", clip(pattern)), "")
	case normal != pattern && !hasPort(pattern):
		f.neverMatches(at, "hosts", pattern, normal)
	default:
		f.checkHost(at, pattern)
	}
}

func (f *fileLoad) checkIPValue(at spot, pattern string) {
	normal, mask, ok := normalIP(pattern)
	switch {
	case !ok:
		f.warn(at, fmt.Sprintf("%q is no address, as those of clients are", clip(pattern)), "")
	case normal != pattern:
		f.neverMatches(at, "client addresses", pattern, normal)
	case mask != "":
		f.warn(at, fmt.Sprintf("%q is compared as it is, not as a range: it matches only where Envoy sends addresses with the mask %s", clip(pattern), clip(mask)), "")
	}
}

// checkPartOf warns of a prefix, or of a part anywhere, that no value begins with, or has.
func (f *fileLoad) checkPartOf(at spot, what string, item *ParamItem) {
	pattern, prefix := item.Pattern, item.Match == MatchPrefix
	outside := !strings.HasPrefix(pattern, "[")
	reason, fix := "", ""
	switch {
	case lowerASCII(pattern) != pattern:
		reason, fix = "in lower case", fmt.Sprintf("write %q", clip(lowerASCII(pattern)))
	case item.Source == SourceHost && prefix && outside && strings.Contains(pattern, ":"):
		reason = "without port, and IPv6 addresses in brackets"
	case item.Source == SourceClientIP && prefix && !outside:
		reason, fix = "without brackets", fmt.Sprintf("write %q", clip(strings.Trim(pattern, "[]")))
	case item.Source == SourceClientIP && prefix && hasLeadingZero(pattern):
		reason = "without leading zeros"
	default:
		return
	}
	f.warn(at, fmt.Sprintf("%q never matches: %s are compared %s", clip(pattern), what, reason), fix)
}

// hasLeadingZero tells whether a number of the address that the prefix is of begins with a zero that
// is not all of it.
func hasLeadingZero(prefix string) bool {
	for i := range len(prefix) - 1 {
		starts := i == 0 || prefix[i-1] == ':' || prefix[i-1] == '.'
		if starts && prefix[i] == '0' && hexDigit(prefix[i+1]) >= 0 {
			return true
		}
	}
	return false
}
