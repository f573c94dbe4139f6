package terminal

import (
	"bytes"
	"slices"
	"testing"
)

func TestClip(t *testing.T) {
	t.Parallel()
	lines := []string{"short", "käse und mehr", "", "last"}
	for _, tc := range []struct {
		size Size
		want []string
	}{
		{Size{}, lines},
		{Size{4, 2}, []string{"shor", "käse"}},
		{Size{100, 100}, lines},
		{Size{0, 1}, lines[:1]},
		{Size{1, 0}, []string{"s", "k", "", "l"}},
	} {
		if got := tc.size.Clip(lines); !slices.Equal(got, tc.want) {
			t.Errorf("%v: got %q, want %q", tc.size, got, tc.want)
		}
	}
	if lines[0] != "short" {
		t.Error("the lines were changed")
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Enter(&b); err != nil {
		t.Fatal(err)
	}
	if err := Draw(&b, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	if err := Leave(&b); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[?1049h\x1b[?25l\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J\x1b[?25h\x1b[?1049l"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"": "", "käse 日本": "käse 日本", "a\x1b[31m": `"a\x1b[31m"`, "\xff": `"\xff"`, "a\u202eb": `"a\u202eb"`, "two\nlines": `"two\nlines"`, "\u00a0": `"\u00a0"`,
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}
