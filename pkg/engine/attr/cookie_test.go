package attr

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestCookie(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header, name, value string
		found               engine.Presence
	}{
		{"uid=bob", "uid", "bob", engine.Present},
		{"a=1; uid=bob; b=2", "uid", "bob", engine.Present},
		{"a=1;uid=bob", "uid", "bob", engine.Present},
		{" uid = bob\t;", "uid", "bob", engine.Present},
		{"uid=bob; uid=eve", "uid", "bob", engine.Present},
		{"uid=", "uid", "", engine.Present},
		{"uid", "uid", "", engine.Absent},
		{"UID=bob", "uid", "", engine.Absent},
		{"xuid=1; uidx=2", "uid", "", engine.Absent},
		{"uid=a=b==", "uid", "a=b==", engine.Present},
		{`uid="bob"`, "uid", "bob", engine.Present},
		{`uid=""`, "uid", "", engine.Present},
		{`uid="`, "uid", `"`, engine.Present},
		{"uid=%62ob", "uid", "%62ob", engine.Present},
		{"uid=bob\xff", "uid", "bob\xff", engine.Present},
		{"uid=junk\xff; uid=bob", "uid", "bob", engine.Present},
		{"uid=a b; uid=c,d", "uid", "a b", engine.Present},
		{"", "uid", "", engine.Absent},
		{strings.Repeat("a", maxCookies-6) + ";uid=7", "uid", "7", engine.Present},
		{strings.Repeat("a", maxCookies-5) + ";uid=7", "uid", "", engine.TooLarge},
	} {
		var b Bag
		b.Add("cookie", c.header)
		value, found := b.Param(rule.SourceCookie, c.name)
		if value != c.value || found != c.found {
			t.Errorf("%.40q %q: got %q %d, want %q %d", c.header, c.name, value, found, c.value, c.found)
		}
	}
}

func FuzzCookie(f *testing.F) {
	f.Add("a=1; b=2", "b")
	f.Add(`uid="x"; uid=bob`, "uid")
	f.Add("uid=\xff; uid=a b;uid = c ;", "uid")
	f.Add(";=;==", "")
	f.Fuzz(func(t *testing.T, header, name string) {
		var b Bag
		b.Add("cookie", header)
		value, found := b.Param(rule.SourceCookie, name)
		if found == engine.TooLarge && len(header) <= maxCookies {
			t.Fatalf("%q: too large", header)
		}
		if found != engine.Present || !isCookieValue(value) || value == "" || len(header) > maxCookies {
			return
		}
		// What is well-formed here must be a cookie that net/http sees too.
		if strings.ContainsAny(header, "\t\r\n\v\f\u0085\u00a0") {
			return // net/http trims other blanks
		}
		r := http.Request{Header: http.Header{"Cookie": {header}}}
		for _, c := range r.CookiesNamed(name) {
			if trimBlank(c.Value) == value {
				return
			}
		}
		if (&http.Cookie{Name: name, Value: "v"}).Valid() == nil {
			t.Fatalf("%q %q: got %q, net/http has %v", header, name, value, r.CookiesNamed(name))
		}
	})
}
