package monitoring

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what these tests know of Grafana's format.
type dashboard struct {
	Title, UID string
	Panels     []panel
	Templating struct {
		List []struct {
			Name, Type, Definition string
		}
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ RefID, Expr, LegendFormat string }
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardExpressions(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	all := known()
	for _, g := range readAlerts(t).Groups {
		for _, r := range g.Rules {
			if r.Record != "" {
				all[r.Record] = recorded(t, r, all)
			}
		}
	}
	legend := regexp.MustCompile(`{{(\w+)}}`)
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d: title %q, description %q, %d queries", p.ID, p.Title, p.Description, len(p.Targets))
		}
		for _, q := range p.Targets {
			for _, err := range check(q.Expr, all) {
				t.Errorf("%s: %s: %v", p.Title, q.Expr, err)
			}
			tree, err := promQL.ParseExpr(strings.ReplaceAll(q.Expr, "$__rate_interval", "5m"))
			if err != nil {
				continue // told above
			}
			for _, m := range legend.FindAllStringSubmatch(q.LegendFormat, -1) {
				if !carries(tree, m[1], all) {
					t.Errorf("%s: the legend names %s, which no series of %s has", p.Title, m[1], q.Expr)
				}
			}
		}
	}
	for _, a := range d.Annotations.List {
		for _, err := range check(a.Expr, all) {
			t.Errorf("annotation %s: %v", a.Name, err)
		}
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue
		}
		m := values.FindStringSubmatch(v.Definition)
		if m == nil {
			t.Errorf("variable %s: %q is not understood", v.Name, v.Definition)
			continue
		}
		for _, err := range check(m[1], all) {
			t.Errorf("variable %s: %v", v.Name, err)
		}
		if name, _, _ := strings.Cut(m[1], "{"); !slices.Contains(all[name].labels, m[2]) {
			t.Errorf("variable %s: %s has no label %s", v.Name, name, m[2])
		}
	}
}

// No panel lies upon another, none beyond the edge, and none has the number of another.
func TestDashboardLayout(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	if d.Title == "" || d.UID == "" || len(d.Panels) < 20 {
		t.Fatalf("got %q, %q and %d panels", d.Title, d.UID, len(d.Panels))
	}
	ids := make(map[int]bool)
	for i, p := range d.Panels {
		a := p.GridPos
		if ids[p.ID] || a.X < 0 || a.X+a.W > 24 || a.W < 1 || a.H < 1 {
			t.Errorf("%s: number %d at %+v", p.Title, p.ID, a)
		}
		ids[p.ID] = true
		for _, q := range d.Panels[:i] {
			b := q.GridPos
			if a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
				t.Errorf("%s lies upon %s", p.Title, q.Title)
			}
		}
	}
}

// Each metric is somewhere on the dashboard, but for what is said once and for what is of no use there.
func TestDashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()
	text := read(t, dashboardFile)
	elsewhere := []string{
		"sidecard_overrides_ignored_total", // a fault of configuration that changes nothing
		"sidecard_rules",                   // how many there are says little
	}
	for name := range known() {
		if !strings.HasPrefix(name, "sidecard_") || strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count") || slices.Contains(elsewhere, name) {
			continue
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text) {
			t.Errorf("%s is nowhere", name)
		}
	}
}
