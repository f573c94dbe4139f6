//go:build e2e

package e2e

import "strings"

func http1Headers() []http1Row {
	user := func(value string) string { return get("/orders", "x-user-id: "+value) }
	return []http1Row{
		{"header", user("bob"), own("per-user")},
		{"its name in mixed case", get("/orders", "X-USER-Id: bob"), limited("per-user")},
		{"blanks around it", user(" \t bob \t "), limited("per-user")},
		{"folded before the value", get("/orders", "x-user-id:", " bob"), limited("per-user")},
		{"folded behind the value", user("bob\r\n "), limited("per-user")},
		{"folded within, which joins", user("bob\r\n eve"), own("per-user")},
		{"LF for CR LF", user("bob\nx-other: 1"), limited("per-user")},
		{"CR, which Envoy drops", user("bo\rb"), limited("per-user")},
		{"LF", user("bo\nb"), byEnvoy(400)},
		{"NUL", user("bo\x00b"), byEnvoy(400)},
		{"control character", user("bob\x01"), byEnvoy(400)},
		{"DEL", user("bob\x7f"), byEnvoy(400)},
		{"blank before the colon", get("/orders", "x-user-id : bob"), byEnvoy(400)},
		{"invalid UTF-8 in the name", get("/orders", "x-user-id\xff: bob"), byEnvoy(400)},
		{"invalid UTF-8", user("bob\xff"), own("per-user")},
		{"truncated UTF-8", user("bob\xe2\x82"), own("per-user")},
		{"UTF-8 of a surrogate", user("bob\xed\xa0\x80"), own("per-user")},
		{"overlong UTF-8", user("\xc1\xa2ob"), own("per-user")},
		{"invalid UTF-8 only", user("\xff\xfe\xfd"), own("per-user")},
		{"no-break space", user("bob\u00a0"), own("per-user")},
		{"tab within", user("bo\tb"), own("per-user")},
		{"sent twice, which Envoy joins", get("/orders", "x-user-id: bob", "X-User-Id: eve"), own("per-user")},
		{"its hop-by-hop: Envoy removes it", get("/orders", "x-user-id: bob", "connection: x-user-id"), free},
		{"59 KiB", user(strings.Repeat("x", 59<<10)), own("per-user")},
		{"59 KiB, all invalid UTF-8", user(strings.Repeat("\xff", 59<<10)), own("per-user")},
		{"59 KiB, another end", user(strings.Repeat("x", 59<<10-1) + "y"), own("per-user")},
		{"59 KiB, used up", user(strings.Repeat("x", 59<<10)), limited("per-user")},
		{"60 KiB", user(strings.Repeat("x", 60<<10)), byEnvoy(431)},
		{"100 headers", get("/orders", append(many("x-other: 1", 98), "x-user-id: bob")...), limited("per-user")},
		{"101 headers", get("/orders", append(many("x-other: 1", 99), "x-user-id: bob")...), byEnvoy(431)},
		{"blocked value", user("mallory"), limited("mallory")},
		{"blocked value, blanks around", user("\tmallory "), limited("mallory")},
		{"blocked value, other headers odd", get("/orders", "x-user-id: mallory", "\x80: \xff", "x-user-id: eve"), byEnvoy(400)},
		{"blocked value, first of two", get("/orders", "x-user-id: mallory", "x-other: \xff", "x-user-id: "), limited("mallory")},
	}
}

