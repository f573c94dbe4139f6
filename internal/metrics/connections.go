package metrics

import "github.com/prometheus/client_golang/prometheus"

// Connections is how the connections of one kind of listener stand.
type Connections struct {
	Listener string // what it serves: a fixed word, as it becomes a label
	Open     int
	// Refused are those that were closed before anything was read of them, since the start of the daemon,
	// by reason: fixed words.
	Refused map[string]int64
}

var (
	connectionsOpen    = describe("connections", "Connections that are open, by what is served on them.", "listener")
	connectionsRefused = describe("connections_refused_total", "Connections closed before anything was read of them: because limits.connections were open (limit), because their process is not allowed (peer), because no TLS handshake was agreed on (tls).", "listener", "reason")
)

// connectionCollector turns the counts of listeners into metrics.
type connectionCollector struct {
	connections func() []Connections
}

// Describe implements prometheus.Collector.
func (connectionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- connectionsOpen
	ch <- connectionsRefused
}

// Collect implements prometheus.Collector.
func (cc connectionCollector) Collect(ch chan<- prometheus.Metric) {
	for _, c := range cc.connections() {
		gauge(ch, connectionsOpen, float64(c.Open), c.Listener)
		for reason, n := range c.Refused {
			counter(ch, connectionsRefused, float64(n), c.Listener, reason)
		}
	}
}
