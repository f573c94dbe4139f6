package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

// shown bounds how many problems check prints as text.
const shown = 50

func checkCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check PATH... | --schema KIND",
		Short: "Check rule files; exit 0 when the daemon would take them, else 1",
		Long: `Check rule files, or directories of them, with the loader of the daemon. Every error and
warning is printed with its file, line and column. Warnings do not fail the check.

With --schema, print the JSON Schema of the files of a kind for an editor, and check nothing.`,
	}
	codes, _ := lookupSetting("paramCodes")
	addFlag(cmd, codes, defaults().ParamCodes.String())
	patience, _ := lookupSetting("envoyTimeout")
	addFlag(cmd, patience, defaults().Patience.String())
	rules := cmd.Flags().Bool("print", false, "show the rules as the daemon would apply them")
	schema := cmd.Flags().String("schema", "", "print the JSON Schema of a `kind`: "+strings.Join(rule.SchemaNames(), ", "))
	output := outputFlag(cmd)
	cmd.Args = func(cmd *cobra.Command, paths []string) error {
		if cmd.Flags().Changed("schema") {
			if len(paths) > 0 {
				return errors.New("--schema prints a schema and takes no PATH")
			}
			return nil
		}
		return cobra.MinimumNArgs(1)(cmd, paths)
	}
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		if cmd.Flags().Changed("schema") {
			return printSchema(p, *schema)
		}
		c := defaults()
		for _, s := range []setting{codes, patience} {
			if err := overlay(p, cmd.Flags(), s, &c); err != nil {
				return usageError{err}
			}
		}
		if err := output.check(); err != nil {
			return err
		}
		report := checkPaths(paths, c.ruleOptions())
		write := report.writeText
		if output.json() {
			write = report.writeJSON
		}
		if err := write(p.stdout, *rules); err != nil {
			return err
		}
		if report.errors() > 0 {
			return errReported
		}
		return nil
	}
	return cmd
}

func printSchema(p process, kind string) error {
	text, err := rule.JSONSchema(kind)
	if err != nil {
		return usageError{fmt.Errorf("--schema: %w", err)}
	}
	_, err = p.stdout.Write(text)
	return err
}

// checkPaths reads and validates what the daemon would with those paths.
func checkPaths(paths []string, o rule.Options) checkReport {
	var r checkReport
	var files []rule.File
	var unread []error
	var skipped []string
	for _, path := range paths {
		d := ruleswatch.Read(path)
		files = append(files, d.Files...)
		unread = append(unread, each(d.Err)...)
		skipped = append(skipped, d.Skipped...)
	}
	r.files = len(files)
	if len(files) > 0 {
		r.set, r.problems = rule.Load(files, o)
	}
	for _, err := range unread {
		if !r.mentions(err) {
			r.problems = append(r.problems, rule.Problem{Message: err.Error()})
		}
	}
	for _, name := range skipped {
		r.problems = append(r.problems, rule.Problem{Severity: rule.Warning, Pos: rule.Position{File: name},
			Message: "named like a rule file and not read", Fix: "let its name end in .json, .yaml or .yml"})
	}
	if r.errors() == 0 {
		var err error
		if r.rules, err = ruleview.Of(r.set); err != nil {
			r.problems = append(r.problems, rule.Problem{Message: err.Error()})
		}
	}
	return r
}

// each takes joined errors apart.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// mentions says whether the file that err begins with has an error already: an empty file is one
// for the reader and, with its position, for the loader.
func (r checkReport) mentions(err error) bool {
	for _, p := range r.problems.Errors() {
		if p.Pos.File != "" && strings.HasPrefix(err.Error(), p.Pos.File+": ") {
			return true
		}
	}
	return false
}
