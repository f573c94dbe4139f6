package metrics

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
)

func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for i, f := range Families() {
		name := regexp.MustCompile(`^sidecard_[a-z]+(_[a-z]+)*$`)
		if !name.MatchString(f.Name) || seen[f.Name] || !strings.HasSuffix(f.Help, ".") {
			t.Errorf("metric %d: %+v", i, f)
		}
		seen[f.Name] = true
		if slices.Contains([]Type{Counter}, f.Type) != strings.HasSuffix(f.Name, "_total") {
			t.Errorf("%s is a %s", f.Name, f.Type)
		}
		if f.Unit != "" && !strings.HasSuffix(f.Name, "_"+f.Unit) {
			t.Errorf("%s is in %s", f.Name, f.Unit)
		}
		for _, l := range f.Labels {
			if l.Help == "" || l.Name == "" {
				t.Errorf("%s: label %+v", f.Name, l)
			}
		}
	}
}

// A scrape has every metric of the table, as it is declared there, and no other of our own.
func TestScrapeIsTheTable(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(everything(t)))
	got, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, f := range got {
		byName[f.GetName()] = f
	}
	families := Families()
	if len(byName) != len(families) {
		t.Errorf("a scrape has %d metrics, the table %d", len(byName), len(families))
	}
	for _, want := range families {
		f := byName[want.Name]
		if f == nil {
			t.Errorf("%s is not shown", want.Name)
			continue
		}
		if !strings.EqualFold(f.GetType().String(), string(want.Type)) || f.GetHelp() != want.Help {
			t.Errorf("%s: shown as a %s: %s", want.Name, f.GetType(), f.GetHelp())
		}
		shown := make(map[string]map[string]bool)
		for _, m := range f.Metric {
			for _, p := range m.Label {
				if shown[p.GetName()] == nil {
					shown[p.GetName()] = make(map[string]bool)
				}
				shown[p.GetName()][p.GetValue()] = true
			}
		}
		if len(shown) != len(want.Labels) {
			t.Errorf("%s: shown with the labels %v, declared with %v", want.Name, shown, want.Labels)
		}
		for _, l := range want.Labels {
			for value := range shown[l.Name] {
				if l.Values != nil && !slices.Contains(l.Values, value) {
					t.Errorf("%s: %s=%q is not declared", want.Name, l.Name, value)
				}
			}
			for _, value := range l.Values {
				if !shown[l.Name][value] {
					t.Errorf("%s: %s=%q is never shown", want.Name, l.Name, value)
				}
			}
		}
	}
}

func TestNamesKeepToPrometheusHabits(t *testing.T) {
	t.Parallel()
	m := everything(t)
	faults, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	n, err := testutil.GatherAndCount(m.registry)
	if err != nil || n < 2*len(table) {
		t.Fatalf("linted %d series: %v", n, err)
	}
	for _, f := range faults {
		t.Errorf("%s: %s", f.Metric, f.Text)
	}
}
