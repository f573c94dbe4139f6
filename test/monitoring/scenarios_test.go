package monitoring

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// healthy is a daemon, and its Envoy, with which all is well for an hour. on stands for the labels of the target.
const healthy = `
sidecard_build_info{on, version="v1", revision="abc", goversion="go1"} 1x60
sidecard_rules_info{on, revision="one"} 1x60
sidecard_rules_last_success_timestamp_seconds{on} 1000x60
sidecard_rules_last_reload_successful{on} 1x60
sidecard_calls_total{on, api="envoy", result="pass"} 0+6000x60
sidecard_calls_total{on, api="envoy", result="block"} 0+60x60
sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="pass"} 0+6000x60
sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="wait"} 0+10x60
sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="block"} 0+60x60
sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="shadow_block"} 0x60
sidecard_cancelled_calls_total{on} 0+1x60
sidecard_invalid_requests_total{on} 0x60
sidecard_unmatched_calls_total{on, domain="shop"} 0+100x60
sidecard_decision_duration_seconds_bucket{on, le="5e-06"} 0+370x60
sidecard_decision_duration_seconds_bucket{on, le="0.0005"} 0+375x60
sidecard_decision_duration_seconds_bucket{on, le="0.005"} 0+375x60
sidecard_decision_duration_seconds_bucket{on, le="+Inf"} 0+375x60
sidecard_breaker_state{on, rule="breaker"} 0x60
sidecard_outcome_reports_missing{on, domain="shop"} 0x60
sidecard_tokens_total{on, event="issued"} 0+6000x60
sidecard_tokens_total{on, event="completed"} 0+5990x60
sidecard_tokens_total{on, event="expired"} 0+10x60
sidecard_tokens_total{on, event="refused"} 0x60
sidecard_tokens_total{on, event="untold"} 0x60
sidecard_key_overflow_total{on, rule="per-user"} 0x60
sidecard_keys{on, rule="per-user"} 500x60
sidecard_keys_capacity{on, rule="per-user"} 1000x60
sidecard_keys_all_rules{on} 500x60
sidecard_keys_all_rules_capacity{on} 4000x60
sidecard_waiting{on} 10x60
sidecard_waiting_limit{on} 4096x60
sidecard_waiting_refused_total{on} 0x60
sidecard_connections{on, listener="grpc"} 4x60
sidecard_connections_limit{on, listener="grpc"} 1024x60
sidecard_connections_refused_total{on, listener="grpc", reason="limit"} 0x60
sidecard_connections_refused_total{on, listener="grpc", reason="peer"} 0x60
sidecard_tls_certificate_expiry_timestamp_seconds{on} 1802592000x60
sidecard_tls_reloads_total{on, result="error"} 0x60
sidecard_spans_total{on, event="failed"} 0x60
process_start_time_seconds{on} 1000x60
process_start_time_seconds{job="other", instance="else:1"} 1000x30 2000x30
envoy_cluster_ratelimit_ok{on, envoy_cluster_name="app"} 0+6000x60
envoy_cluster_ratelimit_error{on, envoy_cluster_name="app"} 0x60
envoy_cluster_ratelimit_failure_mode_allowed{on, envoy_cluster_name="app"} 0x60
`

const target = `job="sidecard", instance="a:9092"`

