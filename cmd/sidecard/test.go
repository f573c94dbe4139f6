package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
	"github.com/sidecard/sidecard/pkg/ruletest"
)

func testCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test CASES...",
		Short: "Run unit tests of rules on a virtual clock; exit 0 when all pass, else 1",
		Long: `Run the case files, or those of directories, with the loader and the engine of the daemon, on a
virtual clock. A line is printed for each event that does not come out as expected: where it stands,
what was expected and what came, with the rule that decided. The exit status is 0 when all cases pass,
1 when one fails or its rules are not taken, and 2 when a file cannot be read.`,
		Args: cobra.MinimumNArgs(1),
	}
	codes, _ := lookupSetting("paramCodes")
	addFlag(cmd, codes, defaults().ParamCodes.String())
	rules := cmd.Flags().StringArray("rules", nil, "rule file or directory, at `PATH`, beside those that a case file names; may be repeated")
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, paths []string) error {
		c := defaults()
		if err := overlay(p, cmd.Flags(), codes, &c); err != nil {
			return usageError{err}
		}
		if err := output.check(); err != nil {
			return err
		}
		files, err := caseFiles(paths)
		if err != nil {
			return usageError{err}
		}
		report := testReport{}
		for _, f := range files {
			report.files = append(report.files, ruletest.Run(f, ruletest.Options{Read: readRules, Rules: *rules, Load: c.ruleOptions()}))
		}
		write := report.writeText
		if output.json() {
			write = report.writeJSON
		}
		if err := write(p.stdout); err != nil {
			return err
		}
		switch {
		case report.unread() > 0:
			return errUnread
		case !report.ok():
			return errReported
		}
		return nil
	}
	return cmd
}

// readRules reads the rule files at a path as the daemon would.
func readRules(path string) ([]rule.File, error) {
	d := ruleswatch.Read(path)
	return d.Files, d.Err
}

// caseFiles reads the case files at the paths: a file, or all those of a directory, but not of the folders in
// it, whose names end as those of case files may and neither begin with a dot nor say a kind of rules.
func caseFiles(paths []string) ([]rule.File, error) {
	var files []rule.File
	for _, path := range paths {
		d := ruleswatch.Read(path)
		if d.Err != nil {
			return nil, fmt.Errorf("case files: %w", d.Err)
		}
		found := 0
		for _, f := range d.Files {
			if f.Name == path || !rule.NamesKind(f.Name) {
				files = append(files, f)
				found++
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("case files: %s: holds rule files alone", path)
		}
	}
	return files, nil
}
