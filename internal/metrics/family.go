package metrics

import "github.com/prometheus/client_golang/prometheus"

// prefix is what the names of all metrics of the daemon's own begin with.
const prefix = "sidecard_"

// Type is how a metric counts.
type Type string

// The types.
const (
	Counter   Type = "counter"   // only grows while the daemon runs
	Gauge     Type = "gauge"     // is what it is at the moment
	Histogram Type = "histogram" // durations, in the buckets of internal/histogram
	Summary   Type = "summary"   // durations, of which count and sum are known
)

// Family is the declaration of one metric. What is registered and the page for operators both follow
// from it.
type Family struct {
	Name   string // whole, with prefix and unit
	Type   Type
	Unit   string // of a value; empty: it is a number of things
	Labels []Label
	Help   string
}

// Label is a label of metrics.
type Label struct {
	Name   string
	Values []string // all that it can have; nil: what it names comes from rules, configuration or build
	Help   string
}

// describe returns the declaration in the words of the client library.
func (f *Family) describe() *prometheus.Desc {
	names := make([]string, len(f.Labels))
	for i, l := range f.Labels {
		names[i] = l.Name
	}
	return prometheus.NewDesc(f.Name, f.Help, names, nil)
}
