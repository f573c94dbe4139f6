package metrics

import (
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/window"
)

// rule returns a rule whose counters all differ, from n upwards.
func rule(domain, id, resource string, n int64) engine.RuleState {
	c := new(engine.Counters)
	c.Passed.Store(n)
	c.Blocked.Store(n + 1)
	c.ShadowBlock.Store(n + 2)
	c.Missing.Store(n + 3)
	c.Untracked.Store(n + 4)
	c.LostRaces.Store(n + 5)
	c.Waited.Store(n / 10)
	c.UnusedPlaces.Store(n + 6)
	return engine.RuleState{Rule: &engine.CompiledRule{ID: id, Domain: domain, Resource: resource, Counters: c}}
}

func keyed(r engine.RuleState, keys int64) engine.RuleState {
	r.Keys = window.KeyStats{Keys: keys, Slots: 1024, Bytes: 1000 * keys}
	return r
}

// tracking makes r a rule that counts so many calls under way.
func tracking(r engine.RuleState, calls int64) engine.RuleState {
	r.Tracks, r.InFlight = true, calls
	return r
}

// tokenStats are counts that all differ, from n upwards.
func tokenStats(n int64, domains ...engine.DomainOutcomes) engine.TokenStats {
	st := engine.TokenStats{TokenCounters: new(engine.TokenCounters), Domains: domains}
	for i, c := range []*atomic.Int64{&st.Issued, &st.Completed, &st.Withdrawn, &st.Expired, &st.Disconnected, &st.Foreign, &st.Refused, &st.Untold} {
		c.Store(n + int64(i))
	}
	return st
}

func newMetrics(calls Calls, rules ...engine.RuleState) *Metrics {
	return New(Sources{
		Rules: func() []engine.RuleState { return rules },
		Calls: func() Calls { return calls },
		Tokens: func() engine.TokenStats {
			return tokenStats(40, engine.DomainOutcomes{Domain: "shop", Reported: 1, Expired: 1}, engine.DomainOutcomes{Domain: "silent", Expired: 1})
		},
		Breakers: func() []Breaker {
			return []Breaker{{"probes", engine.BreakerHalfOpen}, {"twice", engine.BreakerOpen}, {"twice", engine.BreakerClosed}, {"well", engine.BreakerClosed}}
		},
		Connections: func() []Connections {
			return []Connections{{Listener: "grpc", Open: 2, Refused: map[string]int64{"limit": 3, "peer": 0}}, {Listener: "status"}}
		},
	})
}

// ours leaves out what the Go runtime and the process say of themselves.
var ours = []string{
	"sidecard_decisions_total", "sidecard_unmatched_total", "sidecard_rules_reloads_total",
	"sidecard_rules_last_success_timestamp_seconds", "sidecard_rules_info", "sidecard_keys", "sidecard_key_overflow_total",
	"sidecard_missing_params_total", "sidecard_lost_races_total", "sidecard_cancelled_calls_total",
	"sidecard_overrides_ignored_total", "sidecard_invalid_requests_total",
	"sidecard_rules_last_reload_successful", "sidecard_key_table_bytes", "sidecard_unused_places_total",
	"sidecard_waiting", "sidecard_waiting_refused_total", "sidecard_connections", "sidecard_connections_refused_total",
	"sidecard_in_flight", "sidecard_tokens_total", "sidecard_breaker_state", "sidecard_outcome_reports_missing",
}

