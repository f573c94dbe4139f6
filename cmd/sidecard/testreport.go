package main

import (
	"fmt"
	"io"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/ruletest"
)

// testReport is what came of all case files.
type testReport struct{ files []ruletest.Report }

func (r testReport) ok() bool {
	for i := range r.files {
		if !r.files[i].OK() {
			return false
		}
	}
	return true
}

// unread returns how many files could not be read.
func (r testReport) unread() int {
	n := 0
	for i := range r.files {
		if len(r.files[i].Unread) > 0 {
			n++
		}
	}
	return n
}

func (r testReport) counts() (cases, failed int) {
	for i := range r.files {
		cases += len(r.files[i].Cases)
		failed += r.files[i].Failed()
	}
	return cases, failed
}

// writeText prints a line for each problem and each event that failed, a line for each file, and a summary.
func (r testReport) writeText(w io.Writer) error {
	for i := range r.files {
		f := &r.files[i]
		for _, problems := range []rule.Problems{f.Unread, f.Refused} {
			for _, p := range problems {
				fmt.Fprintln(w, p)
			}
		}
		for _, c := range f.Cases {
			for _, failure := range c.Failures {
				fmt.Fprintln(w, failureText(c.Name, failure))
			}
		}
		switch failed := f.Failed(); {
		case len(f.Unread) > 0:
			fmt.Fprintf(w, "FAIL  %s: not run, because it or its rules cannot be read\n", f.File)
		case len(f.Refused) > 0:
			fmt.Fprintf(w, "FAIL  %s: not run, because its rules are not taken\n", f.File)
		case failed > 0:
			fmt.Fprintf(w, "FAIL  %s: %d of %s failed\n", f.File, failed, ruleview.Counted(len(f.Cases), "case"))
		default:
			fmt.Fprintf(w, "ok    %s: %s\n", f.File, ruleview.Counted(len(f.Cases), "case"))
		}
	}
	cases, failed := r.counts()
	_, err := fmt.Fprintf(w, "%s: %s, %d passed, %d failed\n", ruleview.Counted(len(r.files), "file"), ruleview.Counted(cases, "case"), cases-failed, failed)
	return err
}

func failureText(name string, f ruletest.Failure) string {
	text := fmt.Sprintf("%s: %s: event %d at %v, %s: expected %s; got %s", f.Pos, name, f.Event, f.At, f.What, f.Expected, f.Got)
	if f.Note != "" {
		text += " (" + f.Note + ")"
	}
	return text
}

// failureView is a failed event in the JSON form of the report.
type failureView struct {
	File     string          `json:"file"`
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	Case     string          `json:"case"`
	Event    int             `json:"event"`
	AtMs     float64         `json:"atMs"`
	What     string          `json:"what"`
	Expected ruletest.Answer `json:"expected"`
	Got      ruletest.Answer `json:"got"`
	Note     string          `json:"note,omitempty"`
}

// writeJSON prints the whole report as one JSON document.
func (r testReport) writeJSON(w io.Writer) error {
	cases, failed := r.counts()
	out := struct {
		OK       bool          `json:"ok"`
		Files    int           `json:"files"`
		Unread   int           `json:"unread"`
		Cases    int           `json:"cases"`
		Failed   int           `json:"failed"`
		Failures []failureView `json:"failures"`
		Problems []problemView `json:"problems"`
	}{r.ok(), len(r.files), r.unread(), cases, failed, []failureView{}, []problemView{}}
	for i := range r.files {
		f := &r.files[i]
		out.Problems = append(out.Problems, viewProblems(f.Unread)...)
		out.Problems = append(out.Problems, viewProblems(f.Refused)...)
		for _, c := range f.Cases {
			for _, e := range c.Failures {
				out.Failures = append(out.Failures, failureView{
					File: e.Pos.File, Line: e.Pos.Line, Column: e.Pos.Column, Case: c.Name, Event: e.Event,
					AtMs: float64(e.At) / 1e6, What: e.What, Expected: e.Expected, Got: e.Got, Note: e.Note,
				})
			}
		}
	}
	return writeIndented(w, out)
}
