package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/sidecard/sidecard/pkg/engine"
)

var (
	tokens  = describe("tokens_total", "What became of the tokens of calls that rules count until they end.", "event")
	silence = describe("outcome_reports_missing", "1 if calls of the domain ended with their lease and no end of one was ever reported: Envoy lacks the entry that reports it.", "domain")
)

// tokenCollector turns the counts of tokens into metrics.
type tokenCollector struct {
	tokens func() engine.TokenStats
}

// Describe implements prometheus.Collector.
func (tokenCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- tokens
	ch <- silence
}

// Collect implements prometheus.Collector.
func (tc tokenCollector) Collect(ch chan<- prometheus.Metric) {
	st := tc.tokens()
	counter(ch, tokens, float64(st.Issued.Load()), "issued")
	counter(ch, tokens, float64(st.Completed.Load()), "completed")
	counter(ch, tokens, float64(st.Withdrawn.Load()), "withdrawn")
	counter(ch, tokens, float64(st.Expired.Load()), "expired")
	counter(ch, tokens, float64(st.Disconnected.Load()), "disconnected")
	counter(ch, tokens, float64(st.Foreign.Load()), "foreign")
	counter(ch, tokens, float64(st.Refused.Load()), "refused")
	counter(ch, tokens, float64(st.Untold.Load()), "untold")
	missing := make(map[string]float64, len(st.Domains)) // two names may become one label
	for _, d := range st.Domains {
		name := label(d.Domain)
		missing[name] = max(missing[name], 0)
		if d.Silent() {
			missing[name] = 1
		}
	}
	for domain, v := range missing {
		gauge(ch, silence, v, domain)
	}
}