func TestScrape(t *testing.T) {
	t.Parallel()
	m := newMetrics(
		Calls{Unmatched: map[string]int64{"shop": 7}, Invalid: 1, Cancelled: 2, OverridesIgnored: 3, Waiting: 4, WaitingRefused: 5},
		rule("", "orders", "orders", 10),
		tracking(keyed(rule("", "per-user", "orders", 20), 5), 9),
	)
	m.Refused()
	m.Applied("old", time.Unix(1, 0))
	m.Applied("abc123", time.Unix(1700000000, 500e6))
	const want = `
# HELP sidecard_breaker_state State of the circuit breaker of the rule: 0 closed, 1 half_open, 2 open.
# TYPE sidecard_breaker_state gauge
sidecard_breaker_state{rule="probes"} 1
sidecard_breaker_state{rule="twice"} 2
sidecard_breaker_state{rule="well"} 0
# HELP sidecard_cancelled_calls_total Calls given up by the caller, whose charge was given back.
# TYPE sidecard_cancelled_calls_total counter
sidecard_cancelled_calls_total 2
# HELP sidecard_connections Connections that are open, by what is served on them.
# TYPE sidecard_connections gauge
sidecard_connections{listener="grpc"} 2
sidecard_connections{listener="status"} 0
# HELP sidecard_connections_refused_total Connections closed before anything was read of them: because limits.connections were open (limit), because their process is not allowed (peer), because no TLS handshake was agreed on (tls).
# TYPE sidecard_connections_refused_total counter
sidecard_connections_refused_total{listener="grpc",reason="limit"} 3
sidecard_connections_refused_total{listener="grpc",reason="peer"} 0
# HELP sidecard_decisions_total What rules decided: pass, wait for the decision to let pass later, block, or shadow_block for a rule that only watches. A call that its caller gave up counts for none of them, unless it was blocked.
# TYPE sidecard_decisions_total counter
sidecard_decisions_total{outcome="block",resource="orders",rule="orders"} 11
sidecard_decisions_total{outcome="block",resource="orders",rule="per-user"} 21
sidecard_decisions_total{outcome="pass",resource="orders",rule="orders"} 9
sidecard_decisions_total{outcome="pass",resource="orders",rule="per-user"} 18
sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="orders"} 12
sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="per-user"} 22
sidecard_decisions_total{outcome="wait",resource="orders",rule="orders"} 1
sidecard_decisions_total{outcome="wait",resource="orders",rule="per-user"} 2
# HELP sidecard_in_flight Calls under way that the rule counts.
# TYPE sidecard_in_flight gauge
sidecard_in_flight{rule="per-user"} 9
# HELP sidecard_invalid_requests_total Requests refused as malformed.
# TYPE sidecard_invalid_requests_total counter
sidecard_invalid_requests_total 1
# HELP sidecard_key_overflow_total Requests whose parameter value found no room in the rule's table.
# TYPE sidecard_key_overflow_total counter
sidecard_key_overflow_total{rule="per-user"} 24
# HELP sidecard_key_table_bytes Memory of the rule's table of parameter values.
# TYPE sidecard_key_table_bytes gauge
sidecard_key_table_bytes{rule="per-user"} 5000
# HELP sidecard_keys Parameter values that the rule holds; those that have expired leave within a minute or so.
# TYPE sidecard_keys gauge
sidecard_keys{rule="per-user"} 5
# HELP sidecard_lost_races_total Calls refused because another call took the last of the budget between check and charge.
# TYPE sidecard_lost_races_total counter
sidecard_lost_races_total{rule="orders"} 15
sidecard_lost_races_total{rule="per-user"} 25
# HELP sidecard_missing_params_total Requests that lacked the rule's parameter.
# TYPE sidecard_missing_params_total counter
sidecard_missing_params_total{rule="per-user"} 23
# HELP sidecard_outcome_reports_missing 1 if calls of the domain ended with their lease and no end of one was ever reported: Envoy lacks the entry that reports it.
# TYPE sidecard_outcome_reports_missing gauge
sidecard_outcome_reports_missing{domain="shop"} 0
sidecard_outcome_reports_missing{domain="silent"} 1
# HELP sidecard_overrides_ignored_total Descriptors whose limit override had no effect.
# TYPE sidecard_overrides_ignored_total counter
sidecard_overrides_ignored_total 3
# HELP sidecard_rules_info 1, labelled with the revision of the rules in force.
# TYPE sidecard_rules_info gauge
sidecard_rules_info{revision="abc123"} 1
# HELP sidecard_rules_last_reload_successful 1 if the newest rule files are in force, 0 if they are not, as after an error.
# TYPE sidecard_rules_last_reload_successful gauge
sidecard_rules_last_reload_successful 1
# HELP sidecard_rules_last_success_timestamp_seconds When rules were last put in force, in Unix time; 0 before the first.
# TYPE sidecard_rules_last_success_timestamp_seconds gauge
sidecard_rules_last_success_timestamp_seconds 1.7000000005e+09
# HELP sidecard_rules_reloads_total Attempts to load the rules, by result. After an error the rules before it stay in force.
# TYPE sidecard_rules_reloads_total counter
sidecard_rules_reloads_total{result="error"} 1
sidecard_rules_reloads_total{result="success"} 2
# HELP sidecard_tokens_total What became of the tokens of calls that rules count until they end.
# TYPE sidecard_tokens_total counter
sidecard_tokens_total{event="completed"} 41
sidecard_tokens_total{event="disconnected"} 44
sidecard_tokens_total{event="expired"} 43
sidecard_tokens_total{event="foreign"} 45
sidecard_tokens_total{event="issued"} 40
sidecard_tokens_total{event="refused"} 46
sidecard_tokens_total{event="untold"} 47
sidecard_tokens_total{event="withdrawn"} 42
# HELP sidecard_unmatched_total Descriptors that no rule applied to.
# TYPE sidecard_unmatched_total counter
sidecard_unmatched_total{domain="shop"} 7
# HELP sidecard_unused_places_total Places in the rule's queue that were promised to a call that was given up or refused, and could go to no other.
# TYPE sidecard_unused_places_total counter
sidecard_unused_places_total{rule="orders"} 16
sidecard_unused_places_total{rule="per-user"} 26
# HELP sidecard_waiting Calls that a rule makes wait at the moment.
# TYPE sidecard_waiting gauge
sidecard_waiting 4
# HELP sidecard_waiting_refused_total Calls refused because limits.waiting calls were waiting.
# TYPE sidecard_waiting_refused_total counter
sidecard_waiting_refused_total 5
`
	if err := testutil.GatherAndCompare(m.registry, strings.NewReader(want), ours...); err != nil {
		t.Error(err)
	}
}