func http1Cookies() []http1Row {
	cookie := func(value string) string { return get("/cart", "cookie: "+value) }
	other, last := strings.Repeat("a=1; ", 999), strings.Repeat("; a=1", 999)
	return []http1Row{
		{"cookie", cookie("session=bob"), own("per-session")},
		{"1 000 cookies, the last", cookie(other + "session=bob"), limited("per-session")},
		{"1 000 cookies, the first", cookie("session=bob" + last), limited("per-session")},
		{"1 000 cookies, not one of them", cookie(other + "b=1"), free},
		{"no blanks between", cookie("a=1;session=bob;b=2"), limited("per-session")},
		{"tabs between and around", cookie("a=1;\tsession\t=\tbob\t;b=2"), limited("per-session")},
		{"nothing between", cookie(";; ;session=bob;;"), limited("per-session")},
		{"in quotes", cookie(`session="bob"`), limited("per-session")},
		{"twice", cookie("session=bob; session=eve"), limited("per-session")},
		{"twice, the first invalid UTF-8", cookie("session=\xff; session=bob"), limited("per-session")},
		{"twice, the first with a blank", cookie("session=e ve; session=bob"), limited("per-session")},
		{"twice, the first with a backslash", cookie(`session=e\ve; session=bob`), limited("per-session")},
		{"invalid UTF-8 in another", cookie("\xff=\xfe; session=bob"), limited("per-session")},
		{"blank line after the name", get("/cart", "cookie:", " session=bob"), limited("per-session")},
		{"header name in mixed case", get("/cart", "COOKIE: session=bob"), limited("per-session")},
		{"invalid UTF-8 in the name", cookie("session\xff=bob"), free},
		{"invalid UTF-8 in the value", cookie("session=bob\xff"), own("per-session")},
		{"the name in upper case", cookie("SESSION=bob"), free},
		{"an escape, which is none in cookies", cookie("session=b%6fb"), own("per-session")},
		{"no value", cookie("session="), own("per-session")},
		{"no equals sign", cookie("session"), free},
		{"NUL", cookie("session=bob\x00"), byEnvoy(400)},
		{"59 KiB before it", cookie("a=" + strings.Repeat("x", 59<<10) + ";session=bob"), limited("per-session")},
		{"60 KiB before it", cookie("a=" + strings.Repeat("x", 60<<10) + ";session=bob"), byEnvoy(431)},
		{"in a second line", get("/cart", "cookie: a=1", "cookie: session=bob"), limited("per-session")},
	}
}

func http1Queries() []http1Row {
	sku := func(query string) string { return get("/products?" + query) }
	term := func(query string) string { return get("/search?" + query) }
	other, last := strings.Repeat("a=1&", 999), strings.Repeat("&a=1", 999)
	return []http1Row{
		{"parameter", sku("sku=b%20ob"), own("per-sku")},
		{"plus for a blank", sku("sku=b+ob"), limited("per-sku")},
		{"escaped letter", sku("sku=%62%20ob"), limited("per-sku")},
		{"escapes in lower and upper case", sku("sku=%6F%6f"), own("per-sku")},
		{"no escape", sku("sku=oo"), limited("per-sku")},
		{"escaped name", sku("s%6bu=b%20ob"), limited("per-sku")},
		{"twice", sku("sku=b%20ob&sku=eve"), limited("per-sku")},
		{"twice, the first with a bad escape", sku("sku=%zz&sku=b%20ob"), limited("per-sku")},
		{"twice, the first with a semicolon", sku("sku=e;ve&sku=b%20ob"), limited("per-sku")},
		{"twice, the first name escaped", sku("%73ku=b%20ob&sku=eve"), limited("per-sku")},
		{"empty ones before it", sku("&&=&=x&sku=b%20ob&"), limited("per-sku")},
		{"1 000 parameters, the last", sku(other + "sku=b%20ob"), limited("per-sku")},
		{"1 000 parameters, the first", sku("sku=b%20ob" + last), limited("per-sku")},
		{"1 000 parameters, not one of them", sku(other + "b=1"), free},
		{"no value", sku("sku="), own("per-sku")},
		{"no equals sign", sku("sku"), limited("per-sku")},
		{"invalid UTF-8", sku("sku=bob%ff"), own("per-sku")},
		{"invalid UTF-8 in the name", sku("sku%ff=bob"), free},
		{"invalid UTF-8 not escaped", sku("sku=bob\xff"), byEnvoy(400)},
		{"NUL", sku("sku=bob%00"), own("per-sku")},
		{"CR LF", sku("sku=bob%0d%0a"), own("per-sku")},
		{"bad escape", sku("sku=%zz"), own("per-sku")},
		{"blank", sku("sku=b ob"), byEnvoy(400)},
		{"tab", sku("sku=b\tob"), byEnvoy(400)},
		{"fragment", sku("sku=b%20ob#x"), byEnvoy(400)},
		{"59 KiB", sku("sku=" + strings.Repeat("x", 59<<10)), own("per-sku")},
		{"60 KiB", sku("sku=" + strings.Repeat("x", 60<<10)), byEnvoy(431)},
		{"parameter of another rule", term("q=b%20ob"), own("per-term")},
		{"plus for a blank", term("q=b+ob"), limited("per-term")},
		{"escaped name and letter", term("%71=%62%20ob"), limited("per-term")},
		{"twice", term("q=b+ob&q=eve"), limited("per-term")},
		{"twice, the first with a bad escape", term("q=%&q=b+ob"), limited("per-term")},
		{"1 000 parameters, the last", term(other + "q=b+ob"), limited("per-term")},
		{"invalid UTF-8", term("q=%ff"), own("per-term")},
		{"NUL", term("q=%00"), own("per-term")},
		{"bad escape", term("q=%zz"), own("per-term")},
		{"no value", term("q="), own("per-term")},
		{"no equals sign", term("q"), limited("per-term")},
	}
}

