package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sidecard/sidecard/pkg/engine"
)

var breakerState = describe("breaker_state", "State of the circuit breaker of the rule: 0 closed, 1 half_open, 2 open.", "rule")

// Breaker is the circuit breaker of one rule.
type Breaker struct {
	Rule  string
	State engine.BreakerState
}

// breakerCollector turns the states of circuit breakers into metrics. Rules with the same id, of two
// domains, share a series, which shows the state that lets less through.
type breakerCollector struct {
	breakers func() []Breaker
}

// Describe implements prometheus.Collector.
func (breakerCollector) Describe(ch chan<- *prometheus.Desc) { ch <- breakerState }

// Collect implements prometheus.Collector.
func (bc breakerCollector) Collect(ch chan<- prometheus.Metric) {
	states := make(map[string]engine.BreakerState)
	for _, b := range bc.breakers() {
		rule := label(b.Rule)
		states[rule] = max(states[rule], b.State)
	}
	for rule, state := range states {
		gauge(ch, breakerState, float64(state), rule)
	}
}
