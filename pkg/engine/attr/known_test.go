package attr

import (
	"slices"
	"strings"
	"testing"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"resource", "route", "generic_key", "path", ":path", "method", ":method", "host", ":authority", "origin",
		"remote_address", "masked_remote_address", "cookie", "sidecard.token", "sidecard.code", "sidecard.flags",
		"header.x", "header.X.Y", "query.q", "cookie.c", "arg.0", "arg.63", "x-user", "HEADER",
	} {
		if err := Known(key); err != nil {
			t.Errorf("%s: got %v", key, err)
		}
	}
	for key, want := range map[string]string{
		"":              "empty name",
		"header.":       "lacks the name",
		"arg.":          "lacks the name",
		"arg.x":         "arguments are arg.0 to arg.63",
		"arg.64":        "arguments are arg.0 to arg.63",
		"arg.01":        "arguments are arg.0 to arg.63",
		"arg.-1":        "arguments are arg.0 to arg.63",
		"haeder.x":      "begins with that of a kind: header, query, cookie or arg",
		"HEADER.x":      "begins with",
		"sidecard.":     "begins with",
		"sidecard.else": "begins with",
		".x":            "begins with",
		"a.b":           "begins with",
	} {
		if err := Known(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", key, err, want)
		}
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for key, want := range map[string][]string{
		"haeder.x.y": {"header.x.y", "query.x.y", "cookie.x.y", "sidecard.token", "sidecard.code", "sidecard.flags"},
		"args.7":     {"header.7", "query.7", "cookie.7", "arg.7", "sidecard.token", "sidecard.code", "sidecard.flags"},
		"header.":    {"sidecard.token", "sidecard.code", "sidecard.flags"},
	} {
		got := Like(key)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", key, got, want)
		}
		for _, k := range got {
			if err := Known(k); err != nil {
				t.Error(err)
			}
		}
	}
}
