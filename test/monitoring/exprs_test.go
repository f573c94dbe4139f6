// Package monitoring checks the alert rules and the dashboard in deploy/ against the metrics that the
// daemon declares, and runs the alert rules over made-up series, with the parser and the engine of Prometheus.
// It has no code but its tests, and is a module of its own because Prometheus is larger than all the rest.
package monitoring

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/sidecard/sidecard/internal/metrics"
)

const (
	alertsFile    = "../../deploy/prometheus/alerts.yaml"
	dashboardFile = "../../deploy/grafana/sidecard.json"
	pageFile      = "../../docs/metrics.md"
)

// targetLabels are those that Prometheus, or its operator, gives to all series of a target.
var targetLabels = []string{"job", "instance", "namespace", "pod"}

// foreign are the metrics that others declare: the Go runtime, the process and Envoy. test/e2e sees to it that
// those of Envoy are there.
var foreign = []string{
	"go_goroutines", "process_start_time_seconds", "process_open_fds", "process_max_fds", "process_cpu_seconds_total", "process_resident_memory_bytes",
	"envoy_cluster_ratelimit_ok", "envoy_cluster_ratelimit_error", "envoy_cluster_ratelimit_over_limit", "envoy_cluster_ratelimit_failure_mode_allowed",
}

// series is what may be selected under one name.
type series struct {
	labels []string
	values map[string][]string // of labels that have only some
}

// known returns all that may be selected, without what rules record.
func known() map[string]series {
	out := make(map[string]series)
	for _, name := range foreign {
		out[name] = series{labels: targetLabels}
	}
	for _, f := range metrics.Families() {
		s := series{labels: slices.Clone(targetLabels), values: make(map[string][]string)}
		for _, l := range f.Labels {
			s.labels = append(s.labels, l.Name)
			if l.Values != nil {
				s.values[l.Name] = l.Values
			}
		}
		switch f.Type {
		case metrics.Histogram:
			out[f.Name+"_sum"], out[f.Name+"_count"] = s, s
			s.labels = append(s.labels, "le")
			out[f.Name+"_bucket"] = s
		case metrics.Summary:
			out[f.Name+"_sum"], out[f.Name+"_count"] = s, s
		default:
			out[f.Name] = s
		}
	}
	return out
}

var promQL = parser.NewParser(parser.Options{})

// check parses an expression and returns what is wrong with it. Grafana's variables stand for something first.
func check(expr string, known map[string]series) []error {
	tree, err := promQL.ParseExpr(strings.NewReplacer("$__rate_interval", "5m").Replace(expr))
	if err != nil {
		return []error{err}
	}
	var errs []error
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.VectorSelector:
			errs = append(errs, checkSelector(n, known)...)
		case *parser.AggregateExpr:
			for _, l := range n.Grouping {
				if !carries(n.Expr, l, known) {
					errs = append(errs, fmt.Errorf("no series of %s has the label %s", n.Expr, l))
				}
			}
		case *parser.Call:
			if counts := []string{"rate", "increase", "irate"}; slices.Contains(counts, n.Func.Name) {
				errs = append(errs, checkCounter(n)...)
			}
		}
		return nil
	})
	return errs
}

func checkSelector(v *parser.VectorSelector, known map[string]series) []error {
	s, ok := known[v.Name]
	if !ok {
		return []error{fmt.Errorf("there is no metric %q", v.Name)}
	}
	var errs []error
	for _, m := range v.LabelMatchers {
		values := s.values[m.Name]
		switch {
		case m.Name == model.MetricNameLabel:
		case !slices.Contains(s.labels, m.Name):
			errs = append(errs, fmt.Errorf("%s has no label %q", v.Name, m.Name))
		case values != nil && !slices.ContainsFunc(values, m.Matches):
			errs = append(errs, fmt.Errorf("%s: no %s is meant by %s", v.Name, m.Name, m))
		case values != nil && m.Type == labels.MatchRegexp:
			for _, one := range strings.Split(m.Value, "|") {
				if !slices.Contains(values, one) {
					errs = append(errs, fmt.Errorf("%s: there is no %s %q", v.Name, m.Name, one))
				}
			}
		}
	}
	return errs
}

// carries says whether some series that e selects has the label.
func carries(e parser.Expr, label string, known map[string]series) bool {
	found := false
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if v, ok := n.(*parser.VectorSelector); ok {
			found = found || slices.Contains(known[v.Name].labels, label)
		}
		return nil
	})
	return found
}

// checkCounter refuses the rate of what is none.
func checkCounter(call *parser.Call) []error {
	var errs []error
	parser.Inspect(call, func(n parser.Node, _ []parser.Node) error {
		v, ok := n.(*parser.VectorSelector)
		if !ok || !strings.HasPrefix(v.Name, "sidecard_") {
			return nil
		}
		for _, ending := range []string{"_total", "_bucket", "_sum", "_count"} {
			if strings.HasSuffix(v.Name, ending) {
				return nil
			}
		}
		errs = append(errs, fmt.Errorf("%s of %s, which is no counter", call.Func.Name, v.Name))
		return nil
	})
	return errs
}

func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	all := known()
	for _, good := range []string{
		`sum by (instance) (rate(sidecard_decisions_total{outcome=~"pass|wait", rule="x"}[$__rate_interval]))`,
		`histogram_quantile(0.5, sum by (le) (rate(sidecard_wait_duration_seconds_bucket[5m])))`,
	} {
		if errs := check(good, all); errs != nil {
			t.Errorf("%s: %v", good, errs)
		}
	}
	for _, bad := range []string{
		`sidecard_decision_total`, `sidecard_decisions_total{outcome="blocked"}`, `sidecard_decisions_total{outcome=~"pass|blocked"}`,
		`sidecard_decisions_total{path="/"}`, `sum by (path) (sidecard_keys)`, `rate(sidecard_keys[5m])`, `sum(`, `sidecard_wait_duration_seconds`,
	} {
		if check(bad, all) == nil {
			t.Errorf("%s: nothing is found", bad)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
