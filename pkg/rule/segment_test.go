package rule

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSegments(t *testing.T) {
	t.Parallel()
	text := func(s string) Segment { return Segment{Text: s} }
	is := func(p Placeholder) Segment { return Segment{Placeholder: p} }
	tests := []struct {
		text string
		want []Segment
	}{
		{"", nil},
		{"plain", []Segment{text("plain")}},
		{"{rule}", []Segment{is(PlaceholderRule)}},
		{"{rule}{resource}{reason}{retry_after}", []Segment{is(PlaceholderRule), is(PlaceholderResource), is(PlaceholderReason), is(PlaceholderRetryAfter)}},
		{`{"rule":"{rule}"}`, []Segment{text(`{"rule":"`), is(PlaceholderRule), text(`"}`)}},
		{"{{rule}}", []Segment{text("{"), is(PlaceholderRule), text("}")}},
		{"{rule{rule}", []Segment{text("{rule"), is(PlaceholderRule)}},
		{"{Rule} { rule } {ru le} {rul} {} {", []Segment{text("{Rule} { rule } {ru le} {rul} {} {")}},
	}
	for _, tt := range tests {
		if got := Segments(tt.text); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Segments(%q) = %+v, want %+v", tt.text, got, tt.want)
		}
	}
	if got := PlaceholderNone.String() + Placeholder(99).String(); got != "" {
		t.Errorf("what is no placeholder is written %q", got)
	}
}

// TestSegmentsAreTheText puts texts together from pieces and requires them back.
func TestSegmentsAreTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"{rule}", "{resource}", "{reason}", "{retry_after}", "{", "}", "rule", "{ru", `{"a":1}`}))
		text := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), "")
		var b strings.Builder
		found := 0
		for _, s := range Segments(text) {
			if (s.Text == "") == (s.Placeholder == PlaceholderNone) {
				t.Fatalf("segment %+v", s)
			}
			if s.Placeholder != PlaceholderNone {
				found++
			}
			b.WriteString(s.Text + s.Placeholder.String())
		}
		if b.String() != text {
			t.Fatalf("%q became %q", text, b.String())
		}
		want := 0
		for _, name := range placeholderNames[1:] {
			want += strings.Count(text, "{"+name+"}")
		}
		if found != want {
			t.Fatalf("%d placeholders in %q, want %d", found, text, want)
		}
	})
}
