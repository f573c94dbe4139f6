// Package terminal knows of the terminal that a command may write to: whether it is one, how large it is, and how a
// picture on it is replaced by the next without flicker.
package terminal

import (
	"io"
	"strings"
)

// Size is how much fits on a terminal, in characters.
type Size struct{ Width, Height int }

// Clip returns the lines that fit, each cut to the width. A size of 0 in a direction is one without bounds. Characters
// are taken to be as wide as each other.
func (s Size) Clip(lines []string) []string {
	if s.Height > 0 {
		lines = lines[:min(len(lines), s.Height)]
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line
		if s.Width <= 0 {
			continue
		}
		n := 0
		for at := range line {
			if n == s.Width {
				out[i] = line[:at]
				break
			}
			n++
		}
	}
	return out
}

// The sequences are those of ECMA-48 and xterm, which all terminals of today understand.
const (
	enter = "\x1b[?1049h\x1b[?25l" // another screen, without a cursor
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	rest  = "\x1b[K" // clears the rest of a line
	below = "\x1b[J" // clears all lines below
)

// Enter turns to a screen of its own, so that what was on the terminal is there again after Leave.
func Enter(w io.Writer) error { return write(w, enter) }

// Leave turns back.
func Leave(w io.Writer) error { return write(w, leave) }

// Draw replaces what is on the screen by lines that fit, in one write.
func Draw(w io.Writer, lines []string) error {
	return write(w, home+strings.Join(lines, rest+"\r\n")+rest+below)
}

func write(w io.Writer, s string) error {
	_, err := io.WriteString(w, s)
	return err
}