func http1Paths() []http1Row {
	up, down := strings.Repeat("%2e%2e/", 8000), strings.Repeat("a/../", 11000)
	return []http1Row{
		{"path", get("/admin"), limited("admin")},
		{"trailing slash", get("/admin/"), limited("admin")},
		{"below it", get("/admin/x"), limited("admin")},
		{"//", get("//admin//x"), limited("admin")},
		{"/./", get("/./admin/./x"), limited("admin")},
		{"/../", get("/orders/../admin"), limited("admin")},
		{"above the root", get("/../../admin"), limited("admin")},
		{"%2e%2e", get("/orders/%2e%2e/admin"), limited("admin")},
		{"%2E.", get("/orders/%2E./admin"), limited("admin")},
		{"..;", get("/orders/..;/admin"), limited("admin")},
		{"..;x=y", get("/orders/..;x=y/admin"), limited("admin")},
		{"%2e%2e;x=y, which Envoy takes for a name", get("/orders/%2e%2e;x=y/admin"), limited("admin")},
		{";x=y", get("/admin;x=y"), limited("admin")},
		{";x=y/", get("/admin;x=y/z"), limited("admin")},
		{"/;x/", get("/;x/admin"), limited("admin")},
		{"escaped letter", get("/%61dmin"), limited("admin")},
		{"backslash", get(`/orders\..\admin`), limited("admin")},
		{"escaped slash", get("/admin%2fx"), byEnvoy(307) + " to /admin/x"},
		{"escaped slashes and dots", get("/orders%2F..%2Fadmin"), byEnvoy(307) + " to /admin"},
		{"escaped backslash", get("/admin%5cx"), byEnvoy(307) + " to /admin/x"},
		{"query behind it", get("/admin?/../orders"), limited("admin")},
		{"fragment", get("/admin#x"), byEnvoy(400)},
		{"%00", get("/admin%00"), byEnvoy(400)},
		{"NUL", get("/admin\x00"), byEnvoy(400)},
		{"blank", get("/admin x"), byEnvoy(400)},
		{"tab", get("/admin\tx"), byEnvoy(400)},
		{"bad escape below it", get("/admin/%zz"), limited("admin")},
		{"escaped CR LF below it", get("/admin/%0d%0a"), limited("admin")},
		{"invalid UTF-8 below it, escaped", get("/admin/%ff"), limited("admin")},
		{"invalid UTF-8", get("/admin/\xff"), byEnvoy(400)},
		{"escaped letter beyond ASCII", get("/%c3%a9"), limited("letter")},
		{"the same in upper case", get("/%C3%A9"), limited("letter")},
		{"letter beyond ASCII", get("/é"), byEnvoy(400)},
		{"another path: escaped twice", get("/orders/%252e%252e/admin"), free},
		{"another path: upper case", get("/ADMIN"), free},
		{"another path: escaped semicolon", get("/admin%3bx=y"), free},
		{"another path: three dots", get("/orders/.../admin"), free},
		{"59 KiB below it", get("/admin/" + strings.Repeat("a", 59<<10)), limited("admin")},
		{"29 Ki segments below it", get("/admin" + strings.Repeat("/a", 29<<10)), limited("admin")},
		{"59 KiB of %ff below it", get("/admin/" + strings.Repeat("%ff", 19<<10)), limited("admin")},
		{"8 000 times %2e%2e", get("/" + up + "admin"), limited("admin")},
		{"11 000 times a/..", get("/" + down + "admin"), limited("admin")},
		{"60 KiB below it", get("/admin/" + strings.Repeat("a", 60<<10)), byEnvoy(431)},
		// Envoy finds routes by the path with its parameters: the group sees through, the route not.
		{"route with ;x=y: Envoy takes another", get("/orders;x=y", "x-user-id: bob"), free},
	}
}

