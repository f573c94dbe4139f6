package metrics

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// scraped returns what a scrape says of our own metrics, sorted, without comments and buckets.
func scraped(t *testing.T, m *Metrics) []string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("got %d and\n%s", w.Code, w.Body)
	}
	var out []string
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, prefix) && !strings.Contains(line, "_bucket{") {
			out = append(out, strings.TrimSuffix(line, "\n"))
		}
	}
	slices.Sort(out)
	return out
}

// of returns the lines of the metric.
func of(lines []string, name string) []string {
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, prefix+name+"{") || strings.HasPrefix(l, prefix+name+" ") {
			out = append(out, l)
		}
	}
	return out
}

func TestScrape(t *testing.T) {
	t.Parallel()
	m := newMetrics(
		counted("", "orders", "orders", 10),
		tracking(keyed(counted("", "per-user", "orders", 20), 5), 9),
	)
	m.Refused()
	m.Applied("old", time.Unix(1, 0))
	m.Took(time.Hour)
	m.Applied("abc123", time.Unix(1700000000, 500e6))
	m.Took(1500 * time.Microsecond)
	const want = `
sidecard_build_info{goversion="go1.26",revision="abc",version="v1.2.3"} 1
sidecard_calls_total{api="envoy",result="block"} 32
sidecard_calls_total{api="envoy",result="pass"} 31
sidecard_calls_total{api="local",result="block"} 35
sidecard_calls_total{api="local",result="pass"} 34
sidecard_cancelled_calls_total 2
sidecard_connections_limit{listener="grpc"} 1024
sidecard_connections_limit{listener="status"} 1024
sidecard_connections_refused_total{listener="grpc",reason="limit"} 3
sidecard_connections_refused_total{listener="grpc",reason="peer"} 4
sidecard_connections_refused_total{listener="grpc",reason="tls"} 5
sidecard_connections_refused_total{listener="status",reason="limit"} 0
sidecard_connections_refused_total{listener="status",reason="peer"} 0
sidecard_connections_refused_total{listener="status",reason="tls"} 0
sidecard_connections{listener="grpc"} 2
sidecard_connections{listener="status"} 0
sidecard_decision_duration_seconds_count 3
sidecard_decision_duration_seconds_sum 3600.000006
sidecard_decisions_total{outcome="block",resource="orders",rule="orders"} 11
sidecard_decisions_total{outcome="block",resource="orders",rule="per-user"} 21
sidecard_decisions_total{outcome="pass",resource="orders",rule="orders"} 9
sidecard_decisions_total{outcome="pass",resource="orders",rule="per-user"} 18
sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="orders"} 12
sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="per-user"} 22
sidecard_decisions_total{outcome="wait",resource="orders",rule="orders"} 1
sidecard_decisions_total{outcome="wait",resource="orders",rule="per-user"} 2
sidecard_in_flight{rule="per-user"} 9
sidecard_invalid_requests_total 1
sidecard_key_overflow_total{rule="per-user"} 24
sidecard_key_table_bytes{rule="per-user"} 5000
sidecard_keys_all_rules 7
sidecard_keys_all_rules_capacity 8000
sidecard_keys_capacity{rule="per-user"} 500
sidecard_keys{rule="per-user"} 5
sidecard_lost_races_total{rule="orders"} 15
sidecard_lost_races_total{rule="per-user"} 25
sidecard_missing_params_total{rule="orders"} 13
sidecard_missing_params_total{rule="per-user"} 23
sidecard_outcome_reports_missing{domain="d` + "\uFFFD" + `"} 1
sidecard_outcome_reports_missing{domain="shop"} 0
sidecard_outcome_reports_missing{domain="silent"} 1
sidecard_overrides_ignored_total 3
sidecard_resource_overflow_total 51
sidecard_resources 50
sidecard_rules 2
sidecard_rules_info{revision="abc123"} 1
sidecard_rules_last_reload_duration_seconds 0.0015
sidecard_rules_last_reload_successful 1
sidecard_rules_last_success_timestamp_seconds 1.7000000005e+09
sidecard_rules_reloads_total{result="error"} 1
sidecard_rules_reloads_total{result="success"} 2
sidecard_spans_total{event="ended"} 60
sidecard_spans_total{event="exported"} 61
sidecard_spans_total{event="failed"} 62
sidecard_tls_certificate_expiry_timestamp_seconds 1.8e+09
sidecard_tls_reloads_total{result="error"} 62
sidecard_tls_reloads_total{result="success"} 61
sidecard_token_bytes 141
sidecard_tokens_live 140
sidecard_tokens_total{event="completed"} 41
sidecard_tokens_total{event="disconnected"} 44
sidecard_tokens_total{event="expired"} 43
sidecard_tokens_total{event="foreign"} 45
sidecard_tokens_total{event="issued"} 40
sidecard_tokens_total{event="refused"} 46
sidecard_tokens_total{event="untold"} 47
sidecard_tokens_total{event="withdrawn"} 42
sidecard_unmatched_calls_total{domain="d` + "\uFFFD" + `"} 1
sidecard_unmatched_calls_total{domain="shop"} 2
sidecard_unmatched_total{domain="d` + "\uFFFD" + `"} 3
sidecard_unmatched_total{domain="shop"} 7
sidecard_unready_calls_total{api="envoy"} 33
sidecard_unready_calls_total{api="local"} 36
sidecard_unused_places_total{rule="orders"} 16
sidecard_unused_places_total{rule="per-user"} 26
sidecard_wait_duration_seconds_count 3
sidecard_wait_duration_seconds_sum 3.600000006e+06
sidecard_waiting 4
sidecard_waiting_limit 4096
sidecard_waiting_refused_total 5
`
	if got := strings.Join(scraped(t, m), "\n"); got != strings.TrimSpace(want) {
		t.Errorf("got\n%s", got)
	}
}

