//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// behindProxy is the hardened bootstrap as one would change it behind a load balancer that is trusted
// to tell the client address, with headers of up to 1 MiB.
func behindProxy(t *testing.T) string {
	t.Helper()
	root, manager := hardened(t)
	manager["xff_num_trusted_hops"] = 1
	manager["max_request_headers_kb"] = 1024
	manager["common_http_protocol_options"].(map[string]any)["max_headers_count"] = 2000
	return bootstrapFile(t, root)
}

func TestHostileBehindProxy(t *testing.T) {
	t.Parallel()
	s, err := envoytest.Start(soon(t), envoytest.Options{
		Envoy: envoy(t), Sidecard: sidecard(t), Bootstrap: behindProxy(t), Rules: hostileRules(t), Dir: shortDir(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	hostileRun(t, s, slices.Concat(http1Table(t, s, proxyClients()), http1Table(t, s, proxyRepeats()), http1Table(t, s, proxyLarge()), http1Table(t, s, proxyHardened()), http2Table(t, s, proxyHTTP2())))
}

// proxyClients are client addresses as a client writes them whose balancer appends nothing.
func proxyClients() []http1Row {
	from := func(address string) string { return get("/client", "x-forwarded-for: "+address) }
	return []http1Row{
		{"no address: the connection's", get("/client"), own("per-client")},
		{"invalid UTF-8, no address", from("\xff\xfe"), limited("per-client")},
		{"invalid UTF-8 behind an address", from("192.0.2.1\xff"), limited("per-client")},
		{"a word", from("unknown"), limited("per-client")},
		{"nothing", from(""), limited("per-client")},
		{"nothing behind an address", from("192.0.2.1,"), limited("per-client")},
		{"IPv4 with a port", from("192.0.2.1:80"), limited("per-client")},
		{"IPv4 in octal", from("0300.0.02.01"), limited("per-client")},
		{"IPv4 in three parts", from("192.0.513"), limited("per-client")},
		{"IPv6 in brackets", from("[2001:db8::1]"), limited("per-client")},
		{"IPv6 with a port", from("[2001:db8::1]:80"), limited("per-client")},
		{"IPv6 in quotes", from(`"2001:db8::1"`), limited("per-client")},
		{"IPv6 with a mask", from("2001:db8::1/128"), limited("per-client")},
		{"IPv4", from("192.0.2.1"), own("per-client")},
		{"IPv4, blanks around", from(" 192.0.2.1\t"), limited("per-client")},
		{"IPv4, what the client wrote before it", from("198.51.100.1, \xff, 192.0.2.1"), limited("per-client")},
		{"IPv4, another line before it", get("/client", "x-forwarded-for: 198.51.100.1", "x-forwarded-for: 192.0.2.1"), limited("per-client")},
		{"IPv4 in IPv6", from("::ffff:192.0.2.1"), limited("per-client")},
		{"IPv4 in IPv6, hexadecimal", from("::FFFF:C000:201"), limited("per-client")},
		{"IPv4 in IPv6, zeros", from("0000:0:0:0:00:ffff:192.0.2.1"), limited("per-client")},
		{"IPv6", from("2001:db8::a"), own("per-client")},
		{"IPv6 in upper case", from("2001:DB8::A"), limited("per-client")},
		{"IPv6 with zeros", from("2001:0db8:0:0:0:0:0:000a"), limited("per-client")},
		{"IPv6 shortened elsewhere", from("2001:db8:0:0::a"), limited("per-client")},
		{"IPv6 with an IPv4 end", from("2001:db8::0.0.0.10"), limited("per-client")},
		{"link-local IPv6", from("fe80::1"), own("per-client")},
		{"link-local IPv6 with a zone", from("fe80::1%1"), limited("per-client")},
		{"link-local IPv6 with a zone by name", from("fe80::1%lo"), limited("per-client")},
	}
}

// proxyRepeats are headers in several lines, which this Envoy joins before anyone reads them.
func proxyRepeats() []http1Row {
	lines := append(many("cookie: a=1", 999), "cookie: session=bob")
	return []http1Row{
		{"cookie", get("/cart", "cookie: session=bob"), own("per-session")},
		{"in a second line", get("/cart", "cookie: a=1", "cookie: session=bob"), limited("per-session")},
		{"in a second line, the first empty", get("/cart", "cookie:", "cookie: session=bob"), limited("per-session")},
		{"in a second line, the first invalid UTF-8", get("/cart", "cookie: session=\xff", "Cookie: session=bob"), limited("per-session")},
		{"lines apart", get("/cart", "cookie: a=1;", "x-other: 1", "COOKIE: session=bob", "cookie: b"), limited("per-session")},
		{"1 000 lines, the last", get("/cart", lines...), limited("per-session")},
		{"header", get("/orders", "x-user-id: bob"), own("per-user")},
		{"an empty line before it", get("/orders", "x-user-id:", "x-user-id: bob"), limited("per-user")},
		{"an empty line behind it", get("/orders", "x-user-id: bob", "x-user-id: "), limited("per-user")},
		{"two lines, another value to the application too", get("/orders", "x-user-id: bob", "x-user-id: eve"), own("per-user")},
		{"the same in one line", get("/orders", "x-user-id: bob,eve"), limited("per-user")},
		{"blocked value", get("/orders", "x-user-id:", "x-user-id: mallory"), limited("mallory")},
	}
}

// proxyLarge is beyond what the daemon searches, 64 KiB: it refuses, and hashes whole what it need not
// search.
func proxyLarge() []http1Row {
	large := strings.Repeat("x", 200<<10)
	return []http1Row{
		{"header of 200 KiB", get("/orders", "x-user-id: "+large), own("per-user")},
		{"another end", get("/orders", "x-user-id: "+large+"y"), own("per-user")},
		{"another beginning", get("/orders", "x-user-id: y"+large), own("per-user")},
		{"the same again", get("/orders", "x-user-id: "+large), limited("per-user")},
		{"200 KiB of invalid UTF-8", get("/orders", "x-user-id: "+strings.Repeat("\xff", 200<<10)), own("per-user")},
		{"cookie behind 200 KiB", get("/cart", "cookie: a="+large+"; session=bob"), refused("per-session", "input-too-large")},
		{"cookie before 200 KiB", get("/cart", "cookie: session=bob; a="+large), refused("per-session", "input-too-large")},
		{"parameter behind 200 KiB", get("/products?a=" + large + "&sku=7"), refused("per-sku", "input-too-large")},
		{"parameter of another rule", get("/search?q=7&a=" + large), refused("per-term", "input-too-large")},
		{"parameter of 200 KiB", get("/products?sku=" + large), refused("per-sku", "input-too-large")},
		{"path of 200 KiB", get("/" + large), refused("admin", "input-too-large")},
		{"path that Envoy shortens", get("/" + strings.Repeat("a/../", 40<<10) + "admin"), limited("admin")},
		{"header of 1 020 KiB", get("/orders", "x-user-id: "+strings.Repeat("x", 1020<<10)), own("per-user")},
		{"the same again", get("/orders", "x-user-id: "+strings.Repeat("x", 1020<<10)), limited("per-user")},
		{"header of 1 MiB", get("/orders", "x-user-id: "+strings.Repeat("x", 1<<20)), byEnvoy(431)},
	}
}

// proxyHardened is what the settings of the page on hostile requests refuse, and what they let pass.
func proxyHardened() []http1Row {
	return []http1Row{
		{"path parameter", get("/orders;x=y", "x-user-id: eve"), byEnvoy(400)},
		{"path parameter before the route", get("/;x=y/orders"), byEnvoy(400)},
		{"path parameter of a dot segment, which Envoy resolves", get("/x/..;/orders", "x-user-id: zoe"), own("per-user")},
		{"path parameter of an escaped dot segment", get("/x/%2e%2e;x=y/orders"), byEnvoy(400)},
		{"path parameter behind an escape", get("/orders/%61;x"), byEnvoy(400)},
		{"path parameter and query", get("/orders;?x=y"), byEnvoy(400)},
		{"escaped semicolon", get("/orders%3Bx=y"), free},
		{"semicolon in the query", get("/orders?a;b"), free},
		{"underscores in a header", get("/orders", "x_user_id: eve"), byEnvoy(400)},
		{"underscores in one of two", get("/orders", "x-user-id: eve", "X_User-Id: mallory"), byEnvoy(400)},
		{"underscores in a value", get("/orders", "x-user-id: e_v_e"), own("per-user")},
	}
}

func proxyHTTP2() []http2Row {
	var cookies []string
	for range 999 {
		cookies = append(cookies, "cookie", "a=1")
	}
	return []http2Row{
		{"cookie", fields("/cart", "cookie", "session=bob"), limited("per-session")},
		{"1 000 fields, the last", fields("/cart", append(cookies, "cookie", "session=bob")...), limited("per-session")},
		{"underscores in a header", fields("/orders", "x_user_id", "eve"), streamReset},
		{"path parameter", fields("/orders;x=y"), byEnvoy(400)},
		{"header twice, the first empty", with(fields("/orders", "x-user-id", ""), "x-user-id", "bob"), limited("per-user")},
		{"header of 100 KiB", fields("/orders", "x-user-id", strings.Repeat("x", 100<<10)), closed},
		{"path of 100 KiB", fields("/" + strings.Repeat("x", 100<<10)), closed},
	}
}
