// Package ruleswatch keeps a rule set in step with where its rules come from: sources report their
// whole content whenever it changes, and a Watcher applies what all of them hold together, or keeps
// what is in force and says why. It does not know what rules mean; it is given a function to apply them.
package ruleswatch

import (
	"bytes"
	"context"
	"slices"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Document is the whole content of one source at one moment. It is not changed once emitted.
type Document struct {
	// Source names where the content comes from, for logs and views.
	Source string
	// Files are all rule files of the source, in a fixed order.
	Files []rule.File
	// Err says that the source could not be read, or holds what must not be taken for "no rules":
	// nothing at all, an empty file, null. Files then holds what could be read, to be looked at and
	// never to be applied.
	Err error
	// Skipped are files that are named like rule files but for their extension, which is why they are no
	// part of Files: gw-flow-rules, gw-flow-rules.txt. At most 20 of a directory.
	Skipped []string
}

// same reports whether two documents say the same.
func (d Document) same(o Document) bool {
	return d.Source == o.Source && errorText(d.Err) == errorText(o.Err) && sameFiles(d.Files, o.Files) && slices.Equal(d.Skipped, o.Skipped)
}

func sameFiles(a, b []rule.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Source is a place that rules come from.
type Source interface {
	// Watch calls emit with the state of the source at once, then with every state that differs from
	// the one before, until ctx ends; then it returns nil. States that last shorter than the source
	// can tell apart may be left out, a state that stays is always emitted in the end. A state is
	// emitted whole: never some files of one version with some of another where the source offers
	// versions. A failure is a state, with Err set. Watch calls emit from one goroutine at a time, no
	// more once it has returned, and leaves no goroutine behind. It returns an error only if it can
	// never report again.
	Watch(ctx context.Context, emit func(Document)) error
}