// scenarios change some series of the healthy daemon and say what fires at the end of each minute that is asked for,
// all of it. Each alert is in one of them.
var scenarios = []struct {
	name    string
	series  string
	without string           // regular expression of series that are not there
	fires   map[int][]string // by minute
}{
	{name: "all is well", fires: map[int][]string{0: nil, 1: nil, 15: nil, 59: nil}},
	{name: "never any rules", series: `
		sidecard_rules_last_success_timestamp_seconds{on} 0x60
		sidecard_rules_last_reload_successful{on} 0x60`,
		without: "^sidecard_rules_info",
		fires:   map[int][]string{1: nil, 2: {`SidecardRulesNotLoaded{}`}, 50: {`SidecardRulesNotLoaded{}`}}},
	{name: "a reload fails, and then not", series: `sidecard_rules_last_reload_successful{on} 1x9 0x20 1x30`,
		fires: map[int][]string{14: nil, 15: {`SidecardReloadFailing{}`}, 30: {`SidecardReloadFailing{}`}, 31: nil}},
	{name: "an instance is left behind", series: `
		sidecard_rules_info{job="sidecard", instance="b:9092", revision="one"} 1x9 _x50
		sidecard_rules_info{job="sidecard", instance="b:9092", revision="two"} _x9 1x50`,
		fires: map[int][]string{5: nil, 23: nil, 24: {`SidecardRulesDiffer{}`}}},
	{name: "most is blocked", series: `sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="block"} 0+60x9 540+9000x50`,
		fires: map[int][]string{9: nil, 25: {`SidecardHighBlockShare{resource="orders", rule="per-user"}`}}},
	{name: "most of very little is blocked", series: `
		sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="pass"} 0x60
		sidecard_decisions_total{on, resource="orders", rule="per-user", outcome="block"} 0+10x60`,
		fires: map[int][]string{59: nil}},
	{name: "no rule applies", series: `sidecard_unmatched_calls_total{on, domain="shop"} 0+5900x60`,
		fires: map[int][]string{14: nil, 20: {`SidecardNoRuleApplies{}`}}},
	{name: "malformed calls", series: `sidecard_invalid_requests_total{on} 0x9 0+1x50`,
		fires: map[int][]string{12: nil, 20: {`SidecardInvalidRequests{}`}}},
	{name: "Envoy does not wait", series: `sidecard_cancelled_calls_total{on} 0+200x60`,
		fires: map[int][]string{4: nil, 10: {`SidecardCallsGivenUp{}`}}},
	{name: "decisions are slow", series: `
		sidecard_decision_duration_seconds_bucket{on, le="0.0005"} 0+370x60`,
		fires: map[int][]string{10: nil, 15: {`SidecardDecisionsSlow{}`}}},
	{name: "a breaker opens and closes", series: `sidecard_breaker_state{on, rule="breaker"} 0x9 2x5 1 0x40`,
		fires: map[int][]string{10: nil, 11: {`SidecardBreakerOpen{rule="breaker"}`}, 16: nil}},
	{name: "a breaker cannot decide", series: `sidecard_breaker_state{on, rule="breaker"} 0 2 1 2 1 2 1 2 1 2 1 2 1 0x40`,
		fires: map[int][]string{3: nil, 12: {`SidecardBreakerFlapping{rule="breaker"}`}, 40: nil}},
	{name: "Envoy reports nothing", series: `
		sidecard_outcome_reports_missing{on, domain="shop"} 0x9 1x50
		sidecard_tokens_total{on, event="completed"} 0x60
		sidecard_tokens_total{on, event="expired"} 0+6000x60`,
		fires: map[int][]string{9: nil, 20: {`SidecardOutcomeReportsMissing{domain="shop"}`, `SidecardTokensExpiring{}`}}},
	{name: "some reports are lost", series: `sidecard_tokens_total{on, event="expired"} 0+400x60`,
		fires: map[int][]string{9: nil, 20: {`SidecardTokensExpiring{}`}}},
	{name: "no room for calls", series: `sidecard_tokens_total{on, event="refused"} 0x10 1x50`,
		fires: map[int][]string{10: nil, 11: {`SidecardTokensFull{event="refused"}`}, 20: nil}},
	{name: "no room for values", series: `
		sidecard_key_overflow_total{on, rule="per-user"} 0x9 0+10x50
		sidecard_keys{on, rule="per-user"} 500x9 1000x50`,
		fires: map[int][]string{12: nil, 25: {`SidecardKeyOverflow{rule="per-user"}`, `SidecardKeysNearLimit{rule="per-user"}`}}},
	{name: "no room for values of all rules", series: `sidecard_keys_all_rules{on} 3999x60`,
		fires: map[int][]string{9: nil, 10: {`SidecardKeysNearLimit{}`}}},
	{name: "too many wait", series: `
		sidecard_waiting{on} 10x9 4096x50
		sidecard_waiting_refused_total{on} 0x12 0+1x40`,
		fires: map[int][]string{10: nil, 11: {`SidecardWaitingNearLimit{}`}, 20: {`SidecardWaitingNearLimit{}`, `SidecardWaitingRefused{}`}}},
	{name: "too many connections, and some that are not allowed", series: `
		sidecard_connections{on, listener="grpc"} 4x9 1000x50
		sidecard_connections_refused_total{on, listener="grpc", reason="peer"} 0x30 1x30`,
		fires: map[int][]string{14: nil, 15: {`SidecardConnectionsNearLimit{listener="grpc"}`},
			32: {`SidecardConnectionsNearLimit{listener="grpc"}`, `SidecardConnectionsRefused{listener="grpc", reason="peer"}`}}},
	{name: "a certificate ends in less than a week", series: `sidecard_tls_certificate_expiry_timestamp_seconds{on} 1800606000x60`,
		fires: map[int][]string{20: nil, 24: nil, 26: {`SidecardCertificateExpires{}`}}},
	{name: "a certificate cannot be read", series: `sidecard_tls_reloads_total{on, result="error"} 0x9 1x50`,
		fires: map[int][]string{8: nil, 12: {`SidecardCertificateReloadFailing{result="error"}`}, 40: nil}},
	{name: "a collector is away", series: `sidecard_spans_total{on, event="failed"} 0x9 0+5x50`,
		fires: map[int][]string{12: nil, 25: {`SidecardSpansLost{event="failed"}`}}},
	{name: "a restart", series: `process_start_time_seconds{on} 1000x19 2000x40`,
		fires: map[int][]string{19: nil, 20: {`SidecardRestarted{}`}, 36: nil}},
	{name: "none is there", without: "^(sidecard|process)_",
		fires: map[int][]string{9: nil, 10: {`SidecardAbsent{}`}}},
	{name: "sidecard does not answer", series: `
		envoy_cluster_ratelimit_error{on, envoy_cluster_name="app"} 0x9 0+100x50
		envoy_cluster_ratelimit_failure_mode_allowed{on, envoy_cluster_name="app"} 0x9 0+100x50`,
		fires: map[int][]string{9: nil, 15: {`EnvoyPassesUnlimited{}`, `EnvoyRateLimitErrors{}`}}},
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	groups := readAlerts(t).Groups
	never := make(map[string]bool)
	for _, g := range groups {
		for _, r := range g.Rules {
			if r.Alert != "" {
				never[r.Alert] = true
			}
		}
	}
	begin := time.Unix(1_800_000_000, 0)
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			m := make(memory)
			for _, text := range []string{healthy, s.series} {
				m.load(t, regexp.MustCompile(`{on\b`).ReplaceAllString(text, "{"+target), begin)
			}
			if s.without != "" {
				gone := regexp.MustCompile(s.without)
				for name, one := range m {
					if gone.MatchString(one.labels.Get("__name__")) {
						delete(m, name)
					}
				}
			}
			e := newEvaluator(m)
			for minute := range 60 {
				got := e.step(t, groups, begin.Add(time.Duration(minute)*time.Minute))
				want, asked := s.fires[minute]
				if asked && !slices.Equal(got, want) {
					t.Errorf("minute %d: got %q, want %q", minute, got, want)
				}
				for _, name := range want {
					name, _, _ = strings.Cut(name, "{")
					delete(never, name)
				}
			}
		})
	}
	for name := range never {
		t.Errorf("%s never fires", name)
	}
}
