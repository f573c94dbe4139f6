package rule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"path/filepath"
	"slices"
)

// File is a rule file as it was read. Its name decides how it is read: the extension names the
// format and the stem the kind of its rules.
type File struct {
	Name string // as shown in problems; may hold a path
	Data []byte
}

// byName returns the files in the order of their names, the order in which their rules are evaluated.
func byName(files []File) []File {
	return slices.SortedStableFunc(slices.Values(files), func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
}

// Revision identifies the content of a set of files by 12 hexadecimal digits. It depends on their
// bytes and on their names without folders, so that the same rules have the same revision wherever
// they are mounted or checked. It does not depend on their order.
func Revision(files []File) string {
	h := sha256.New()
	var length [8]byte
	write := func(b []byte) { // with its length, so that no byte can move from one part to the next
		binary.BigEndian.PutUint64(length[:], uint64(len(b)))
		h.Write(length[:])
		h.Write(b)
	}
	for _, f := range byName(files) {
		write([]byte(filepath.Base(f.Name)))
		write(f.Data)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