func TestReloadsAreThereBeforeTheFirst(t *testing.T) {
	t.Parallel()
	const want = `
# HELP sidecard_rules_reloads_total Attempts to load the rules, by result. After an error the rules before it stay in force.
# TYPE sidecard_rules_reloads_total counter
sidecard_rules_reloads_total{result="error"} 0
sidecard_rules_reloads_total{result="success"} 0
`
	if err := testutil.GatherAndCompare(newMetrics(Calls{}).registry, strings.NewReader(want), "sidecard_rules_reloads_total"); err != nil {
		t.Error(err)
	}
}

func TestTheLastReloadIsShown(t *testing.T) {
	t.Parallel()
	m := newMetrics(Calls{})
	shows := func(want float64) {
		t.Helper()
		if got := testutil.ToFloat64(m.upToDate); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	shows(0)
	m.Applied("a", time.Unix(1, 0))
	shows(1)
	m.Refused()
	shows(0)
	m.Applied("a", time.Unix(2, 0))
	shows(1)
}

func TestNamesKeepToPrometheusHabits(t *testing.T) {
	t.Parallel()
	m := newMetrics(Calls{Unmatched: map[string]int64{"shop": 1}}, tracking(keyed(rule("", "a", "r", 1), 1), 1))
	m.Applied("abc", time.Unix(1, 0))
	faults, err := testutil.GatherAndLint(m.registry, ours...)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Errorf("%s: %s", f.Metric, f.Text)
	}
}

func TestTheConfigurationPageNamesEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ours {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s is not there", name)
		}
	}
	families, err := newMetrics(Calls{}).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "sidecard_") && !slices.Contains(ours, f.GetName()) {
			t.Errorf("%s is not in the list that these tests go by", f.GetName())
		}
	}
}

