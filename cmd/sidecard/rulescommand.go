package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/terminal"
	"github.com/sidecard/sidecard/pkg/admin"
)

func rulesCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Show the rules that a running daemon has in force, and what each of them has done",
		Long: `Ask the admin address of a running daemon for its rules: where each is written, what it limits,
how many requests it let pass and refused, the state of circuit breakers; and for what keeps newer rule
files out.`,
		Args: cobra.NoArgs,
	}
	return showing(cmd, p, "/api/v1/rules", writeRules)
}

// writeRules prints the rules as a table, and below it what an operator should look at.
func writeRules(w io.Writer, v *admin.Rules) error {
	if _, err := fmt.Fprintln(w, rulesLine(&v.RulesStatus)); err != nil {
		return err
	}
	domains := false
	for i := range v.Rules {
		domains = domains || v.Rules[i].Domain != ""
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(domain string, cells ...string) {
		if domains {
			cells = append([]string{cmp.Or(domain, "-")}, cells...)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if len(v.Rules) > 0 {
		row("DOMAIN", "RULE", "KIND", "RESOURCE", "LIMITS", "PASSED", "BLOCKED", "STATE", "SOURCE")
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		row(terminal.Printable(r.Domain), terminal.Printable(r.ID), r.Kind, cmp.Or(terminal.Printable(r.Resource), "-"), limitsText(r),
			strconv.FormatInt(r.Passed, 10), blockedText(r), cmp.Or(stateText(r), "-"), terminal.Printable(r.Source.String()))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range v.Rules {
		for _, hint := range v.Rules[i].Hints {
			fmt.Fprintf(w, "%s: %s\n", terminal.Printable(v.Rules[i].ID), terminal.Printable(hint))
		}
	}
	return writeLoadError(w, v.Error)
}

// limitsText says what a rule limits.
func limitsText(r *admin.Rule) string {
	s := r.Limits
	if r.Param != "" {
		s += " for each " + r.Param
	}
	return terminal.Printable(s)
}

// blockedText says what a rule refused, in parentheses what it would have refused if it were not in shadow.
func blockedText(r *admin.Rule) string {
	if r.Shadow {
		return fmt.Sprintf("(%d)", r.ShadowBlock)
	}
	return strconv.FormatInt(r.Blocked, 10)
}

// stateText says what is known of a rule at the moment; empty: nothing.
func stateText(r *admin.Rule) string {
	var out []string
	if b := r.Breaker; b != nil {
		out = append(out, b.State+" since "+timeText(b.Since))
	}
	if r.InFlight != nil {
		out = append(out, fmt.Sprintf("%d under way", *r.InFlight))
	}
	if r.Keys != nil {
		out = append(out, fmt.Sprintf("%d of %d values", r.Keys.Held, r.Keys.Most))
	}
	if r.Waited > 0 {
		out = append(out, fmt.Sprintf("%d waited", r.Waited))
	}
	return strings.Join(out, ", ")
}
