package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/internal/terminal"
	"github.com/sidecard/sidecard/pkg/admin"
)

func statusCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how a running daemon stands",
		Long: `Ask the admin address of a running daemon how it stands: version, rules and what keeps newer
ones out, addresses and connections, memory.`,
		Args: cobra.NoArgs,
	}
	return showing(cmd, p, "/api/v1/status", writeStatus)
}

// writeStatus prints a status as lines of a name and what is known of it.
func writeStatus(w io.Writer, v *admin.Status) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	state := "ready"
	switch {
	case v.Stopping:
		state = "stopping"
	case !v.Ready:
		state = "not ready, there are no rules"
	}
	row("sidecard", "%s, commit %s, %s", v.Version, v.Revision, v.Go)
	row("state", "%s, up %s since %s", state, seconds(v.UptimeSec), timeText(v.Started))
	row("clock", "%s, the wall clock is %s", timeText(v.Now), driftText(v.DriftMs))
	row("rules", "%s", rulesLine(&v.Rules))
	for _, s := range v.Rules.Sources {
		row("source", "%s, %s, changed %s", terminal.Printable(s.Name), ruleview.Counted(s.Files, "file"), timeText(s.ChangedAt))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Listeners)) {
		row(name, "%s", terminal.Printable(strings.Join(v.Listeners[name], ", ")))
	}
	for _, c := range v.Connections {
		line := fmt.Sprintf("%d of %d to %s", c.Open, c.Most, c.Listener)
		for _, why := range slices.Sorted(maps.Keys(c.Refused)) {
			if n := c.Refused[why]; n > 0 {
				line += fmt.Sprintf(", %d refused (%s)", n, why)
			}
		}
		row("connections", "%s", line)
	}
	row("waiting", "%d of %d calls", v.Waiting.Now, v.Waiting.Most)
	row("under way", "%d calls whose end is waited for; %d ended by a report, %d by their lease", v.Tokens.Live, v.Tokens.Completed, v.Tokens.Expired)
	row("values", "%d of %d", v.Keys.Now, v.Keys.Most)
	row("resources", "%d known by name, %d requests for others", v.Resources.Known, v.Resources.Overflow)
	memory := fmt.Sprintf("%s heap, %s of the runtime, %s", ruleview.Bytes(v.Memory.Heap), ruleview.Bytes(v.Memory.Runtime), ruleview.Counted(v.Memory.Goroutines, "goroutine"))
	if v.Memory.Resident > 0 {
		memory = ruleview.Bytes(v.Memory.Resident) + " resident, " + memory
	}
	row("memory", "%s", memory)
	if v.System.Load != nil {
		row("load", "%.2f", *v.System.Load)
	}
	if v.System.CPU != nil {
		row("processors", "%.0f%%", *v.System.CPU*100)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, domain := range v.Tokens.Silent {
		fmt.Fprintf(w, "domain %s: %s\n", terminal.Printable(domain), admin.NoReports)
	}
	return writeLoadError(w, v.Rules.Error)
}

// rulesLine says which rules are in force.
func rulesLine(r *admin.RulesStatus) string {
	if r.AppliedAt == nil {
		return "none in force yet"
	}
	return fmt.Sprintf("%s of %s, revision %s, in force since %s", ruleview.Counted(r.Count, "rule"), ruleview.Counted(r.Files, "file"), r.Revision, timeText(*r.AppliedAt))
}

// writeLoadError says what keeps newer rules out, if anything does.
func writeLoadError(w io.Writer, e *admin.LoadError) error {
	if e == nil {
		return nil
	}
	_, err := fmt.Fprintf(w, "since %s the newest rule files are not in force:\n", timeText(e.Since))
	for line := range strings.Lines(e.Text) {
		fmt.Fprintf(w, "  %s\n", terminal.Printable(strings.TrimSuffix(line, "\n")))
	}
	return err
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func seconds(n int64) string { return (time.Duration(n) * time.Second).String() }

func driftText(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d.Abs() < 100*time.Millisecond:
		return "the same"
	case d < 0:
		return d.Abs().String() + " behind"
	}
	return d.String() + " ahead"
}
