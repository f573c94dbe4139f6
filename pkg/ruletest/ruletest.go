// Package ruletest runs unit tests of rules: case files that say what happens when, and what is expected
// to come of it. Each case has an engine of its own, which decides as the daemon's does, on a virtual clock.
// The package reads no file and no clock.
package ruletest

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Options are what case files are run with.
type Options struct {
	// Read returns the rule files of a path; required. Relative paths of a case file are joined to its
	// folder before.
	Read  func(path string) ([]rule.File, error)
	Rules []string     // paths of rules, beside those that a case file names
	Load  rule.Options // how rule files are read
}

// Report is what came of one case file.
type Report struct {
	File string
	// Unread says why the file, or a rule file that it names, could not be read; then nothing was run.
	Unread rule.Problems
	// Refused says why its rules were not taken; then nothing was run.
	Refused rule.Problems
	Cases   []CaseReport
}

// CaseReport is what came of one case.
type CaseReport struct {
	Name     string
	Pos      rule.Position
	Events   int
	Failures []Failure // in the order of the events; empty: the case has passed
}

// Failure is an event that did not come out as expected, or a request of it.
type Failure struct {
	Pos           rule.Position
	Event         int           // in the case, from 1
	At            time.Duration // on the clock of the case
	What          string        // what happened, in a few words
	Expected, Got Answer
	Note          string // what else is to be said; may be empty
}

// Run runs a case file. It never panics, whatever the file is.
func Run(file rule.File, o Options) Report {
	report := Report{File: file.Name}
	f, problems := decode(file)
	if len(problems) > 0 {
		report.Unread = problems
		return report
	}
	r := &runner{options: o, folder: filepath.Dir(file.Name)}
	paths := slices.Clone(o.Rules)
	for _, path := range f.rules {
		paths = append(paths, r.resolve(path))
	}
	if len(paths) == 0 {
		report.Unread = rule.Problems{{Pos: rule.Position{File: file.Name}, Message: "has no rules to test",
			Fix: "name them under the key rules, or with --rules"}}
		return report
	}
	set, unread, refused := r.load(paths)
	if report.Unread, report.Refused = unread, refused; len(unread) > 0 || len(refused) > 0 {
		return report
	}
	for i := range f.cases {
		report.Cases = append(report.Cases, r.run(&f.cases[i], set))
	}
	return report
}

// OK says that the file could be run, and that every case has passed.
func (r *Report) OK() bool {
	return len(r.Unread) == 0 && len(r.Refused) == 0 && r.Failed() == 0
}

// Failed returns how many cases have failed.
func (r *Report) Failed() int {
	n := 0
	for i := range r.Cases {
		if len(r.Cases[i].Failures) > 0 {
			n++
		}
	}
	return n
}
