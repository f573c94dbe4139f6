//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/metrics"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// The counters of Envoy that alerts and dashboard use are those that Envoy shows to Prometheus.
func TestEnvoyShowsWhatAlertsAreAbout(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[{"id": "one", "resource": "orders", "count": 1, "intervalSec": 3600}]`))
	c := client(t, "")
	for range 2 {
		if reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders")); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	if err := s.Sidecard.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
	<-s.Sidecard.Done()
	if reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders")); !reply.Passed() {
		t.Fatalf("without a daemon: %d, %v", reply.Status, reply.Err)
	}
	_, text, err := envoytest.Fetch(soon(t), s.AdminURL+"/stats/prometheus?usedonly")
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	for _, file := range []string{"../../deploy/prometheus/alerts.yaml", "../../deploy/grafana/sidecard.json"} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\benvoy_\w+`).FindAllString(string(data), -1) {
			names[name] = true
		}
	}
	if len(names) < 4 {
		t.Errorf("found only %v", names)
	}
	for name := range names {
		if _, n, err := envoytest.Sample(text, name); err != nil || n < 1 {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
}

// The built daemon shows what the table declares, and counts what came through Envoy.
func TestMetricsOfTheDaemon(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "rules.yaml", `
gatewayFlowRules:
- {id: one, resource: orders, count: 1, intervalSec: 3600}
- {id: per-user, resource: orders, count: 100, intervalSec: 3600, paramItem: {parseStrategy: header, fieldName: x-user-id}}
`))
	c := client(t, "")
	for range 40 {
		if reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders")); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	text, err := s.Metrics(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	// Those that nothing happened for which they would be shown.
	idle := []string{"sidecard_unmatched_total", "sidecard_unmatched_calls_total", "sidecard_in_flight", "sidecard_breaker_state", "sidecard_outcome_reports_missing", "sidecard_resource_errors_total", "sidecard_resource_response_seconds", "sidecard_tls_certificate_expiry_timestamp_seconds", "sidecard_tls_reloads_total"}
	for _, f := range metrics.Families() {
		if !strings.Contains(text, "# TYPE "+f.Name+" "+string(f.Type)+"\n") && !slices.Contains(idle, f.Name) {
			t.Errorf("%s is not there", f.Name)
		}
	}
	for _, want := range []struct {
		name   string
		labels []string
		value  float64
	}{
		{"sidecard_calls_total", []string{`result="pass"`}, 1},
		{"sidecard_calls_total", []string{`result="block"`}, 39},
		{"sidecard_decisions_total", []string{`rule="one"`, `outcome="block"`}, 39},
		{"sidecard_missing_params_total", []string{`rule="per-user"`}, 40},
		{"sidecard_rules", nil, 2},
		{"sidecard_rules_last_reload_successful", nil, 1},
		{"sidecard_waiting_limit", nil, 4096},
	} {
		if _, n, err := envoytest.Sample(text, want.name, want.labels...); err != nil || n != want.value {
			t.Errorf("%s %v: got %v, want %v (%v)", want.name, want.labels, n, want.value, err)
		}
	}
	for _, name := range []string{"sidecard_decision_duration_seconds_sum", "sidecard_rules_last_reload_duration_seconds"} {
		if _, n, err := envoytest.Sample(text, name); err != nil || n <= 0 || n > 60 {
			t.Errorf("%s: %v, %v", name, n, err)
		}
	}
}
