package ruleswatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/sidecard/sidecard/pkg/rule"
)

// readFile reads a regular file of at most room bytes that is shown as name.
func readFile(name, location string, room int) (rule.File, error) {
	// Looked at before it is opened, because opening a device may do something.
	info, err := os.Stat(location)
	if err != nil {
		return rule.File{}, pathError(name, err)
	}
	if !info.Mode().IsRegular() {
		return rule.File{}, notRegular(name, info.Mode())
	}
	f, err := os.OpenFile(location, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return rule.File{}, pathError(name, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return rule.File{}, pathError(name, err)
	}
	if !info.Mode().IsRegular() {
		return rule.File{}, notRegular(name, info.Mode())
	}
	// The size may change until the end is reached, so it is a hint and the bound is on what is read.
	var data bytes.Buffer
	data.Grow(int(min(info.Size(), int64(room))) + bytes.MinRead)
	if _, err := data.ReadFrom(io.LimitReader(f, int64(room)+1)); err != nil {
		return rule.File{}, pathError(name, err)
	}
	if data.Len() > room {
		return rule.File{}, fmt.Errorf("%s: the rule files of one path together must not exceed %d MiB", name, maxBytes>>20)
	}
	return rule.File{Name: name, Data: data.Bytes()}, nil
}

func notRegular(name string, m fs.FileMode) error {
	kind := "a device"
	switch {
	case m.IsDir():
		kind = "a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case m&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return fmt.Errorf("%s: is %s and not a regular file", name, kind)
}

// pathError says what is wrong with a file or directory under the name that the user knows it by.
func pathError(name string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// nothing returns an error for a file without content: what a crash, a full disk or a rewrite in
// progress leaves behind. Taken for "no rules" it would lift every limit.
func nothing(f rule.File) error {
	if len(f.Data) == 0 {
		return fmt.Errorf("%s: is empty (0 bytes); to have no rules in it, write [] (in a bundle {})", f.Name)
	}
	rest := bytes.TrimPrefix(f.Data, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(rest) {
		line = bytes.TrimSpace(line)
		if i := bytes.IndexByte(line, '#'); i >= 0 {
			line = bytes.TrimSpace(line[:i])
		}
		switch string(line) {
		case "", "null", "Null", "NULL", "~", "---", "...":
		default:
			return nil
		}
	}
	return fmt.Errorf("%s: holds nothing but blanks, comments or null; to have no rules in it, write [] (in a bundle {})", f.Name)
}
