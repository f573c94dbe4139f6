package attr

import (
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestPathPieces(t *testing.T) {
	t.Parallel()
	for piece, want := range map[string]string{"": "", "7": "7", "a%2Fb": "a/b", "a+b": "a+b", "%2520": "%20", "%": "%", "%4": "%4", "%zz": "%zz", "%C3%A9": "é"} {
		var b Bag
		for range 2 {
			if got, found := b.Param(rule.SourcePathParam, piece); got != want || found != engine.Present {
				t.Errorf("%q: got %q, %v", piece, got, found)
			}
		}
		if len(b.found) > 1 {
			t.Errorf("%q was decoded %d times", piece, len(b.found))
		}
	}
}

// Whatever text stands in a segment, and however it is escaped, it is the same value.
func TestPathPiecesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[^/;.]{1,12}`).Draw(t, "text")
		sent := url.PathEscape(text)
		if rapid.Bool().Draw(t, "all") {
			sent = ""
			for _, c := range []byte(text) {
				sent += "%" + string("0123456789abcdef"[c>>4]) + string("0123456789ABCDEF"[c&15])
			}
		}
		var b Bag
		b.Add("path", "/"+sent)
		var r engine.Request
		b.Request(&r)
		if got, _ := b.Param(rule.SourcePathParam, r.Path[1:]); got != text {
			t.Fatalf("sent %q, path %q: got %q", sent, r.Path, got)
		}
	})
}
