// Package pty gives tests a terminal, on which they see what a command shows there.
package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open returns the two ends of a new terminal: what is written to the command's end is read from the master.
func Open() (master, command *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, err
	}
	var n int
	if err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err == nil {
		n, err = unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		command, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, fmt.Errorf("terminal: %w", err)
	}
	return master, command, nil
}

// Resize gives the terminal a size, of which a command in its foreground is told by SIGWINCH.
func Resize(master *os.File, width, height int) error {
	return unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
}
