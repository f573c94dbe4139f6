// Package metrics shows what the daemon did, in Prometheus's words. Everything that a decision
// counts is counted by the package that decides and read here when somebody scrapes; nothing of
// this package runs while a request waits. One table declares all that is shown.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Sources are the places that a scrape reads; all are required. Each function is called from the
// scraping goroutine, possibly from several at a time.
type Sources struct {
	Now       func() int64              // nanoseconds, as circuit breakers live by them
	Rules     func() []engine.RuleState // the rules in force
	Resources func(into []engine.ResourceTotals) []engine.ResourceTotals
	// ResourceCounts says how many resources are counted.
	ResourceCounts func() engine.ResourceCounts
	Keys           func() Keys              // parameter values of all rules
	Calls          func() Calls             // what belongs to no rule
	Tokens         func() engine.TokenStats // of calls that rules count until they end
	Spans          func() Spans             // that were made of decisions
	Durations      Durations
	// Connections are those of all listeners, each kind once.
	Connections func() []Connections
	// Certificates are those that listeners use; it returns nil if they use none.
	Certificates func() *Certificates
	WaitingLimit int // calls that may wait at a time
	Build        Build
}

// Build says what the daemon was built from.
type Build struct {
	Version  string // release
	Revision string // commit
	Go       string // Go release
}

// Metrics holds the daemon's metrics in a registry of its own. Make it with New. All methods are
// safe for concurrent use.
type Metrics struct {
	sources  Sources
	registry *prometheus.Registry
	reloads  reloadState
	decided  *ledger[*engine.Counters, ruleLabels]
	counted  *ledger[*engine.Counters, string]
	entered  *ledger[engine.ResourceKey, string]
}

// New registers the daemon's metrics and those of the Go runtime and the process.
func New(s Sources) *Metrics {
	m := &Metrics{
		sources:  s,
		registry: prometheus.NewRegistry(),
		decided:  newLedger(maxSeries, ruleLabels{Other, Other}, countsOf),
		counted:  newLedger(maxSeries, Other, countsOf),
		entered:  newLedger(maxSeries, Other, countsOfResource),
	}
	m.registry.MustRegister(
		newCollector(m),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// enter takes note of the rules in force and of the resources that they name, so that what comes and goes between
// two scrapes is counted.
func (m *Metrics) enter() {
	var rules []engine.RuleState
	m.decided.read(byRule(m.sources.Rules, labelsOf, &rules))
	m.counted.read(byRule(m.sources.Rules, idOf, &rules))
	m.readResources()
}

// Handler serves the metrics. A collector that fails leaves the others in the answer.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}
