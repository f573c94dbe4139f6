package ruleview

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Authority is an authority rule.
type Authority struct {
	ID        string   `json:"id"`
	Domain    string   `json:"domain,omitempty"`
	Resource  string   `json:"resource"`
	Mode      string   `json:"mode"`
	Strategy  string   `json:"strategy"`
	Origins   []string `json:"origins"`
	OnMissing string   `json:"onMissing"`
	Shadow    bool     `json:"shadow,omitempty"`
}

// OfAuthority returns the view of an authority rule.
func OfAuthority(r *rule.AuthorityRule) Authority {
	return Authority{
		ID: r.ID, Domain: r.Domain, Resource: r.Resource, Mode: r.Mode.String(), Strategy: r.Strategy.String(),
		Origins: r.Origins, OnMissing: r.OnMissing.String(), Shadow: r.Shadow,
	}
}

// shownOrigins bounds the origins of a rule in texts.
const shownOrigins = 5

// PassText says whose requests pass.
func (v Authority) PassText() string {
	origins := strings.Join(v.Origins[:min(len(v.Origins), shownOrigins)], ", ")
	if more := len(v.Origins) - shownOrigins; more > 0 {
		origins += fmt.Sprintf(" and %d more", more)
	}
	s := "only " + origins
	if v.Strategy == rule.AuthorityBlack.String() {
		s = "all but " + origins
	}
	if v.OnMissing == rule.MissingSkip.String() && v.Strategy == rule.AuthorityWhite.String() {
		s += ", and whoever has no origin"
	}
	if v.OnMissing == rule.MissingBlock.String() && v.Strategy == rule.AuthorityBlack.String() {
		s += " and whoever has no origin"
	}
	if v.Shadow {
		s += ", shadow"
	}
	return s
}

// writeAuthority prints authority rules as a table.
func writeAuthority(w io.Writer, rules []Authority) error {
	domains := false
	for i := range rules {
		domains = domains || rules[i].Domain != ""
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(domain string, cells ...string) {
		if domains {
			cells = append([]string{domain}, cells...)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	row("DOMAIN", "AUTHORITY", "RESOURCE", "MODE", "PASSES")
	for i := range rules {
		v := &rules[i]
		domain := v.Domain
		if domain == "" {
			domain = "-"
		}
		row(domain, v.ID, v.Resource, v.Mode, v.PassText())
	}
	return t.Flush()
}

// System is a system rule. What is not looked at is absent. Make it with OfSystem.
type System struct {
	ID        string   `json:"id"`
	QPS       string   `json:"qps,omitempty"` // as written
	MaxThread *int64   `json:"maxThread,omitempty"`
	AvgRTMs   *int64   `json:"avgRt,omitempty"`
	Load      *float64 `json:"highestSystemLoad,omitempty"`
	CPU       *float64 `json:"highestCpuUsage,omitempty"`
	// Outcomes says that Envoy must report how all requests end.
	Outcomes bool `json:"needsOutcomes"`
	Shadow   bool `json:"shadow,omitempty"`

	rule *rule.SystemRule
}

// OfSystem returns the view of a system rule, which must not change.
func OfSystem(r *rule.SystemRule) System {
	v := System{ID: r.ID, QPS: r.QPS, Outcomes: r.NeedsOutcomes(), Shadow: r.Shadow, rule: r}
	if r.MaxThread != rule.Unchecked {
		v.MaxThread = &r.MaxThread
	}
	if r.AvgRT != rule.Unchecked {
		v.AvgRTMs = new(r.AvgRT.Milliseconds())
	}
	if r.Load != rule.Unchecked {
		v.Load = &r.Load
	}
	if r.CPU != rule.Unchecked {
		v.CPU = &r.CPU
	}
	return v
}

// RefusesText says what the rule refuses by.
func (v System) RefusesText() string {
	var out []string
	if v.QPS != "" {
		out = append(out, "above "+v.QPS+" calls a second")
	}
	if v.MaxThread != nil {
		out = append(out, fmt.Sprintf("above %d under way", *v.MaxThread+1))
	}
	if v.AvgRTMs != nil {
		out = append(out, fmt.Sprintf("above %v on average", v.rule.AvgRT))
	}
	if v.Load != nil {
		out = append(out, fmt.Sprintf("above load %v if overloaded", *v.Load))
	}
	if v.CPU != nil {
		out = append(out, fmt.Sprintf("above %.4g%% cpu", *v.CPU*100))
	}
	if v.Shadow {
		out = append(out, "shadow")
	}
	return strings.Join(out, ", ")
}

// writeSystem prints system rules as a table.
func writeSystem(w io.Writer, rules []System) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SYSTEM\tREFUSES\tNEEDS ENDS OF REQUESTS")
	for i := range rules {
		needs := "no"
		if rules[i].Outcomes {
			needs = "of all"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", rules[i].ID, rules[i].RefusesText(), needs)
	}
	return t.Flush()
}
