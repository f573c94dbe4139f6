//go:build e2e

package e2e

import "strings"

func http2Headers() []http2Row {
	user := func(value string) http2Row { return http2Row{fields: fields("/orders", "x-user-id", value)} }
	row := func(what, value, want string) http2Row { r := user(value); r.what, r.want = what, want; return r }
	return []http2Row{
		row("header", "bob", own("per-user")),
		row("blank before it", " bob", limited("per-user")),
		row("blank behind it", "bob ", limited("per-user")),
		row("tabs and blanks around it", "\t bob \t\t", limited("per-user")),
		row("tab within", "bo\tb", own("per-user")),
		row("invalid UTF-8", "bob\xff", own("per-user")),
		row("invalid UTF-8 only", "\xff\xfe", own("per-user")),
		row("overlong UTF-8", "\xc1\xa2ob", own("per-user")),
		row("no-break space", "bob\u00a0", own("per-user")),
		row("nothing", "", own("per-user")),
		row("blanks", " \t ", limited("per-user")),
		row("NUL", "bo\x00b", closed),
		row("CR", "bo\rb", closed),
		row("LF", "bo\nb", closed),
		row("CR LF and a header", "bob\r\nx-other: 1", closed),
		row("control character", "bob\x01", closed),
		row("DEL", "bob\x7f", closed),
		row("59 KiB", strings.Repeat("x", 59<<10), own("per-user")),
		row("59 KiB, another end", strings.Repeat("x", 59<<10-1)+"y", own("per-user")),
		row("59 KiB and a blank", strings.Repeat("x", 59<<10)+" ", limited("per-user")),
		row("61 KiB", strings.Repeat("x", 61<<10), streamReset),
		row("blocked value", "mallory", limited("mallory")),
		row("blocked value and a blank", "mallory ", limited("mallory")),
		{"sent twice, which Envoy joins", with(fields("/orders", "x-user-id", "bob"), "x-user-id", "eve"), own("per-user")},
		{"name in mixed case", fields("/orders", "X-User-Id", "bob"), closed},
		{"invalid UTF-8 in the name", fields("/orders", "x-user-id\xff", "bob"), closed},
		{"NUL in the name", fields("/orders", "x-user-id\x00", "bob"), closed},
		{"blank in the name", fields("/orders", "x-user-id ", "bob"), closed},
		{"no name", fields("/orders", "", "bob"), closed},
		{"connection header", fields("/orders", "x-user-id", "bob", "connection", "x-user-id"), closed},
	}
}

func http2Cookies() []http2Row {
	cookies := func(n int, last string) []string {
		var fields []string
		for range n {
			fields = append(fields, "cookie", "a=1")
		}
		return append(fields, "cookie", last)
	}
	return []http2Row{
		{"cookie", fields("/cart", "cookie", "session=bob"), own("per-session")},
		{"blanks around it", fields("/cart", "cookie", " session=bob "), limited("per-session")},
		{"in a field of its own", fields("/cart", "cookie", "a=1", "cookie", "session=bob", "cookie", "b=2"), limited("per-session")},
		{"fields apart", fields("/cart", "cookie", "a=1", "x-user-id", "x", "cookie", "session=bob"), limited("per-session")},
		{"twice", fields("/cart", "cookie", "session=bob", "cookie", "session=eve"), limited("per-session")},
		{"twice, the first invalid UTF-8", fields("/cart", "cookie", "session=\xff", "cookie", "session=bob"), limited("per-session")},
		{"90 fields, the last", fields("/cart", cookies(90, "session=bob")...), limited("per-session")},
		{"1 000 fields", fields("/cart", cookies(999, "session=bob")...), streamReset},
		{"1 000 in one field, the last", fields("/cart", "cookie", strings.Repeat("a=1; ", 999)+"session=bob"), limited("per-session")},
		{"1 000 in one field, the first", fields("/cart", "cookie", "session=bob"+strings.Repeat("; a=1", 999)), limited("per-session")},
		{"1 000 in one field, not one of them", fields("/cart", "cookie", strings.Repeat("a=1; ", 1000)), free},
		{"invalid UTF-8 in the name", fields("/cart", "cookie", "session\xff=bob"), free},
		{"invalid UTF-8 in the value", fields("/cart", "cookie", "session=bob\xff"), own("per-session")},
		{"NUL", fields("/cart", "cookie", "session=bob\x00"), closed},
		{"no value", fields("/cart", "cookie", "session="), own("per-session")},
	}
}

