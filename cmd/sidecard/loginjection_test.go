package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// obeyed says whether a terminal may do something at a character instead of showing it.
func obeyed(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\u202e' || r == '\u2066' || r == '\u200b'
}

// Whatever stands in a field, a line of the log stays one line, holds no character that a terminal obeys,
// and in JSON is an object with the fields that were written and no others.
func TestLogInjection(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		evil := rapid.OneOf(
			rapid.SampledFrom([]string{"a\nb", "x\r\n{\"level\":\"fatal\"}\n", "\x1b[2J\x1b]0;owned\a", `","level":"error","x":"`, "\xff\xfe", "\u2028", "\u0085", "\u009b31m", "a=b c=\"d", "\x00", "", "\u202e"}),
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		).Draw(t, "text")
		for _, format := range []string{"json", "console"} {
			c := defaults()
			c.LogFormat = format
			var out bytes.Buffer
			log := newLogger(c, &out)
			log.Warn().Err(errors.New(evil)).Str("file", evil).Strs("ids", []string{evil, evil}).Msg("seen")
			line, ended := strings.CutSuffix(out.String(), "\n")
			if !ended || !utf8.ValidString(line) || strings.ContainsFunc(line, obeyed) {
				t.Fatalf("%s: %q is written as %q", format, evil, out.String())
			}
			if format == "console" {
				continue
			}
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil || len(fields) != 6 || fields["level"] != "warn" || fields["message"] != "seen" || fields["file"] != string([]rune(evil)) {
				t.Fatalf("%q is written as %q, which means %v, %v", evil, line, fields, err)
			}
		}
	})
}
