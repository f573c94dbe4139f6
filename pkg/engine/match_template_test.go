package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/internal/testkit/match"
)

func templateOf(t rapid.TB, pattern, name string) *pathTemplate {
	t.Helper()
	p, err := compileTemplate(pattern, name)
	if err != nil {
		t.Fatalf("%q: %v", pattern, err)
	}
	return p
}

// What AntPathMatcher.extractUriTemplateVariables gives for the same patterns.
func TestTemplateValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, path, want string }{ // -: does not match
		{"/orders/{id}", "/orders/7", "7"},
		{"/orders/{id}", "/orders/7/", "-"},
		{"/orders/{id}/", "/orders/7/", "7"},
		{"/orders/{id}", "/orders/7/x", "-"},
		{"/orders/{id}", "/orders", "-"},
		{"/orders/{id}/**", "/orders/7", "7"},
		{"/orders/{id}/**", "/orders/7/a/b/", "7"},
		{"/orders/{id}/*", "/orders/7/", "7"},
		{"/orders/{id}/*", "/orders/7", "-"},
		{"/**/{id}", "/a/b/7", "7"},
		{"/**/{id}", "/", "-"},
		{"/**/orders/{id}/**", "/a/orders/orders/7", "orders"},
		{"/**/orders/{id}/**/x", "/orders/1/orders/2/x", "1"},
		{"/a/**/{id}/b", "/a/x/7/b", "7"},
		{"/{id:[0-9]+}/x", "/7/x", "7"},
		{"/{id:[0-9]+}/x", "/a/x", "-"},
		{"/{id:a|ab}", "/ab", "ab"},
		{"/no-{id}.json", "/no-7.json", "7"},
		{"/no-{id}.json", "/no-.json", ""},
		{"/no-{id}.json", "/no.json", "-"},
		{"/x{id}x", "/x", "-"},
		{"/x{id:[0-9]*}x", "/x1x", "1"},
		{"/{no}/{id}", "/1/2", "2"},
		{"/{id}/{id}", "/1/2", "2"},
		{"/{a}-{b}/{id}", "/1-2/3", "3"},
		{"/{id}", "/a%2Fb", "a%2Fb"},
	} {
		got, found := templateOf(t, tt.pattern, "id").value(tt.path, &work{left: maxWork})
		if found != Present {
			got = "-"
		}
		if got != tt.want {
			t.Errorf("%s of %s: got %q, want %q", tt.pattern, tt.path, got, tt.want)
		}
	}
	for _, pattern := range []string{"/orders", "/{no}", "/**", "/{idx}", ""} {
		if templateOf(t, pattern, "id") != nil {
			t.Errorf("%q has the variable", pattern)
		}
	}
}

// A template matches what the tree of all patterns matches, and gives what trying everything gives.
func TestTemplateAgainstTwin(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "**", "a*", "?", "{x}", "{x:[ab]+}", "*b"})
	plain := rapid.SampledFrom([]string{"a", "b", "ab", "aab", "c"})
	variable := rapid.SampledFrom([]string{"{id}", "{id}", "{id:a+b*}", "a{id}", "{id:.}b"})
	path := func(segs []string, slash bool) string {
		s := "/" + strings.Join(segs, "/")
		if slash && len(segs) > 0 {
			s += "/"
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.SliceOfN(segment, 0, 4).Draw(t, "before"), rapid.SliceOfN(segment, 0, 4).Draw(t, "after")
		own := variable.Draw(t, "variable")
		pattern := path(append(append(before, own), after...), rapid.Bool().Draw(t, "slash"))
		x := path(rapid.SliceOfN(plain, 0, 7).Draw(t, "path"), rapid.Bool().Draw(t, "trailing"))
		matched, took := match.AntSegments(pattern, x)
		if tree := antMatches(t, pattern, x); tree != matched {
			t.Fatalf("pattern %q, path %q: the tree says %v", pattern, x, tree)
		}
		got, found := templateOf(t, pattern, "id").value(x, &work{left: maxWork})
		fixed, _, _ := strings.Cut(own, "{")
		want := strings.TrimPrefix(took[own], fixed)
		if own == "{id:.}b" {
			want = strings.TrimSuffix(want, "b")
		}
		if (found == Present) != matched || matched && got != want {
			t.Fatalf("pattern %q, path %q: got %q, %v, want %q, %v", pattern, x, got, found, want, matched)
		}
	})
}

func FuzzTemplate(f *testing.F) {
	f.Add("/orders/{id}/**", "/orders/7/x")
	f.Add("/**/a{id:[0-9]{2}}b/**/*", "/x/a12b/y/")
	f.Add("{id}", "")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		p, err := compileTemplate(pattern, "id")
		if err != nil || p == nil {
			return
		}
		value, found := p.value(path, &work{left: maxWork})
		if found != Present && value != "" || !strings.Contains(path, value) || strings.Contains(value, "/") {
			t.Errorf("%q of %q: %q, %v", pattern, path, value, found)
		}
	})
}

// However long a path is and however many `**` a template has, the work is bounded, and what was not
// found out is said.
func TestTemplateWithinBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("/a", 30_000)
	w := work{left: maxWork}
	if _, found := templateOf(t, strings.Repeat("/**/a/a/b", 12)+"/**/{id}", "id").value(long, &w); found != TooLarge {
		t.Errorf("found %v", found)
	}
	p := templateOf(t, "/{id:[a-z]+}", "id")
	w = work{left: maxWork}
	tries := 0
	for ; tries < 100; tries++ {
		if _, found := p.value("/"+strings.Repeat("a", 60<<10), &w); found == TooLarge {
			break
		}
	}
	if tries > maxWork>>15 {
		t.Errorf("%d expressions over 60 KiB", tries)
	}
}

func TestTemplateAllocatesNothing(t *testing.T) {
	p := templateOf(t, "/**/orders/no-{id:[0-9]+}/**/{x}/*", "id")
	w := work{left: maxWork}
	if n := testing.AllocsPerRun(100, func() {
		if v, _ := p.value("/a/orders/no-77/b/c/d", &w); v != "77" {
			t.Fatal(v)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