func http2Paths() []http2Row {
	return []http2Row{
		{"path", fields("/admin"), limited("admin")},
		{"//", fields("//admin"), limited("admin")},
		{"%2e%2e", fields("/orders/%2e%2e/admin"), limited("admin")},
		{";x=y", fields("/admin;x=y"), limited("admin")},
		{"%2e%2e;x=y, which Envoy takes for a name", fields("/orders/%2e%2e;x=y/admin"), limited("admin")},
		{"backslash", fields(`/admin\x`), limited("admin")},
		{"escaped slash", fields("/admin%2fx"), byEnvoy(307) + " to /admin/x"},
		{"%00", fields("/admin%00"), byEnvoy(400)},
		{"fragment", fields("/admin#x"), byEnvoy(400)},
		{"invalid UTF-8 below it", fields("/admin/\xff"), limited("admin")},
		{"letter beyond ASCII, escaped", fields("/%c3%a9"), limited("letter")},
		{"letter beyond ASCII", fields("/é"), limited("letter")},
		{"NUL", fields("/admin\x00"), closed},
		{"blank", fields("/admin x"), closed},
		{"blank behind it", fields("/admin "), closed},
		{"tab", fields("/admin\t"), closed},
		{"CR LF", fields("/admin\r\n"), closed},
		{"no slash", fields("admin"), closed},
		{"nothing", fields(""), closed},
		{"absolute target", fields("http://shop.example/admin"), closed},
		{"59 KiB below it", fields("/admin/" + strings.Repeat("a", 59<<10)), limited("admin")},
		{"61 KiB below it", fields("/admin/" + strings.Repeat("a", 61<<10)), streamReset},
		{"parameter", fields("/products?sku=b%20ob"), own("per-sku")},
		{"plus for a blank", fields("/products?sku=b+ob"), limited("per-sku")},
		{"invalid UTF-8 in a parameter", fields("/products?sku=bob\xff"), own("per-sku")},
		{"the same escaped", fields("/products?sku=bob%ff"), limited("per-sku")},
		{"invalid UTF-8 in another's name", fields("/products?\xff=1&sku=b+ob"), limited("per-sku")},
		{"parameter of another rule, invalid UTF-8", fields("/search?q=bob\xff"), own("per-term")},
		{"the same escaped", fields("/search?q=bob%ff"), limited("per-term")},
	}
}

func http2Hosts() []http2Row {
	at := func(authority string) http2Row { return http2Row{fields: fields("/login", ":authority", authority)} }
	row := func(what, authority, want string) http2Row { r := at(authority); r.what, r.want = what, want; return r }
	return []http2Row{
		row("host", "shop.example", own("per-host")),
		row("mixed case and port", "SHOP.example:80", limited("per-host")),
		row("port that is no number", "shop.example:http", limited("per-host")),
		row("trailing dot", "shop.example.", limited("per-host")),
		row("trailing dot and port", "shop.example.:8080", limited("per-host")),
		row("IPv6", "[2001:db8::1]", own("per-host")),
		row("IPv6 with zeros, upper case", "[2001:DB8:0::1]:80", limited("per-host")),
		row("an escape, which is none in hosts", "sh%6fp.example", own("per-host")),
		row("blank behind it", "shop.example ", closed),
		row("blank before it", " shop.example", closed),
		row("user", "u@shop.example", closed),
		row("invalid UTF-8", "shop.example\xff", closed),
		row("NUL", "shop.example\x00", closed),
		row("slash", "shop.example/x", closed),
		row("nothing", "", closed),
		row("blocked host, mixed case, dot and port", "Internal.EXAMPLE.:1", limited("internal")),
		{"the host header for :authority", with(without(":authority", fields("/login")), "host", "shop.example"), limited("per-host")},
		{"neither", without(":authority", fields("/login")), closed},
		{":authority counts, the host header does not", fields("/login", "host", "eve.example"), limited("per-host")},
	}
}

func http2Targets() []http2Row {
	return []http2Row{
		{"blocked method", fields("/writes", ":method", "POST"), limited("writes")},
		{"blocked method in lower case", fields("/writes", ":method", "post"), limited("writes")},
		{"another method", fields("/writes", ":method", "PUT"), free},
		{"method with a blank", fields("/writes", ":method", "POST "), closed},
		{"method of invalid UTF-8", fields("/writes", ":method", "P\xffST"), closed},
		{"no method", without(":method", fields("/admin")), closed},
		{"empty method", fields("/admin", ":method", ""), closed},
		{"another scheme", fields("/admin", ":scheme", "ftp"), limited("admin")},
		{"no path", without(":path", fields("")), closed},
		{"two paths", with(fields("/orders"), ":path", "/admin"), closed},
		{"a path behind the headers", with(fields("/orders", "x-user-id", "bob"), ":path", "/admin"), closed},
		{"unknown pseudo-header", with(fields("/admin"), ":other", "1"), closed},
		{"OPTIONS *", fields("*", ":method", "OPTIONS"), byEnvoy(404)},
		{"GET *", fields("*"), closed},
		{"CONNECT", without(":path", without(":scheme", fields("", ":method", "CONNECT", ":authority", "shop.example:443"))), byEnvoy(404)},
		{"CONNECT to a WebSocket", with(fields("/admin", ":method", "CONNECT"), ":protocol", "websocket"), closed},
		{"X-Forwarded-For, not trusted here", fields("/client", "x-forwarded-for", "192.0.2.1"), own("per-client")},
		{"the same, invalid UTF-8", fields("/client", "x-forwarded-for", "\xff"), limited("per-client")},
	}
}
