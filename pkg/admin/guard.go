package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard refuses what a web page of another origin could have a browser send, bounds how many requests are answered at
// a time, and sets the headers that keep browsers from doing more with an answer than show it.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if !s.knowsHost(r) {
			fail(w, http.StatusMisdirectedRequest, "the Host header is neither localhost nor an address; if the name is yours, allow it with --admin-host")
			return
		}
		if foreign(r) {
			fail(w, http.StatusForbidden, "a web page of another origin must not ask")
			return
		}
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			w.Header().Set("Retry-After", "1")
			fail(w, http.StatusServiceUnavailable, "too many requests are being answered")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// secure sets the headers of every answer. What needs more than text or JSON, such as a page, says so itself.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

// foreign says whether a browser sends the request for a page of another origin, but for one that its user follows a
// link to.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	if site == "" || site == "same-origin" || site == "none" {
		return false
	}
	return r.Method == http.MethodPost || r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// knowsHost says whether a request names the server in a way that no one else's name service can make it do: an
// address, localhost or a configured name. A browser that was made to take a foreign name for this address sends that
// name. Over a Unix socket no browser comes.
func (s *Server) knowsHost(r *http.Request) bool {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && local.Network() == "unix" {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || slices.Contains(s.cfg.Hosts, host)
}
