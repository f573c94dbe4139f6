package rule

import (
	"strconv"
	"strings"
	"unicode"
)

// printable returns text of a file as it may stand on a terminal and in one line: what is not seen there, such as
// the sequences that move a cursor or turn the direction of writing, is written as Go writes it in a string.
func printable(s string) string {
	if !strings.ContainsFunc(s, unseen) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !unseen(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }
