package metrics

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/window"
)

// counted returns a rule whose counters all differ, from n upwards.
func counted(domain, id, resource string, n int64) engine.RuleState {
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

// keyed makes r a rule with a parameter.
func keyed(r engine.RuleState, keys int64) engine.RuleState {
	r.Keys = window.KeyStats{Keys: keys, MaxKeys: 100 * keys, Slots: 1024, Bytes: 1000 * keys}
	return r
}

// tracking makes r a rule that counts so many calls under way.
func tracking(r engine.RuleState, calls int64) engine.RuleState {
	r.Tracks, r.InFlight = true, calls
	return r
}

// tokenStats are counts that all differ, from n upwards.
func tokenStats(n int64, domains ...engine.DomainOutcomes) engine.TokenStats {
	st := engine.TokenStats{TokenCounters: new(engine.TokenCounters), Domains: domains, Live: n + 100, Bytes: n + 101}
	for i, c := range []*atomic.Int64{&st.Issued, &st.Completed, &st.Withdrawn, &st.Expired, &st.Disconnected, &st.Foreign, &st.Refused, &st.Untold} {
		c.Store(n + int64(i))
	}
	return st
}

// now is the time of these tests.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// sourcesOf returns sources in which there is something of everything, but rules as given.
func sourcesOf(rules func() []engine.RuleState) Sources {
	decisions, waits := new(histogram.Histogram), new(histogram.Histogram)
	for _, d := range []time.Duration{3 * time.Microsecond, 3 * time.Microsecond, time.Hour} {
		decisions.Observe(d)
		waits.Observe(1000 * d)
	}
	return Sources{
		Now:            func() int64 { return now },
		Rules:          rules,
		Resources:      func([]engine.ResourceTotals) []engine.ResourceTotals { return nil },
		ResourceCounts: func() engine.ResourceCounts { return engine.ResourceCounts{Known: 50, Overflow: 51} },
		Keys:           func() Keys { return Keys{Held: 7, Most: 8000} },
		Calls: func() Calls {
			return Calls{
				Ways:      []Way{{"envoy", 31, 32, 33}, {"local", 34, 35, 36}},
				Unmatched: map[string]Unmatched{"shop": {7, 2}, "d\xff": {1, 1}, "d\xfe": {2, 0}}, Invalid: 1, Cancelled: 2, OverridesIgnored: 3, Waiting: 4, WaitingRefused: 5,
			}
		},
		Tokens: func() engine.TokenStats {
			return tokenStats(40, engine.DomainOutcomes{Domain: "shop", Reported: 1, Expired: 1}, engine.DomainOutcomes{Domain: "silent", Expired: 1}, engine.DomainOutcomes{Domain: "d\xff", Expired: 1}, engine.DomainOutcomes{Domain: "d\xfe"})
		},
		Spans:     func() Spans { return Spans{60, 61, 62} },
		Durations: Durations{Decisions: decisions, Waits: waits},
		Connections: func() []Connections {
			return []Connections{{"grpc", 2, 1024, map[string]int64{"limit": 3, "peer": 4, "tls": 5}}, {"status", 0, 1024, map[string]int64{"limit": 0, "peer": 0, "tls": 0}}}
		},
		Certificates: func() *Certificates { return &Certificates{61, 62, time.Unix(1_800_000_000, 0)} },
		WaitingLimit: 4096,
		Build:        Build{"v1.2.3", "abc", "go1.26"},
	}
}

func newMetrics(rules ...engine.RuleState) *Metrics {
	return New(sourcesOf(func() []engine.RuleState { return rules }))
}

// everything returns metrics in which every family has a value: those of a real engine with a rule of
// each kind, so that there are circuit breakers among them.
func everything(t *testing.T) *Metrics {
	t.Helper()
	e := newEngine(t, `{"gatewayFlowRules": [
		{"id": "orders", "resource": "orders", "count": 10},
		{"id": "per-user", "resource": "orders", "count": 10, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
		{"id": "calls", "resource": "orders", "grade": 0, "count": 10},
		{"id": "queue", "resource": "orders", "count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 500}
	], "degradeRules": [{"id": "breaker", "resource": "orders", "grade": 2, "count": 1, "timeWindow": 10}]}`)
	ended(e, "orders", time.Second, false)
	s := sourcesOf(e.Rules)
	s.Resources, s.ResourceCounts = e.ResourceTotals, e.ResourceCounts
	m := New(s)
	m.Took(30 * time.Millisecond)
	m.Applied("abc123", time.Unix(1700000000, 500e6))
	return m
}
