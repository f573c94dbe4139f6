package main

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// lineWriter writes lines of a log to w as a terminal may show them: of what stands in a field the logger
// escapes the control characters of ASCII, and this the others that a terminal may obey (DEL, those from
// U+0080 to U+009F, marks of direction and separators of lines). As they can stand in strings only, a JSON
// line means the same afterwards.
type lineWriter struct{ w io.Writer }

// Write writes one line.
func (l lineWriter) Write(line []byte) (int, error) {
	at := nextUnsafe(line)
	if at < 0 {
		return l.w.Write(line)
	}
	clean := make([]byte, 0, len(line)+32)
	for rest := line; ; at = nextUnsafe(rest) {
		if at < 0 {
			clean = append(clean, rest...)
			break
		}
		r, size := utf8.DecodeRune(rest[at:])
		clean = fmt.Appendf(append(clean, rest[:at]...), `\u%04x`, r)
		rest = rest[at+size:]
	}
	if _, err := l.w.Write(clean); err != nil {
		return 0, err
	}
	return len(line), nil
}

// nextUnsafe returns where the next character is that a terminal may obey; -1: there is none.
func nextUnsafe(line []byte) int {
	for i := 0; i < len(line); {
		if c := line[i]; c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(line[i:])
		if r == 0x7f || r <= 0xffff && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return i
		}
		i += size
	}
	return -1
}