func http1Hosts() []http1Row {
	return []http1Row{
		{"host", to("shop.example", "/login"), own("per-host")},
		{"mixed case", to("Shop.EXAMPLE", "/login"), limited("per-host")},
		{"port", to("shop.example:8080", "/login"), limited("per-host")},
		{"port with zeros", to("shop.example:00080", "/login"), limited("per-host")},
		{"port that is none", to("shop.example:99999999", "/login"), limited("per-host")},
		{"port that is no number", to("shop.example:http", "/login"), limited("per-host")},
		{"two ports", to("shop.example:80:81", "/login"), limited("per-host")},
		{"no port behind the colon", to("shop.example:", "/login"), limited("per-host")},
		{"trailing dot", to("shop.example.", "/login"), limited("per-host")},
		{"trailing dots", to("shop.example..", "/login"), limited("per-host")},
		{"trailing dot and port, mixed case", to("SHOP.example.:443", "/login"), limited("per-host")},
		{"blanks around it", to(" \tshop.example ", "/login"), limited("per-host")},
		{"IPv6", to("[2001:db8::1]", "/login"), own("per-host")},
		{"IPv6 in upper case, port", to("[2001:DB8::1]:80", "/login"), limited("per-host")},
		{"IPv6 with zeros", to("[2001:0db8:0:0:0:0:0:1]", "/login"), limited("per-host")},
		{"IPv6 with a zone", to("[2001:db8::1%25eth0]", "/login"), limited("per-host")},
		{"IPv6 without brackets", to("2001:db8::1", "/login"), limited("per-host")},
		{"two lines, which Envoy joins", "GET /login HTTP/1.1\r\nHost: shop.example\r\nHost: eve.example\r\n\r\n", own("per-host")},
		{"invalid UTF-8", to("shop.example\xff", "/login"), byEnvoy(400)},
		{"beyond ASCII", to("shöp.example", "/login"), byEnvoy(400)},
		{"NUL", to("shop.example\x00", "/login"), byEnvoy(400)},
		{"tab", to("shop\texample", "/login"), byEnvoy(400)},
		{"slash", to("shop.example/x", "/login"), byEnvoy(400)},
		{"the same in one line", to("shop.example,eve.example", "/login"), limited("per-host")},
		{"none", "GET /login HTTP/1.1\r\n\r\n", byEnvoy(400)},
		{"blocked host", to("internal.example", "/orders"), limited("internal")},
		{"blocked host in mixed case with dot and port", to("Internal.Example.:1", "/orders"), limited("internal")},
	}
}

func http1Clients() []http1Row {
	from := func(address string) string { return get("/client", "x-forwarded-for: "+address) }
	return []http1Row{
		{"client address", get("/client"), own("per-client")},
		{"X-Forwarded-For, not trusted here", from("192.0.2.1"), limited("per-client")},
		{"X-Forwarded-For of invalid UTF-8", from("\xff\xfe"), limited("per-client")},
		{"X-Forwarded-For of 59 KiB", from(strings.Repeat("1.2.3.4,", 59<<7)), limited("per-client")},
		{"Envoy's own headers", get("/client", "x-envoy-external-address: 192.0.2.1", "x-envoy-internal: true", "x-envoy-original-path: /orders"), limited("per-client")},
		{"other proxies' headers", get("/client", "forwarded: for=192.0.2.1", "x-real-ip: 192.0.2.1", "true-client-ip: 192.0.2.1"), limited("per-client")},
		{"deadlines that are not the client's to set", get("/client", "grpc-timeout: 1n", "x-envoy-expected-rq-timeout-ms: 1", "x-envoy-upstream-rq-timeout-ms: 1"), limited("per-client")},
	}
}