func TestBeforeTheFirstRules(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	lines := scraped(t, m)
	for _, want := range []string{
		`sidecard_rules 0`, `sidecard_rules_last_reload_duration_seconds 0`, `sidecard_rules_last_reload_successful 0`,
		`sidecard_rules_last_success_timestamp_seconds 0`, `sidecard_rules_reloads_total{result="error"} 0`, `sidecard_rules_reloads_total{result="success"} 0`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not there", want)
		}
	}
	if got := of(lines, "rules_info"); got != nil {
		t.Errorf("got %q", got)
	}
}

func TestTheLastReloadIsShown(t *testing.T) {
	t.Parallel()
	m := newMetrics()
	for i, step := range []struct {
		do   func()
		want string
	}{
		{func() { m.Applied("a", time.Unix(1, 0)) }, "1"},
		{m.Refused, "0"},
		{func() { m.Applied("a", time.Unix(2, 0)) }, "1"},
	} {
		step.do()
		if got := of(scraped(t, m), "rules_last_reload_successful"); !slices.Equal(got, []string{"sidecard_rules_last_reload_successful " + step.want}) {
			t.Errorf("step %d: got %q", i, got)
		}
	}
}

// A series that is there twice makes Prometheus refuse the whole scrape, and so does a label that
// is not UTF-8: neither may come from what users name their rules and domains.
func TestEqualAndStrangeNamesDoNotSpoilTheScrape(t *testing.T) {
	t.Parallel()
	lines := scraped(t, newMetrics(
		tracking(keyed(counted("a", "same", "orders", 100), 1), 3),
		tracking(keyed(counted("b", "same", "orders", 200), 2), 4),
		keyed(counted("", "same", "search", 1000), 4),
		counted("", "odd", "r\xff", 1),
		counted("", "odd", "r\xfe", 1),
		counted("", "a \"quoted\" \\ name\n", "r", 1),
	))
	for _, want := range []string{
		`sidecard_decisions_total{outcome="block",resource="orders",rule="same"} 302`,
		`sidecard_decisions_total{outcome="block",resource="r�",rule="odd"} 4`,
		`sidecard_decisions_total{outcome="block",resource="search",rule="same"} 1001`,
		`sidecard_decisions_total{outcome="block",resource="r",rule="a \"quoted\" \\ name\n"} 2`,
		`sidecard_decisions_total{outcome="pass",resource="orders",rule="same"} 270`,
		`sidecard_in_flight{rule="same"} 7`,
		`sidecard_keys{rule="same"} 7`,
		`sidecard_keys_capacity{rule="same"} 700`,
		`sidecard_missing_params_total{rule="same"} 1309`,
		`sidecard_outcome_reports_missing{domain="d�"} 1`,
		`sidecard_unmatched_total{domain="d�"} 3`,
		`sidecard_unmatched_calls_total{domain="d�"} 1`,
	} {
		want = strings.ReplaceAll(want, `�`, "�")
		if !slices.Contains(lines, want) {
			t.Errorf("%s is not there", want)
		}
	}
	seen := make(map[string]bool)
	for _, l := range lines {
		series := l[:strings.LastIndex(l, " ")]
		if seen[series] {
			t.Errorf("%s is there twice", series)
		}
		seen[series] = true
	}
}

// Rules of the same id share a series, which shows the breaker that lets less through.
func TestBreakersOfTheSameName(t *testing.T) {
	t.Parallel()
	e := newEngine(t, `{"degradeRules": [{"id": "b", "resource": "orders", "grade": 2, "count": 1, "timeWindow": 10, "minRequestAmount": 1}, {"id": "well", "resource": "other", "grade": 2, "count": 1, "timeWindow": 10}]}`)
	for range 3 {
		ended(e, "orders", time.Millisecond, true)
	}
	rules := e.Rules()
	m := newMetrics(rules[1], rules[0])
	want := []string{`sidecard_breaker_state{rule="b"} 2`, `sidecard_breaker_state{rule="well"} 0`}
	if got := of(scraped(t, m), "breaker_state"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHandlerWhileRulesChange(t *testing.T) {
	t.Parallel()
	m := newMetrics(counted("", "orders", "orders", 10))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 20 {
				m.Applied(fmt.Sprintf("rev-%d-%d", i, j), time.Unix(int64(j), 0))
				m.Refused()
			}
		})
	}
	for range 20 {
		if !slices.Contains(scraped(t, m), `sidecard_decisions_total{outcome="pass",resource="orders",rule="orders"} 9`) {
			t.Fatal("the rule is not there")
		}
	}
	wg.Wait()
}
