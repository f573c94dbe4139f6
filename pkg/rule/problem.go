package rule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a problem keeps a rule set from being used.
type Severity uint8

// The severities.
const (
	Error   Severity = iota // the set is not usable
	Warning                 // the set is usable, but something in it deserves a look
)

// String returns the severity as it is written in front of a message.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Problem is one thing that Load found wrong, at one place.
type Problem struct {
	Severity Severity
	Pos      Position
	Field    string // the path in the file, such as [0].paramItem.parseStrategy; empty: the whole file
	Rule     string // the rule's id as written, else its resource or API name; empty: unknown
	Message  string
	Fix      string // what to write instead; empty: the message says it all
}

// String formats the problem on one line: `file:line:column: error: field: message; fix: what to do`. What a
// terminal would not show is escaped; the fields hold names and texts of files as they are.
func (p Problem) String() string {
	var b strings.Builder
	if pos := p.Pos.String(); pos != "" {
		b.WriteString(pos)
		b.WriteString(": ")
	}
	b.WriteString(p.Severity.String())
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString("; fix: ")
		b.WriteString(p.Fix)
	}
	return printable(b.String())
}

// Problems is what Load found, sorted by file, line and column. The zero value means: nothing wrong.
type Problems []Problem

// Errors returns the problems that keep the set from being used, in order.
func (ps Problems) Errors() Problems { return ps.of(Error) }

// Warnings returns the problems that do not keep the set from being used, in order.
func (ps Problems) Warnings() Problems { return ps.of(Warning) }

func (ps Problems) of(s Severity) Problems {
	var out Problems
	for _, p := range ps {
		if p.Severity == s {
			out = append(out, p)
		}
	}
	return out
}

// maxErrLines bounds the text of Err, which ends in log lines and status pages.
const maxErrLines = 20

// Err returns nil if the set is usable, else an error whose text holds the first errors, one a line,
// and how many more there are.
func (ps Problems) Err() error {
	errs := ps.Errors()
	if len(errs) == 0 {
		return nil
	}
	var b strings.Builder
	for i, p := range errs {
		if i == maxErrLines {
			fmt.Fprintf(&b, "\nand %d more errors", len(errs)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.String())
	}
	return errors.New(b.String())
}

func (ps Problems) sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
		)
	})
}
