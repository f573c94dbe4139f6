package monitoring

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func readAlerts(t *testing.T) *rulefmt.RuleGroups {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(read(t, alertsFile)), false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Error(err)
	}
	if t.Failed() {
		t.FailNow()
	}
	return groups
}

// recorded returns what a recording rule makes: series with the labels that its aggregations keep.
func recorded(t *testing.T, r rulefmt.Rule, known map[string]series) series {
	t.Helper()
	tree, err := promQL.ParseExpr(r.Expr)
	if err != nil {
		t.Fatal(err)
	}
	var s series
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if a, ok := n.(*parser.AggregateExpr); ok {
			s.labels = append(s.labels, a.Grouping...)
		}
		return nil
	})
	if s.labels == nil {
		t.Fatalf("%s: the labels of what it records are not known", r.Record)
	}
	return s
}

// Each expression is about metrics and labels that there are, and what an alert says of its labels too.
func TestAlertExpressions(t *testing.T) {
	t.Parallel()
	all := known()
	named := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, g := range readAlerts(t).Groups {
		for _, r := range g.Rules {
			name := r.Record + r.Alert
			for _, err := range check(r.Expr, all) {
				t.Errorf("%s: %v", name, err)
			}
			if r.Record != "" {
				all[r.Record] = recorded(t, r, all)
				continue
			}
			tree, err := promQL.ParseExpr(r.Expr)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(r.Annotations["summary"], -1) {
				if !carries(tree, m[1], all) {
					t.Errorf("%s: the summary names the label %s, which no series of it has", name, m[1])
				}
			}
		}
	}
}

// Each alert says how bad it is and where to read what to do, and that is there, and only that.
func TestAlertsHaveRunbooks(t *testing.T) {
	t.Parallel()
	_, alerts, ok := strings.Cut(read(t, pageFile), "\n## Alerts\n")
	if !ok {
		t.Fatalf("%s has no section Alerts", pageFile)
	}
	page := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)\n\n\S`).FindAllStringSubmatch(alerts, -1) {
		page[m[1]] = true
	}
	const base = "https://github.com/sidecard/sidecard/blob/main/docs/metrics.md#"
	for _, g := range readAlerts(t).Groups {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			switch s := r.Labels["severity"]; s {
			case "info", "warning", "critical":
			default:
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["runbook_url"] != base+strings.ToLower(r.Alert) {
				t.Errorf("%s: annotations %v", r.Alert, r.Annotations)
			}
			if !page[r.Alert] {
				t.Errorf("%s says nothing of %s", pageFile, r.Alert)
			}
			delete(page, r.Alert)
		}
	}
	for name := range page {
		t.Errorf("%s has a paragraph of %s, which is no alert", pageFile, name)
	}
}
