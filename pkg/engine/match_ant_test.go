package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/match"
	"pgregory.net/rapid"
)

func antMatches(t rapid.TB, pattern, path string) bool {
	t.Helper()
	var tree antTree
	if err := tree.add(pattern, &apiItem{}); err != nil {
		t.Fatalf("add %q: %v", pattern, err)
	}
	found, all := tree.walk(path, &antScratch{}, &work{left: maxWork}, nil)
	if !all {
		t.Fatalf("pattern %q, path %q: not tried", pattern, path)
	}
	return len(found) > 0
}

// The first block was produced by Spring's AntPathMatcher; the rest says what is ours.
func TestAntPatterns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"/foo/**", "/foo", true},
		{"/foo/**", "/foo/", true},
		{"/foo/**", "/foo/a/b", true},
		{"/foo/**", "/foobar", false},
		{"/foo*", "/foobar", true},
		{"/foo*", "/foo/a", false},
		{"/foo/*", "/foo/a", true},
		{"/foo/*", "/foo/a/b", false},
		{"/foo/**/c", "/foo/c", true},
		{"/foo/**/c", "/foo/a/b/c", true},
		{"/foo/{id}", "/foo/1", true},
		{"/foo/{id:[0-9]+}", "/foo/x", false},
		{"/**", "/", true},
		{"/FOO/**", "/foo/a", false},
		{"/foo/**", "/foo%2Fa", false},
		{"/f?o", "/fao", true},

		{"/foo", "/foo", true}, // Spring: a pattern without wildcards never matches under prefix
		{"/foo", "/foo/a", true},
		{"/foo", "/foobar", false},
		{"/foo/", "/foo", true},
		{"/", "/anything", true},
		{"/foo/*", "/foo/", true},
		{"/foo/*", "/foo", false},
		{"/foo/?", "/foo/", false},
		{"/foo/{id:[0-9]+}", "/foo/12", true},
		{"/foo/{id:a/b}", "/foo/a", false},
		{"/**/x/**/y", "/a/x/b/c/y", true},
		{"/**/x/**/y", "/a/x/b/c/y/", false},
		{"/f?o", "/f\xc3\xa4o", true},
	}
	for _, tt := range tests {
		if got := antMatches(t, tt.pattern, tt.path); got != tt.want {
			t.Errorf("pattern %q, path %q: got %v, want %v", tt.pattern, tt.path, got, tt.want)
		}
	}
}

func TestAntAgainstTwin(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "*", "**", "a*", "?", "{x}", "{x:[ab]+}", "*b"})
	plain := rapid.SampledFrom([]string{"a", "b", "ab", "aab", "c"})
	path := func(segs []string, slash bool) string {
		s := "/" + strings.Join(segs, "/")
		if slash && len(segs) > 0 {
			s += "/"
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		patterns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return path(rapid.SliceOfN(segment, 0, 5).Draw(t, "pattern"), rapid.Bool().Draw(t, "slash"))
		}), 1, 6).Draw(t, "patterns")
		var tree antTree
		items := make([]*apiItem, len(patterns))
		for i, p := range patterns {
			items[i] = &apiItem{group: int32(i)}
			if err := tree.add(p, items[i]); err != nil {
				t.Fatal(err)
			}
		}
		var s antScratch
		for range 4 {
			x := path(rapid.SliceOfN(plain, 0, 6).Draw(t, "path"), rapid.Bool().Draw(t, "slash"))
			got, _ := tree.walk(x, &s, &work{left: maxWork}, nil)
			for i, p := range patterns {
				if has, want := slices.Contains(got, items[i]), match.Ant(p, x); has != want {
					t.Errorf("pattern %q, path %q: got %v, want %v", p, x, has, want)
				}
			}
		}
	})
}

// A path of many segments under patterns of many `**` is walked within bounds, and what was not tried
// is said.
func TestAntWalksWithinBounds(t *testing.T) {
	t.Parallel()
	var tree antTree
	if err := tree.add(strings.Repeat("/**/a", 12)+"/**/z", &apiItem{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		all  bool
	}{
		{strings.Repeat("/a", freeSegments), true},
		{strings.Repeat("/a", 200), true},
		{strings.Repeat("/a", 30_000), false},
	} {
		var s antScratch
		w := work{left: maxWork}
		found, all := tree.walk(tt.path, &s, &w, nil)
		if len(found) != 0 || all != tt.all {
			t.Errorf("path of %d bytes: %d found, all tried %v, want 0, %v", len(tt.path), len(found), all, tt.all)
		}
		if len(s.now) > 30 {
			t.Errorf("%d active nodes, want no more than the pattern has", len(s.now))
		}
	}
}

// Expressions of variables draw on the same bounds as others.
func TestAntVariablesWithinBounds(t *testing.T) {
	t.Parallel()
	var tree antTree
	for i := range 100 {
		if err := tree.add("/api/{v:[a-z]+[0-9]*}-"+strings.Repeat("x", i+1), &apiItem{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, all := tree.walk("/api/short-xx", &antScratch{}, &work{left: maxWork}, nil); !all {
		t.Error("a short path was not tried")
	}
	if _, all := tree.walk("/api/"+strings.Repeat("a", 58<<10), &antScratch{}, &work{left: maxWork}, nil); all {
		t.Error("a hundred expressions were tried over 58 KiB")
	}
}
