package engine

import (
	"cmp"
	"slices"
)

// Breaker returns how the circuit breaker of the rule stands at now, after what time alone has
// changed; false if the rule is none. It takes the breaker's lock for a moment.
func (s RuleState) Breaker(now int64) (BreakerStatus, bool) {
	c, ok := s.Rule.ctl.(*breakerController)
	if !ok {
		return BreakerStatus{}, false
	}
	return c.b.status(now, &c.breakerTerms), true
}

// Transition is one change of state of the breaker of a rule.
type Transition struct {
	Rule *CompiledRule
	BreakerTransition
	Missed uint64 // changes right before it that are no longer known, because nobody asked in time
}

// Transitions appends the changes of state of all breakers in force that it has not returned before,
// in the order of time. What time alone has made due by now comes to pass at the latest here, so a
// daemon that calls it each second shows no state that is older, and misses none. Changes of a rule
// that has left since are not told.
func (e *Engine) Transitions(now int64, into []Transition) []Transition {
	e.mu.Lock()
	defer e.mu.Unlock()
	from := len(into)
	var fresh [breakerHistory]BreakerTransition
	for _, r := range e.snapshot.Load().breakers {
		c := r.ctl.(*breakerController)
		c.b.status(now, &c.breakerTerms)
		for _, t := range c.b.transitions(c.b.told, fresh[:0]) {
			into = append(into, Transition{Rule: r, BreakerTransition: t, Missed: t.Sequence - c.b.told - 1})
			c.b.told = t.Sequence
		}
	}
	slices.SortStableFunc(into[from:], func(a, b Transition) int { return cmp.Compare(a.At, b.At) })
	return into
}
