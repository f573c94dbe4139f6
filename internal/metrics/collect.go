package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sidecard/sidecard/internal/histogram"
)

// collector makes up all metrics of the daemon's own at the moment of a scrape.
type collector struct {
	m     *Metrics
	descs [metricCount]*prometheus.Desc
}

func newCollector(m *Metrics) *collector {
	c := &collector{m: m}
	for i, f := range Families() {
		c.descs[i] = f.describe()
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := scrape{ch, &c.descs}
	c.m.collectRules(s)
	c.m.collectResources(s)
	c.m.reloads.show(s)
	s.calls(c.m.sources.Calls())
	s.durations(decisionDuration, c.m.sources.Durations.Decisions)
	s.durations(waitDuration, c.m.sources.Durations.Waits)
	s.set(waitingLimit, float64(c.m.sources.WaitingLimit))
	s.tokens(c.m.sources.Tokens())
	s.connections(c.m.sources.Connections())
	s.certificates(c.m.sources.Certificates())
	s.keys(c.m.sources.Keys())
	s.spans(c.m.sources.Spans())
	b := c.m.sources.Build
	s.set(buildInfo, 1, label(b.Version), label(b.Revision), label(b.Go))
}

// scrape takes the values of one scrape.
type scrape struct {
	ch    chan<- prometheus.Metric
	descs *[metricCount]*prometheus.Desc
}

// set gives one series of a counter or gauge its value. The values of labels are in the order of the
// table, and valid UTF-8.
func (s scrape) set(m metric, v float64, labels ...string) {
	kind := prometheus.GaugeValue
	if table[m].Type == Counter {
		kind = prometheus.CounterValue
	}
	s.ch <- prometheus.MustNewConstMetric(s.descs[m], kind, v, labels...)
}

// average shows the count and the sum of what has no buckets.
func (s scrape) average(m metric, count uint64, sum float64, labels ...string) {
	s.ch <- prometheus.MustNewConstSummary(s.descs[m], count, sum, nil, labels...)
}

// durations shows a histogram.
func (s scrape) durations(m metric, h *histogram.Histogram) {
	state := h.Read()
	buckets := make(map[float64]uint64, len(state.Buckets))
	for _, b := range state.Buckets {
		buckets[seconds(b.Bound)] = b.Count
	}
	s.ch <- prometheus.MustNewConstHistogram(s.descs[m], state.Count, seconds(state.Sum), buckets)
}

// seconds returns the closest number to d, so that a bucket of 5 µs is labelled 5e-06: Duration.Seconds adds two
// numbers, of which one is rounded.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// label makes s fit to be a label value, which must be UTF-8.
func label(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
