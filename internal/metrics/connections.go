package metrics

// Connections is how the connections of one kind of listener stand.
type Connections struct {
	Listener string // what it serves: a fixed word, as it becomes a label; each once
	Open     int
	Most     int // that may be open at a time
	// Refused are those that were closed before anything was read of them, since the start of the daemon,
	// by reason: fixed words.
	Refused map[string]int64
}

// connections shows the counts of listeners.
func (s scrape) connections(of []Connections) {
	for _, c := range of {
		s.set(connections, float64(c.Open), c.Listener)
		s.set(connectionsLimit, float64(c.Most), c.Listener)
		for reason, n := range c.Refused {
			s.set(connectionsRefused, float64(n), c.Listener, reason)
		}
	}
}
