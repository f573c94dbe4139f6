package ruleswatch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sidecard/sidecard/pkg/rule"
)

// maxSkipped bounds how many files of a directory are named as skipped.
const maxSkipped = 20

// skipped collects the files that look as if somebody took them for rule files and that are not read.
// The zero value is empty.
type skipped struct{ names []string }

// consider takes note of a file of that name at that location.
func (s *skipped) consider(name, location string, e fs.DirEntry) {
	if len(s.names) == maxSkipped || !rule.NamesKind(name) {
		return
	}
	regular := e.Type().IsRegular()
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := os.Stat(location)
		regular = err == nil && info.Mode().IsRegular()
	}
	if regular {
		s.names = append(s.names, name)
	}
}

// below returns the names as paths below a directory, in order.
func (s *skipped) below(path string) []string {
	var paths []string
	for _, name := range s.names {
		paths = append(paths, filepath.Join(path, name))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
