package metrics

import "github.com/sidecard/sidecard/pkg/engine"

// The counts of a resource.
const (
	resourcePassed = iota
	resourceBlocked
	resourceExceptions
	resourceEnded
	resourceTime // nanoseconds
)

func countsOfResource(k engine.ResourceKey) counts {
	t := k.Total()
	return counts{t.Pass, t.Block, t.Exception, t.Success, int64(t.RT)}
}

// resourceHoldings are what the resources with the same label hold at the moment.
type resourceHoldings struct {
	inFlight int64
	reported bool // the end of some call
}

// readResources returns all resources with their labels: those that rules name have each their own, and all others
// the same, because their names may be what clients send.
func (m *Metrics) readResources() (all []engine.ResourceTotals, labels []string, counted map[string]counts) {
	labels, counted = m.entered.read(func() []entry[engine.ResourceKey, string] {
		all = m.sources.Resources(nil)
		out := make([]entry[engine.ResourceKey, string], len(all))
		for i, r := range all {
			out[i] = entry[engine.ResourceKey, string]{r.Key(), Other}
			if r.Ruled {
				out[i].labels = label(r.Name)
			}
		}
		return out
	})
	return all, labels, counted
}

// collectResources shows what becomes of the requests for resources.
func (m *Metrics) collectResources(s scrape) {
	all, labels, counted := m.readResources()
	held := make(map[string]resourceHoldings, len(counted))
	for i, r := range all {
		h := held[labels[i]]
		held[labels[i]] = resourceHoldings{h.inFlight + r.InFlight, h.reported || r.Reported}
	}
	for name, h := range held {
		n := counted[name]
		s.set(resourceRequests, float64(n[resourcePassed]), name, "pass")
		s.set(resourceRequests, float64(n[resourceBlocked]), name, "block")
		s.set(resourceInFlight, float64(h.inFlight), name)
		if h.reported { // otherwise 0 would say something that nobody knows
			s.set(resourceErrors, float64(n[resourceExceptions]), name)
			s.average(resourceResponse, uint64(n[resourceEnded]), float64(n[resourceTime])/1e9, name)
		}
	}
	c := m.sources.ResourceCounts()
	s.set(resourcesKnown, float64(c.Known))
	s.set(resourceOverflow, float64(c.Overflow))
}
