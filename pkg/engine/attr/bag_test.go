package attr

import (
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func fill(b *Bag, pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		b.Add(pairs[i], pairs[i+1])
	}
}

func TestRequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pairs []string
		want  engine.Request
	}{
		{"nothing", nil, engine.Request{}},
		{"all names", []string{"resource", "orders", "path", "/a/../b?x=1", "method", "get", "host", "Shop.Example.:80", "origin", " Web\t", "remote_address", "1.2.3.4"},
			engine.Request{Resource: "orders", Path: "/b", Method: "GET", Host: "shop.example", Origin: " Web\t", ClientIP: "1.2.3.4"}},
		{"Envoy's names", []string{"masked_remote_address", "1.2.3.0/24", ":authority", "h", ":method", "PUT", ":path", "/x", "generic_key", "g"},
			engine.Request{Resource: "g", Path: "/x", Method: "PUT", Host: "h", ClientIP: "1.2.3.0/24"}},
		{"the first name wins in any order", []string{"generic_key", "g", "route", "r", "resource", "s", ":path", "/2", "path", "/1", ":method", "M2", "method", "M1",
			":authority", "h2", "host", "h1", "masked_remote_address", "2.2.2.2", "remote_address", "1.1.1.1"},
			engine.Request{Resource: "s", Path: "/1", Method: "M1", Host: "h1", ClientIP: "1.1.1.1"}},
		{"route before generic_key", []string{"generic_key", "g", "route", "r"}, engine.Request{Resource: "r"}},
		{"the first of a repeated key wins", []string{"resource", "a", "resource", "b", "path", "/1", "path", "/2"}, engine.Request{Resource: "a", Path: "/1"}},
		{"empty falls through", []string{"resource", "", "route", "r", "path", "", ":path", "/p"}, engine.Request{Resource: "r", Path: "/p"}},
		{"no path", []string{"path", ""}, engine.Request{}},
		{"keys are case-sensitive", []string{"Resource", "a", "PATH", "/x"}, engine.Request{}},
		{"bytes as they come", []string{"resource", "a\xff", "method", "\xff", "origin", "\xfe", "host", "A\xff"},
			engine.Request{Resource: "a\xff", Method: "\xff", Origin: "\xfe", Host: "a\xff"}},
		{"longest path", []string{"path", "/" + strings.Repeat("a", maxPath-1) + "?q=" + strings.Repeat("b", maxQuery)},
			engine.Request{Path: "/" + strings.Repeat("a", maxPath-1)}},
		{"longer path", []string{"path", "/" + strings.Repeat("a", maxPath)}, engine.Request{PathTooLarge: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b Bag
			fill(&b, c.pairs...)
			got := engine.Request{Hits: 7, Kind: engine.Peek, PathTooLarge: true, Path: "stale", ClientIP: "stale"}
			b.Request(&got)
			c.want.Hits, c.want.Kind, c.want.Attrs = 7, engine.Peek, &b
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                   "",
		"a.example":          "a.example",
		"A.Example":          "a.example",
		"a.example:8080":     "a.example",
		"a.example.":         "a.example",
		"a.example.:443":     "a.example",
		"a.example:":         "a.example",
		"a.example:http":     "a.example",
		"a.example:80:80":    "a.example",
		"a.example:80.":      "a.example",
		"a.example.:x":       "a.example",
		"a.example..":        "a.example",
		".":                  "",
		":80":                "",
		"[::1]":              "[::1]",
		"[::1]:8080":         "[::1]",
		"[FE80::A]:1":        "[fe80::a]",
		"[fe80:0::0:A]":      "[fe80::a]",
		"[fe80::a%25eth0]":   "[fe80::a]",
		"[::ffff:102:304]":   "[::ffff:1.2.3.4]",
		"[::1].:80":          "[::1]",
		"[::1":               "[::1",
		"[A.Example]:80":     "[a.example]",
		"::1":                "[::1]",
		"fe80::1:80":         "[fe80::1:80]",
		"fe80::1%eth0":       "[fe80::1]",
		"1.2.3.4:80":         "1.2.3.4",
		"b\u00dcCHER.\xff:1": "b\u00dccher.\xff",
	} {
		var s scratch
		if got := s.host(sent); got != want {
			t.Errorf("%q: got %q, want %q", sent, got, want)
		}
	}
}

func TestIP(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"":                                "",
		"1.2.3.4":                         "1.2.3.4",
		"1.2.3.4:567":                     "1.2.3.4",
		"1.2.3.4/32":                      "1.2.3.4",
		"1.2.3.0/24":                      "1.2.3.0/24",
		"01.2.3.4":                        "01.2.3.4",
		"::ffff:1.2.3.4":                  "1.2.3.4",
		"::FFFF:102:304":                  "1.2.3.4",
		"::ffff:1.2.3.4/128":              "1.2.3.4",
		"2001:DB8::1":                     "2001:db8::1",
		"2001:0db8:0000:0:0:0:0:0001":     "2001:db8::1",
		"2001:db8::1/128":                 "2001:db8::1",
		"2001:DB8::/64":                   "2001:db8::/64",
		"[2001:DB8::1]:443":               "2001:db8::1",
		"[2001:db8::1]":                   "2001:db8::1",
		"fe80::1%eth0":                    "fe80::1",
		"[FE80::1%25eth0]:1":              "fe80::1",
		"@sidecard":                       "@sidecard",
		"/run/envoy.sock":                 "/run/envoy.sock",
		"1.2.3":                           "1.2.3",
		"1.2.3.4.5":                       "1.2.3.4.5",
		"2001:db8::1::2":                  "2001:db8::1::2",
		"\xff":                            "\xff",
		"unknown":                         "unknown",
		"a:1":                             "a:1",
		"0000:0000:0000:0:0:ffff:1.2.3.4": "1.2.3.4",
	} {
		var s scratch
		got := s.ip(sent)
		if got != want {
			t.Errorf("%q: got %q, want %q", sent, got, want)
		}
		if again := s.ip(got); again != got {
			t.Errorf("%q: got %q, and %q the second time", sent, got, again)
		}
	}
}

