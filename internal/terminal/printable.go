package terminal

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Printable returns a text that acts on no terminal: as it is, or with what is not printable escaped.
func Printable(s string) string {
	for _, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}
