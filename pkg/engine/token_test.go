package engine

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTokenText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Token{rapid.Uint64().Draw(t, "place"), rapid.Uint64Range(1, 1<<64-1).Draw(t, "secret")}
		text := want.String()
		if got, ok := ParseToken(text); !ok || got != want || len(text) != TokenText {
			t.Fatalf("%v became %q and then %v, %v", want, text, got, ok)
		}
	})
	good := Token{1<<32 | 2, 3}.String()
	for _, text := range []string{
		"", " ", good[1:], good + "0", good[:31] + "g", " " + good[1:], strings.Repeat("0", TokenText), strings.Repeat("\xff", TokenText), strings.Repeat("a", 1<<20),
	} {
		if got, ok := ParseToken(text); ok {
			t.Errorf("%.40q is taken for %v", text, got)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(Token{1, 2}.String())
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if token, ok := ParseToken(text); ok && token.String() != strings.ToLower(text) {
			t.Errorf("%q became %v", text, token)
		}
	})
}
