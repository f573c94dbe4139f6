package attr

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/rule"
)

func normal(raw string) (path, query string) {
	var s scratch
	path, query = splitTarget(raw)
	return s.path(path), query
}

func TestPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, path, query string }{
		{"/", "/", ""},
		{"/orders/7", "/orders/7", ""},
		{"/orders/7?a=1&b=2", "/orders/7", "a=1&b=2"},
		{"/orders/7?", "/orders/7", ""},
		{"?a=1", "/", "a=1"},
		{"/orders/", "/orders/", ""},
		{"/a//b", "/a/b", ""},
		{"//a", "/a", ""},
		{"/a//", "/a/", ""},
		{"/a/./b", "/a/b", ""},
		{"/a/../b", "/b", ""},
		{"/a//../b", "/b", ""},
		{"/../../a", "/a", ""},
		{"/..", "/", ""},
		{"/a/b/..", "/a/", ""},
		{"/a/b/.", "/a/b/", ""},
		{"/a/.../b", "/a/.../b", ""},
		{"/a/.b/..c/d.", "/a/.b/..c/d.", ""},
		{"/a/%2e%2E/b", "/b", ""},
		{"/a/.%2e/b", "/b", ""},
		{"/%61dmin", "/admin", ""},
		{"/%41%7e%2d%5F", "/A~-_", ""},
		{"/v1/items%3acancel/%40me/%21", "/v1/items:cancel/@me/!", ""},
		{"/a%2fb", "/a%2Fb", ""},
		{"/a%3bb", "/a%3Bb", ""},
		{"/a%3fb%23c", "/a%3Fb%23c", ""},
		{"/a%25b", "/a%25b", ""},
		{"/a%", "/a%25", ""},
		{"/a%4", "/a%254", ""},
		{"/a%zz", "/a%25zz", ""},
		{"/%%34%31", "/%2541", ""},
		{"/a b\\c", "/a%20b%5Cc", ""},
		{"/caf\xc3\xa9", "/caf%C3%A9", ""},
		{"/caf%c3%a9", "/caf%C3%A9", ""},
		{"/bob\xff\x00", "/bob%FF%00", ""},
		{"/a;v=1/b;w=2", "/a/b", ""},
		{"/a;v=1?x", "/a", "x"},
		{"/a/..;/b", "/b", ""},
		{"/a/;x/../b", "/b", ""},
		{"/a/;x", "/a/", ""},
		{"/a/%2e%2e;x/b", "/b", ""},
		{"/a#frag", "/a", ""},
		{"/a?q=1#frag?x", "/a", "q=1"},
		{"/a#frag?q=1", "/a", ""},
		{"http://host/p/q?x=1", "/p/q", "x=1"},
		{"HTTP://host:80", "/", ""},
		{"http://host?x=1", "/", "x=1"},
		{"h2+c://host//p", "/p", ""},
		{"1a://host/p", "/1a:/host/p", ""},
		{"://host/p", "/:/host/p", ""},
		{"*", "*", ""},
		{"*?x", "*", "x"},
		{"**", "/**", ""},
		{"orders/7", "/orders/7", ""},
		{"../a", "/a", ""},
		{".", "/", ""},
	} {
		path, query := normal(c.raw)
		if path != c.path || query != c.query {
			t.Errorf("%q: got path %q query %q, want %q %q", c.raw, path, query, c.path, c.query)
		}
	}
}

// A path that is normal already must not be copied.
func TestPathAliases(t *testing.T) {
	t.Parallel()
	var s scratch
	for _, p := range []string{"/", "/orders/7", "/a/.b/c..d/", "/v1/x:cancel/@me/!$&'()*+,=~", "*"} {
		if got := s.path(p); got != p || len(s.buf) != 0 {
			t.Errorf("%q: got %q and %d bytes of scratch, want an alias", p, got, len(s.buf))
		}
	}
}

// checkNormal holds whatever the path: one spelling, which normalising again does not change.
func checkNormal(t interface{ Fatalf(string, ...any) }, raw string) {
	path, _ := splitTarget(raw)
	var s scratch
	once := s.path(path)
	if once != "*" && (once == "" || once[0] != '/') {
		t.Fatalf("%q: got %q, which has no root", raw, once)
	}
	if len(once) > 3*len(path)+1 {
		t.Fatalf("%q: got %d bytes out of %d", raw, len(once), len(path))
	}
	for _, bad := range []string{"//", "/./", "/../", ";", "?", "#", " "} {
		if strings.Contains(once, bad) {
			t.Fatalf("%q: got %q, which contains %q", raw, once, bad)
		}
	}
	if strings.HasSuffix(once, "/.") || strings.HasSuffix(once, "/..") {
		t.Fatalf("%q: got %q, which ends in a dot segment", raw, once)
	}
	if twice, _ := normal(once); twice != once {
		t.Fatalf("%q: got %q, and %q the second time", raw, once, twice)
	}
	if isNormal(path) && once != path {
		t.Fatalf("%q is called normal but became %q", path, once)
	}
	if slow := string(appendNormal(nil, path)); path != "*" && slow != once {
		t.Fatalf("%q: the two ways give %q and %q", raw, once, slow)
	}
}

func TestPathProperties(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"/", "//", ".", "..", "%2e", "%2E", "a", "b;x=1", ";", "%", "%2f", "%25", "41", "%61", "%zz", "\xff", " ", "*", "://", "http", "é"})
	rapid.Check(t, func(rt *rapid.T) {
		checkNormal(rt, strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(rt, "pieces"), ""))
	})
}

// The validation of rules refuses path patterns that no path can match, and has a spelling of its own
// for that: the two must not part.
func TestRulesAgreeOnSpelling(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"/", ".", "..", "%2e", "a", "b;x=1", "%", "%2f", "%2F", ":", "%3A", "%3B", "%7E", "%7C", "%FF", "41", "%61", "%7B", "%zz", "@", "+", "é", "|", "~", "%\x10\x11"})
	rapid.Check(t, func(rt *rapid.T) {
		pattern := "/" + strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(rt, "pieces"), "")
		data, err := json.Marshal([]map[string]any{{"apiName": "a", "predicateItems": []map[string]any{{"pattern": pattern, "matchStrategy": 0}}}})
		if err != nil {
			rt.Fatal(err)
		}
		_, problems := rule.Load([]rule.File{{Name: "gw-api-definitions.json", Data: data}}, rule.Options{})
		path, _ := normal(pattern)
		if err := problems.Err(); (err == nil) != (path == pattern) {
			rt.Fatalf("%q is normally %q; the rule file says %v", pattern, path, err)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"/a/../b", "/%2e%2e/a", "/a;x/..;y/b?c#d", "http://h/p", "*", "", "/%%34%31", "/caf\xc3\xa9", "%61://b//c", "/a\xff%fF"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) { checkNormal(t, raw) })
}
