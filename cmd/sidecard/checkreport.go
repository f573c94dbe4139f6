package main

import (
	"fmt"
	"io"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/rule"
)

// checkReport is what check found.
type checkReport struct {
	files    int
	problems rule.Problems
	set      rule.Set      // valid if there are no errors
	rules    ruleview.View // of set
}

func (r checkReport) errors() int   { return len(r.problems.Errors()) }
func (r checkReport) warnings() int { return len(r.problems.Warnings()) }

// writeText prints a line for each problem, as compilers do, and a summary.
func (r checkReport) writeText(w io.Writer, rules bool) error {
	problems, rest := r.problems, rule.Problems(nil)
	if len(problems) > shown { // the errors must not be what is cut off
		sorted := append(r.problems.Errors(), r.problems.Warnings()...)
		problems, rest = sorted[:shown], sorted[shown:]
	}
	for _, p := range problems {
		fmt.Fprintln(w, p)
	}
	more := len(rest)
	for _, p := range rest {
		if p.Message == rule.TooManyProblems { // not even JSON has them all
			fmt.Fprintln(w, p)
			more--
		}
	}
	if more > 0 {
		fmt.Fprintf(w, "... and %d more; -o json shows all\n", more)
	}
	if rules && r.errors() == 0 {
		if err := r.rules.Write(w); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.summary())
	return err
}

func (r checkReport) summary() string {
	found := fmt.Sprintf("%s, %s", ruleview.Counted(r.errors(), "error"), ruleview.Counted(r.warnings(), "warning"))
	if r.errors() > 0 {
		return fmt.Sprintf("%s: %s", ruleview.Counted(r.files, "file"), found)
	}
	return fmt.Sprintf("%s: %s; %s, %s, revision %s", ruleview.Counted(r.files, "file"), found,
		ruleview.Counted(r.set.Len(), "rule"), ruleview.Counted(len(r.set.APIs), "API group"), r.set.Revision)
}

// problemView is a problem in the JSON form of the report.
type problemView struct {
	Severity string `json:"severity"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Field    string `json:"field,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

func viewProblems(problems rule.Problems) []problemView {
	views := make([]problemView, len(problems))
	for i, p := range problems {
		views[i] = problemView{p.Severity.String(), p.Pos.File, p.Pos.Line, p.Pos.Column, p.Field, p.Rule, p.Message, p.Fix}
	}
	return views
}

// writeJSON prints the whole report as one JSON document, no problem left out.
func (r checkReport) writeJSON(w io.Writer, rules bool) error {
	out := struct {
		OK       bool          `json:"ok"`
		Files    int           `json:"files"`
		Errors   int           `json:"errors"`
		Warnings int           `json:"warnings"`
		Revision string        `json:"revision,omitempty"`
		Problems []problemView `json:"problems"`
		*ruleview.View
	}{
		OK: r.errors() == 0, Files: r.files, Errors: r.errors(), Warnings: r.warnings(),
		Problems: viewProblems(r.problems),
	}
	if out.OK {
		out.Revision = r.set.Revision
	}
	if rules && out.OK {
		out.View = &r.rules
	}
	return writeIndented(w, out)
}
