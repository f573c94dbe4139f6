package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// SizeOf returns the size of the terminal that f is; false if it is none, or does not know.
func SizeOf(f *os.File) (Size, bool) {
	s, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || s.Col == 0 || s.Row == 0 {
		return Size{}, false
	}
	return Size{int(s.Col), int(s.Row)}, true
}