func TestParam(t *testing.T) {
	t.Parallel()
	var b Bag
	fill(&b,
		"both", "bare", "header.Both", "h", "query.both", "q", "cookie.both", "c",
		"X-User", "bob", "x-user", "eve", "header.dup", "1", "header.DUP", "2",
		"query.sku", "sent", "query.other", "sent", "query.empty", "", "arg.0", "a",
		"path", "/p?sku=parsed&page=2&bare=parsed", "bare", "b",
		"cookie", "sid=s1; bare=baked; sku=c", "host", "h")
	for _, c := range []struct {
		source rule.ParamSource
		name   string
		value  string
		found  engine.Presence
	}{
		{rule.SourceHeader, "both", "h", engine.Present},
		{rule.SourceURLParam, "both", "q", engine.Present},
		{rule.SourceCookie, "both", "c", engine.Present},
		{rule.SourceHeader, "x-user", "bob", engine.Present},
		{rule.SourceURLParam, "X-User", "bob", engine.Present},
		{rule.SourceCookie, "x-user", "eve", engine.Present},
		{rule.SourceHeader, "dup", "1", engine.Present},
		{rule.SourceURLParam, "sku", "parsed", engine.Present},
		{rule.SourceURLParam, "other", "sent", engine.Present},
		{rule.SourceURLParam, "empty", "", engine.Present},
		{rule.SourceURLParam, "page", "2", engine.Present},
		{rule.SourceURLParam, "bare", "parsed", engine.Present},
		{rule.SourceCookie, "bare", "baked", engine.Present},
		{rule.SourceHeader, "bare", "b", engine.Present},
		{rule.SourceCookie, "sid", "s1", engine.Present},
		{rule.SourceCookie, "sku", "c", engine.Present},
		{rule.SourceHeader, "sku", "", engine.Absent},
		{rule.SourceHeader, "arg.0", "", engine.Absent},
		{rule.SourceHeader, "host", "", engine.Absent},
		{rule.SourceURLParam, "nope", "", engine.Absent},
		{rule.SourceCookie, "nope", "", engine.Absent},
	} {
		for range 2 { // the second time comes from what was found before
			value, found := b.Param(c.source, c.name)
			if value != c.value || found != c.found {
				t.Errorf("source %d %q: got %q %d, want %q %d", c.source, c.name, value, found, c.value, c.found)
			}
		}
	}
	b.Reset()
	for source := rule.SourceHeader; source <= rule.SourceCookie; source++ {
		if value, found := b.Param(source, "both"); found != engine.Absent {
			t.Errorf("source %d after Reset: got %q %d", source, value, found)
		}
	}
	b.Add("query.sku", "new")
	if value, _ := b.Param(rule.SourceURLParam, "sku"); value != "new" {
		t.Errorf("after Reset: got %q, want the new value", value)
	}
}

// A query that is too large to search says so even to a rule that another attribute could serve:
// what it holds may be spelled otherwise. A header needs no search.
func TestParamTooLarge(t *testing.T) {
	t.Parallel()
	var b Bag
	fill(&b, "path", "/p?"+strings.Repeat("a", maxQuery+1), "bare", "b", "query.sku", "7")
	for _, name := range []string{"bare", "sku"} {
		if _, found := b.Param(rule.SourceURLParam, name); found != engine.TooLarge {
			t.Errorf("%s: got %d, want TooLarge", name, found)
		}
	}
	if value, found := b.Param(rule.SourceHeader, "bare"); value != "b" || found != engine.Present {
		t.Errorf("header: got %q %d", value, found)
	}
}

// Envoy takes blanks around a value in HTTP/2, and the application behind it drops them.
func TestBlanksAroundHeaderValues(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{" bob": "bob", "bob\t ": "bob", "\t": "", "bo b": "bo b", "bob\u00a0": "bob\u00a0"} {
		for _, key := range []string{"header.X-User-Id", "x-user-id"} {
			var b Bag
			b.Add(key, sent)
			if value, found := b.Param(rule.SourceHeader, "x-user-id"); value != want || found != engine.Present {
				t.Errorf("%s %q: got %q %d, want %q", key, sent, value, found, want)
			}
		}
	}
	var b Bag
	b.Add("query.q", " x ")
	if value, _ := b.Param(rule.SourceURLParam, "q"); value != " x " {
		t.Errorf("a URL parameter: got %q, want its blanks kept", value)
	}
}

