package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sidecard/sidecard/pkg/engine"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sidecard_"+name, help, labels, nil)
}

// The metrics that are made up at the moment of a scrape.
var (
	decisions   = describe("decisions_total", "What rules decided: pass, wait for the decision to let pass later, block, or shadow_block for a rule that only watches. A call that its caller gave up counts for none of them, unless it was blocked.", "resource", "rule", "outcome")
	keys        = describe("keys", "Parameter values that the rule holds; those that have expired leave within a minute or so.", "rule")
	tableBytes  = describe("key_table_bytes", "Memory of the rule's table of parameter values.", "rule")
	overflow    = describe("key_overflow_total", "Requests whose parameter value found no room in the rule's table.", "rule")
	unusedQueue = describe("unused_places_total", "Places in the rule's queue that were promised to a call that was given up or refused, and could go to no other.", "rule")
	missing     = describe("missing_params_total", "Requests that lacked the rule's parameter.", "rule")
	inFlight    = describe("in_flight", "Calls under way that the rule counts.", "rule")
	lostRaces   = describe("lost_races_total", "Calls refused because another call took the last of the budget between check and charge.", "rule")
	unmatched   = describe("unmatched_total", "Descriptors that no rule applied to.", "domain")
	invalid     = describe("invalid_requests_total", "Requests refused as malformed.")
	cancelled   = describe("cancelled_calls_total", "Calls given up by the caller, whose charge was given back.")
	overridesNo = describe("overrides_ignored_total", "Descriptors whose limit override had no effect.")
	waiting     = describe("waiting", "Calls that a rule makes wait at the moment.")
	waitRefused = describe("waiting_refused_total", "Calls refused because limits.waiting calls were waiting.")
)

// ruleCollector turns the counters of the rules in force into metrics.
type ruleCollector struct {
	rules    func() []engine.RuleState
	outcomes *outcomes
}

// Describe implements prometheus.Collector.
func (ruleCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{decisions, keys, tableBytes, overflow, missing, inFlight, lostRaces, unusedQueue} {
		ch <- d
	}
}

// ruleLabels identify the series of a rule. Two domains may each have a rule of the same id, so
// several rules may share them; their counts are then added up, because a scrape that holds a
// series twice is refused as a whole.
type ruleLabels struct{ resource, rule string }

// ruleSums are the counts of all rules with the same labels.
type ruleSums struct {
	passed, waited, blocked, shadowBlocked float64
	keyed, tracks                          bool
	keys, bytes, overflow, missing         float64
	races, unused, inFlight                float64
}

func (s *ruleSums) add(r engine.RuleState, o outcome) {
	c := r.Rule.Counters
	s.passed += float64(o.passed)
	s.waited += float64(o.waited)
	s.shadowBlocked += float64(o.shadowBlocked)
	s.blocked += float64(c.Blocked.Load())
	s.races += float64(c.LostRaces.Load())
	s.unused += float64(c.UnusedPlaces.Load())
	if r.Tracks {
		s.tracks = true
		s.inFlight += float64(r.InFlight)
	}
	if r.Keys.Slots > 0 { // the rule has a parameter
		s.keyed = true
		s.keys += float64(r.Keys.Keys)
		s.bytes += float64(r.Keys.Bytes)
		s.overflow += float64(c.Untracked.Load())
		s.missing += float64(c.Missing.Load())
	}
}

// Collect implements prometheus.Collector.
func (rc ruleCollector) Collect(ch chan<- prometheus.Metric) {
	sums := make(map[ruleLabels]*ruleSums)
	byRule := make(map[string]*ruleSums)
	rules := rc.rules()
	outcomes := rc.outcomes.read(rules)
	for i, r := range rules {
		labels := ruleLabels{label(r.Rule.Resource), label(r.Rule.ID)}
		of(sums, labels).add(r, outcomes[i])
		of(byRule, labels.rule).add(r, outcomes[i])
	}
	for l, s := range sums {
		counter(ch, decisions, s.passed, l.resource, l.rule, "pass")
		counter(ch, decisions, s.waited, l.resource, l.rule, "wait")
		counter(ch, decisions, s.blocked, l.resource, l.rule, "block")
		counter(ch, decisions, s.shadowBlocked, l.resource, l.rule, "shadow_block")
	}
	for rule, s := range byRule {
		counter(ch, lostRaces, s.races, rule)
		counter(ch, unusedQueue, s.unused, rule)
		if s.tracks {
			gauge(ch, inFlight, s.inFlight, rule)
		}
		if s.keyed {
			gauge(ch, keys, s.keys, rule)
			gauge(ch, tableBytes, s.bytes, rule)
			counter(ch, overflow, s.overflow, rule)
			counter(ch, missing, s.missing, rule)
		}
	}
}

func of[K comparable](m map[K]*ruleSums, k K) *ruleSums {
	s := m[k]
	if s == nil {
		s = new(ruleSums)
		m[k] = s
	}
	return s
}

// callCollector turns the counts that belong to no rule into metrics.
type callCollector struct {
	calls func() Calls
}

// Describe implements prometheus.Collector.
func (callCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{unmatched, invalid, cancelled, overridesNo, waiting, waitRefused} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (cc callCollector) Collect(ch chan<- prometheus.Metric) {
	c := cc.calls()
	byDomain := make(map[string]float64, len(c.Unmatched))
	for domain, n := range c.Unmatched {
		byDomain[label(domain)] += float64(n)
	}
	for domain, n := range byDomain {
		counter(ch, unmatched, n, domain)
	}
	counter(ch, invalid, float64(c.Invalid))
	counter(ch, cancelled, float64(c.Cancelled))
	counter(ch, overridesNo, float64(c.OverridesIgnored))
	gauge(ch, waiting, float64(c.Waiting))
	counter(ch, waitRefused, float64(c.WaitingRefused))
}

func counter(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, v float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

// label makes s fit to be a label value, which must be UTF-8.
func label(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
