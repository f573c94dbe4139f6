package ruleswatch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mountTable is where Linux lists the mounts that this process sees; other systems have no such file.
const mountTable = "/proc/self/mountinfo"

// mount is one line of the mount table: what a directory or file of a file system is shown as.
type mount struct {
	root  string // in its file system
	point string // in the tree of this process
}

// mountedAlone returns those of a path and its rule files that never change, however often their origin
// is replaced: files that are mounted one by one, as subPath does, because such a mount shows the file
// that was there at its start until it ends; and what lies in one version of a volume that was mounted
// in place of the volume. table is the mount table. A path that cannot be read has none.
func mountedAlone(path string, table []byte) []string {
	mounts := parseMounts(table)
	if isMountedAlone(path, mounts) {
		return []string{path}
	}
	var alone []string
	// An error says that it is a file, or nothing that can be read, which the reading tells.
	_ = list(path, func(e fs.DirEntry) {
		if name := filepath.Join(path, e.Name()); isMountedAlone(name, mounts) {
			alone = append(alone, name)
		}
	})
	slices.Sort(alone)
	return alone
}

func isMountedAlone(name string, mounts []mount) bool {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return false
	}
	info, err := os.Stat(real)
	if err != nil {
		return false
	}
	var on mount // that the name lies on: of several at one point the newest, which is listed last
	for _, m := range mounts {
		if within(real, m.point) && len(m.point) >= len(on.point) {
			on = m
		}
	}
	return holdsVersion(on.root) || on.point == real && !info.IsDir()
}

// within reports whether a path is a directory or lies in it.
func within(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

// holdsVersion reports whether a path leads through a version of a Kubernetes volume, which is named
// for the time of its making: ..2026_11_29_20_47_27.2559617023.
func holdsVersion(root string) bool {
	return slices.ContainsFunc(strings.Split(root, "/"), func(e string) bool {
		return len(e) > 2 && strings.HasPrefix(e, "..") && '0' <= e[2] && e[2] <= '9'
	})
}

func parseMounts(table []byte) []mount {
	var mounts []mount
	for line := range bytes.Lines(table) {
		// ID, parent, device, root, mount point, and more that is of no concern.
		fields := strings.Fields(string(line))
		if len(fields) < 5 {
			continue
		}
		mounts = append(mounts, mount{root: unescape(fields[3]), point: unescape(fields[4])})
	}
	return mounts
}

// unescape undoes the \ooo that the kernel writes for blanks and backslashes.
func unescape(field string) string {
	var b strings.Builder
	for i := 0; i < len(field); i++ {
		if field[i] == '\\' && i+4 <= len(field) {
			if n, err := strconv.ParseUint(field[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(field[i])
	}
	return b.String()
}