func http1Targets() []http1Row {
	return []http1Row{
		{"absolute target", get("http://shop.example/admin"), limited("admin")},
		{"absolute target in upper case", get("HTTP://shop.example:80/orders/../admin"), limited("admin")},
		{"absolute target with a user", get("http://u:p@shop.example/admin"), limited("admin")},
		{"its host counts", get("http://INTERNAL.example:80/orders"), limited("internal")},
		{"the Host header does not", to("internal.example", "http://other.example/orders"), free},
		{"https, which the connection is not", get("https://shop.example/admin"), byEnvoy(403)},
		{"another scheme", get("ftp://shop.example/admin"), byEnvoy(400)},
		{"absolute target without host", get("http:///admin"), byEnvoy(400)},
		{"no path", get("http://internal.example"), limited("internal")},
		{"query without path", get("http://shop.example?/admin"), byEnvoy(404)},
		{"no slash", get("admin"), byEnvoy(400)},
		{"no target", get(""), byEnvoy(400)},
		{"GET *", get("*"), byEnvoy(400)},
		{"OPTIONS *", method("OPTIONS", "*"), byEnvoy(404)},
		{"OPTIONS", method("OPTIONS", "/admin"), limited("admin")},
		{"TRACE", method("TRACE", "/admin"), limited("admin")},
		{"CONNECT", method("CONNECT", "shop.example:443"), byEnvoy(404)},
		{"CONNECT with a path", method("CONNECT", "/admin"), byEnvoy(400)},
		{"blocked method", method("POST", "/writes", "content-length: 0"), limited("writes")},
		{"blocked method in lower case", method("post", "/writes", "content-length: 0"), byEnvoy(400)},
		{"method of invalid UTF-8", method("G\xffT", "/admin"), byEnvoy(400)},
		{"no method", method("", "/admin"), byEnvoy(400)},
		{"HTTP/1.0", "GET /admin HTTP/1.0\r\nHost: shop.example\r\n\r\n", byEnvoy(426)},
		{"HTTP/0.9", "GET /admin\r\n\r\n", byEnvoy(426)},
		{"upgrade to WebSocket", get("/admin", "connection: upgrade", "upgrade: websocket"), byEnvoy(403)},
		{"upgrade to HTTP/2, which Envoy ignores", get("/admin", "connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABk"), limited("admin")},
	}
}

// http1Missing has values that are absent and ones that are empty, for each thing that rules do about
// those that are absent: all of them have one budget, and all that are empty another.
func http1Missing() []http1Row {
	var rows []http1Row
	for _, does := range []string{"skip", "limit", "block"} {
		at := func(source string) string { return "/" + does + "/" + source }
		for _, source := range []struct {
			name          string
			absent, empty []string
		}{
			{"header", []string{get(at("header"))}, []string{get(at("header"), "x-user-id:"), get(at("header"), "x-user-id: \t ")}},
			{"cookie", []string{get(at("cookie")), get(at("cookie"), "cookie:"), get(at("cookie"), "cookie: session"), get(at("cookie"), "cookie: \xff=1")},
				[]string{get(at("cookie"), "cookie: session="), get(at("cookie"), `cookie: session=""`)}},
			{"query", []string{get(at("query")), get(at("query?")), get(at("query?sku%ff"))}, []string{get(at("query?sku=")), get(at("query?sku"))}},
			{"term", []string{get(at("term")), get(at("term?")), get(at("term?Q=1"))}, []string{get(at("term?q=")), get(at("term?q"))}},
			{"host", []string{to("", at("host")), to(":80", at("host")), to(".", at("host"))}, nil},
		} {
			rule := does + "-" + source.name
			first, next := own(rule), limited(rule)
			for i, sent := range source.absent {
				want := first
				switch {
				case does == "skip":
					want = free
				case does == "block":
					want = refused(rule, "missing-param")
				case i > 0:
					want = next
				}
				rows = append(rows, http1Row{"absent " + source.name + ", onMissing " + does, sent, want})
			}
			for i, sent := range source.empty {
				want := first
				if i > 0 {
					want = next
				}
				rows = append(rows, http1Row{"empty " + source.name + ", onMissing " + does, sent, want})
			}
		}
	}
	return rows
}

// many repeats a header line.
func many(line string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line
	}
	return lines
}