// Envoy decodes a parameter's escapes but leaves "+", which the application takes for a blank.
func TestPathSpellsOutWhatEnvoySends(t *testing.T) {
	t.Parallel()
	for query, sent := range map[string]string{"sku=a+b": "a+b", "sku=a%20b": "a b", "sku=%zz&sku=a+b": "%zz"} {
		var b Bag
		fill(&b, "query.sku", sent, "path", "/products?"+query)
		if value, found := b.Param(rule.SourceURLParam, "sku"); value != "a b" || found != engine.Present {
			t.Errorf("%s: got %q %d", query, value, found)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pairs []string
		want  Report
		ok    bool
	}{
		{[]string{"resource", "a"}, Report{}, false},
		{[]string{"sidecard.token", "t1", "sidecard.token", "t2", "sidecard.code", "200"}, Report{Token: "t1", Code: "200"}, true},
		{[]string{"sidecard.flags", "UF,URX", "resource", "a"}, Report{Flags: "UF,URX"}, true},
		{[]string{"sidecard.code", "0", "sidecard.code", "503"}, Report{Code: "0"}, true},
		{[]string{"sidecard.code", ""}, Report{}, true},
		{[]string{"sidecard.other", "0"}, Report{}, false},
	} {
		var b Bag
		fill(&b, c.pairs...)
		if got, ok := b.Report(); got != c.want || ok != c.ok {
			t.Errorf("%q: got %+v %v, want %+v %v", c.pairs, got, ok, c.want, c.ok)
		}
		b.Reset()
		if got, ok := b.Report(); got != (Report{}) || ok {
			t.Errorf("%q after Reset: got %+v %v", c.pairs, got, ok)
		}
	}
}

// Strings taken earlier must survive later writes to the scratch space, growth included.
func TestStringsSurviveGrowth(t *testing.T) {
	t.Parallel()
	var b Bag
	fill(&b, "path", "/%61?a=%41&b="+strings.Repeat("%42", 5000), "host", "HOST")
	var r engine.Request
	b.Request(&r)
	first, _ := b.Param(rule.SourceURLParam, "a")
	second, _ := b.Param(rule.SourceURLParam, "b")
	if r.Path != "/a" || r.Host != "host" || first != "A" || second != strings.Repeat("B", 5000) {
		t.Errorf("got %q %q %q and %d bytes", r.Path, r.Host, first, len(second))
	}
}

// A bag at rest pins no strings, and keeps its buffers only while they are small.
func TestReset(t *testing.T) {
	t.Parallel()
	var b Bag
	for _, c := range []struct {
		value string
		kept  bool
	}{{"%41", true}, {strings.Repeat("%41", maxKept+1), false}} {
		fill(&b, "x-user", "bob", "path", "/?a="+c.value, "cookie", "a=1")
		b.Param(rule.SourceURLParam, "a")
		b.Param(rule.SourceCookie, "a")
		entries, found := b.entries, b.found
		b.Reset()
		if len(entries) != 1 || entries[0] != (entry{}) || len(found) != 2 || found[0] != (finding{}) {
			t.Errorf("after Reset: got entries %q, found %q", entries, found)
		}
		if n := len(b.entries) + len(b.found) + len(b.scratch.buf); n != 0 {
			t.Errorf("after Reset: %d things are left", n)
		}
		if kept := cap(b.scratch.buf) > 0; kept != c.kept {
			t.Errorf("scratch of %d bytes kept: %v", cap(b.scratch.buf), kept)
		}
	}
}

func requestOnce(b *Bag, r *engine.Request) {
	b.Reset()
	fill(b, "route", "orders", ":path", "/orders/./7?sku=%41b&page=2", ":method", "GET", ":authority", "Shop.Example:443",
		"remote_address", "2001:DB8::1", "header.X-User-Id", "bob", "cookie", "sid=\"s1\"; theme=dark")
	b.Request(r)
	for i, name := range [...]string{"x-user-id", "sku", "theme"} {
		b.Param(rule.SourceHeader+rule.ParamSource(i), name)
	}
}

func TestAllocs(t *testing.T) {
	var b Bag
	var r engine.Request
	requestOnce(&b, &r)
	if r.Path != "/orders/7" || r.Host != "shop.example" || r.ClientIP != "2001:db8::1" {
		t.Fatalf("got %+v", r)
	}
	if n := testing.AllocsPerRun(200, func() { requestOnce(&b, &r) }); n != 0 {
		t.Errorf("got %v allocations a request, want 0", n)
	}
}

func BenchmarkBag(b *testing.B) {
	var bag Bag
	var r engine.Request
	b.ReportAllocs()
	for b.Loop() {
		requestOnce(&bag, &r)
	}
}
