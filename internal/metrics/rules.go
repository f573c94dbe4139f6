package metrics

import "github.com/sidecard/sidecard/pkg/engine"

// ruleLabels identify the series of a rule. Two domains may each have a rule of the same id, so that
// several rules may share them; their counts are then added up, because a scrape that holds a series
// twice is refused as a whole.
type ruleLabels struct{ resource, rule string }

func labelsOf(r *engine.CompiledRule) ruleLabels {
	return ruleLabels{label(r.Resource), label(r.ID)}
}

func idOf(r *engine.CompiledRule) string { return label(r.ID) }

// The counts of a rule.
const (
	passedAtOnce = iota
	waited
	blocked
	shadowBlocked
	missed
	untracked
	races
	unused
)

// countsOf reads the counters of a rule. A rule takes back what it counted of a call that is given up, and a
// read may come between two of its counters, of which one is part of the other: what is lower than it was
// is made up for by raise.
func countsOf(c *engine.Counters) counts {
	passed := c.Passed.Load()
	late := c.Waited.Load()
	return counts{passed - late, late, c.Blocked.Load(), c.ShadowBlock.Load(), c.Missing.Load(), c.Untracked.Load(), c.LostRaces.Load(), c.UnusedPlaces.Load()}
}

// byRule returns how a ledger is to read the rules in force, which are put in into.
func byRule[L comparable](rules func() []engine.RuleState, labels func(*engine.CompiledRule) L, into *[]engine.RuleState) func() []entry[*engine.Counters, L] {
	return func() []entry[*engine.Counters, L] {
		*into = rules()
		out := make([]entry[*engine.Counters, L], len(*into))
		for i, r := range *into {
			out[i] = entry[*engine.Counters, L]{r.Rule.Counters, labels(r.Rule)}
		}
		return out
	}
}

// holdings are what the rules with the same label hold at the moment.
type holdings struct {
	tracks, keyed, breaker          bool
	inFlight, keys, capacity, bytes int64
	state                           engine.BreakerState
}

func (h *holdings) add(r engine.RuleState, now int64) {
	if r.Tracks {
		h.tracks = true
		h.inFlight += r.InFlight
	}
	if r.Keys.MaxKeys > 0 { // the rule has a parameter
		h.keyed = true
		h.keys += r.Keys.Keys
		h.capacity += r.Keys.MaxKeys
		h.bytes += r.Keys.Bytes
	}
	if b, ok := r.Breaker(now); ok {
		h.breaker = true
		h.state = max(h.state, b.State) // the one that lets less through
	}
}

// collectRules shows what the rules in force have counted and hold.
func (m *Metrics) collectRules(s scrape) {
	var rules []engine.RuleState
	_, decided := m.decided.read(byRule(m.sources.Rules, labelsOf, &rules))
	for l, n := range decided {
		s.set(decisions, float64(n[passedAtOnce]), l.resource, l.rule, "pass")
		s.set(decisions, float64(n[waited]), l.resource, l.rule, "wait")
		s.set(decisions, float64(n[blocked]), l.resource, l.rule, "block")
		s.set(decisions, float64(n[shadowBlocked]), l.resource, l.rule, "shadow_block")
	}
	now := m.sources.Now()
	labels, counted := m.counted.read(byRule(m.sources.Rules, idOf, &rules))
	held := make(map[string]*holdings, len(counted))
	for i, r := range rules {
		h := held[labels[i]]
		if h == nil {
			h = new(holdings)
			held[labels[i]] = h
		}
		h.add(r, now)
	}
	s.set(rulesCount, float64(len(rules)))
	for rule, h := range held {
		n := counted[rule]
		s.set(lostRaces, float64(n[races]), rule)
		s.set(unusedPlaces, float64(n[unused]), rule)
		s.set(missingParams, float64(n[missed]), rule)
		if h.tracks {
			s.set(inFlight, float64(h.inFlight), rule)
		}
		if h.breaker {
			s.set(breakerState, float64(h.state), rule)
		}
		if h.keyed {
			s.set(keys, float64(h.keys), rule)
			s.set(keysCapacity, float64(h.capacity), rule)
			s.set(keyTableBytes, float64(h.bytes), rule)
			s.set(keyOverflow, float64(n[untracked]), rule)
		}
	}
}

// Keys are the parameter values that all rules hold together.
type Keys struct{ Held, Most int64 }

func (s scrape) keys(k Keys) {
	s.set(keysAll, float64(k.Held))
	s.set(keysAllCapacity, float64(k.Most))
}