// A series that is there twice makes Prometheus refuse the whole scrape, and so does a label that
// is not UTF-8: neither may come from what users name their rules and domains.
func TestEqualAndStrangeNamesDoNotSpoilTheScrape(t *testing.T) {
	t.Parallel()
	rules := []engine.RuleState{
		tracking(keyed(rule("a", "same", "orders", 100), 1), 3),
		tracking(keyed(rule("b", "same", "orders", 200), 2), 4),
		keyed(rule("", "same", "search", 1000), 4),
		rule("", "odd", "r\xff", 1),
		rule("", "odd", "r\xfe", 1),
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(
		ruleCollector{func() []engine.RuleState { return rules }, new(outcomes)},
		tokenCollector{func() engine.TokenStats {
			return tokenStats(0, engine.DomainOutcomes{Domain: "d\xff", Expired: 1}, engine.DomainOutcomes{Domain: "d\xfe"})
		}},
		callCollector{func() Calls { return Calls{Unmatched: map[string]int64{"d\xff": 1, "d\xfe": 2}} }},
	)
	const want = `
# HELP sidecard_decisions_total What rules decided: pass, wait for the decision to let pass later, block, or shadow_block for a rule that only watches. A call that its caller gave up counts for none of them, unless it was blocked.
# TYPE sidecard_decisions_total counter
sidecard_decisions_total{outcome="block",resource="orders",rule="same"} 302
sidecard_decisions_total{outcome="block",resource="r` + "\uFFFD" + `",rule="odd"} 4
sidecard_decisions_total{outcome="block",resource="search",rule="same"} 1001
sidecard_decisions_total{outcome="pass",resource="orders",rule="same"} 270
sidecard_decisions_total{outcome="pass",resource="r` + "\uFFFD" + `",rule="odd"} 2
sidecard_decisions_total{outcome="pass",resource="search",rule="same"} 900
sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="same"} 304
sidecard_decisions_total{outcome="shadow_block",resource="r` + "\uFFFD" + `",rule="odd"} 6
sidecard_decisions_total{outcome="shadow_block",resource="search",rule="same"} 1002
sidecard_decisions_total{outcome="wait",resource="orders",rule="same"} 30
sidecard_decisions_total{outcome="wait",resource="r` + "\uFFFD" + `",rule="odd"} 0
sidecard_decisions_total{outcome="wait",resource="search",rule="same"} 100
# HELP sidecard_in_flight Calls under way that the rule counts.
# TYPE sidecard_in_flight gauge
sidecard_in_flight{rule="same"} 7
# HELP sidecard_keys Parameter values that the rule holds; those that have expired leave within a minute or so.
# TYPE sidecard_keys gauge
sidecard_keys{rule="same"} 7
# HELP sidecard_outcome_reports_missing 1 if calls of the domain ended with their lease and no end of one was ever reported: Envoy lacks the entry that reports it.
# TYPE sidecard_outcome_reports_missing gauge
sidecard_outcome_reports_missing{domain="d` + "\uFFFD" + `"} 1
# HELP sidecard_unmatched_total Descriptors that no rule applied to.
# TYPE sidecard_unmatched_total counter
sidecard_unmatched_total{domain="d` + "\uFFFD" + `"} 3
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "sidecard_decisions_total", "sidecard_keys", "sidecard_unmatched_total", "sidecard_in_flight", "sidecard_outcome_reports_missing"); err != nil {
		t.Error(err)
	}
}

func TestHandlerWhileRulesChange(t *testing.T) {
	t.Parallel()
	m := newMetrics(Calls{}, rule("", "orders", "orders", 10))
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
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != 200 || !strings.Contains(w.Body.String(), `sidecard_decisions_total{outcome="pass",resource="orders",rule="orders"} 9`) {
			t.Fatalf("got %d and\n%s", w.Code, w.Body)
		}
	}
	wg.Wait()
}

// Whatever is decided or given up during a scrape, no counter goes down.
func TestOutcomesNeverGoDown(t *testing.T) {
	t.Parallel()
	c := new(engine.Counters)
	rules := []engine.RuleState{{Rule: &engine.CompiledRule{Counters: c}}}
	var p outcomes
	for _, step := range []struct{ passed, waited, shadow, atOnce, late, would int64 }{
		{5, 1, 1, 4, 1, 1},
		{6, 1, 1, 5, 1, 1}, // one that waits, of which only half has been counted
		{6, 2, 1, 5, 2, 1}, // now all of it: 4 have passed at once
		{7, 2, 2, 5, 2, 2},
		{6, 1, 1, 5, 2, 2}, // one was given up
		{8, 2, 3, 6, 2, 3},
		{8, 9, 3, 6, 9, 3},
	} {
		c.Passed.Store(step.passed)
		c.Waited.Store(step.waited)
		c.ShadowBlock.Store(step.shadow)
		if got, want := p.read(rules)[0], (outcome{step.atOnce, step.late, step.would}); got != want {
			t.Errorf("%+v: got %+v, want %+v", step, got, want)
		}
	}
	if p.read(nil); len(p.shown) != 0 {
		t.Error("a rule that has left is still held")
	}
}
