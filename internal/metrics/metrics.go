// Package metrics shows what the daemon did, in Prometheus's words. Everything that a decision
// counts is counted by the package that decides and read here when somebody scrapes; nothing of
// this package runs while a request waits.
package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Sources are the places that a scrape reads. Each is called from the scraping goroutine, possibly
// from several at a time.
type Sources struct {
	Rules  func() []engine.RuleState // the rules in force
	Calls  func() Calls              // what the rate limit service counted
	Tokens func() engine.TokenStats  // of calls that rules count until they end
	// Breakers are those of the degrade rules in force.
	Breakers func() []Breaker
	// Connections are those of all listeners, each kind once.
	Connections func() []Connections
}

// Calls are counts that belong to no rule, since the start of the daemon but for Waiting.
type Calls struct {
	Unmatched        map[string]int64 // by domain: descriptors that no rule applied to
	Invalid          int64            // requests refused as malformed, which Envoy's configuration causes
	Cancelled        int64            // calls that the caller had given up, so that their charge was given back
	OverridesIgnored int64            // descriptors whose limit override had no effect
	Waiting          int64            // calls that a rule makes wait at the moment
	WaitingRefused   int64            // calls refused because as many were waiting as may
}

// Metrics holds the daemon's metrics in a registry of its own. Make it with New. All methods are
// safe for concurrent use.
type Metrics struct {
	registry    *prometheus.Registry
	reloads     *prometheus.CounterVec
	upToDate    prometheus.Gauge
	lastSuccess prometheus.Gauge

	mu   sync.Mutex           // one change of info at a time, so that one revision is shown
	info *prometheus.GaugeVec // written under mu
}

// The values of the result label of sidecard_rules_reloads_total.
const (
	resultOK    = "success"
	resultError = "error"
)

// New registers the daemon's metrics and those of the Go runtime and the process.
func New(s Sources) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sidecard_rules_reloads_total",
			Help: "Attempts to load the rules, by result. After an error the rules before it stay in force.",
		}, []string{"result"}),
		upToDate: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sidecard_rules_last_reload_successful",
			Help: "1 if the newest rule files are in force, 0 if they are not, as after an error.",
		}),
		lastSuccess: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sidecard_rules_last_success_timestamp_seconds",
			Help: "When rules were last put in force, in Unix time; 0 before the first.",
		}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sidecard_rules_info",
			Help: "1, labelled with the revision of the rules in force.",
		}, []string{"revision"}),
	}
	m.reloads.WithLabelValues(resultOK)
	m.reloads.WithLabelValues(resultError)
	m.registry.MustRegister(
		m.reloads, m.upToDate, m.lastSuccess, m.info,
		ruleCollector{s.Rules, new(outcomes)}, callCollector{s.Calls}, tokenCollector{s.Tokens}, breakerCollector{s.Breakers}, connectionCollector{s.Connections},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Applied records that the rules of that revision were put in force.
func (m *Metrics) Applied(revision string, at time.Time) {
	m.reloads.WithLabelValues(resultOK).Inc()
	m.upToDate.Set(1)
	m.lastSuccess.Set(float64(at.UnixNano()) / 1e9)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.info.Reset()
	m.info.WithLabelValues(revision).Set(1)
}

// Refused records that rules could not be read or were not fit to be put in force.
func (m *Metrics) Refused() {
	m.reloads.WithLabelValues(resultError).Inc()
	m.upToDate.Set(0)
}

// Handler serves the metrics. A collector that fails leaves the others in the answer.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: 4,
	})
}
