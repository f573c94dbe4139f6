package main

import (
	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
)

// overflows remembers the rules whose key table was found full, so that each is reported once as
// long as it is in force, whatever an attacker does. The metric goes on counting.
type overflows map[*engine.Counters]bool

// report logs the rules that came to have values without a place since the last report.
func (o overflows) report(log zerolog.Logger, rules []engine.RuleState) {
	for _, s := range rules {
		if n := s.Rule.Untracked.Load(); n > 0 && !o[s.Rule.Counters] {
			o[s.Rule.Counters] = true
			log.Warn().Str("rule", s.Rule.ID).Int64("keys", s.Keys.Keys).Int64("requests", n).
				Msg("more parameter values than the rule has places for; the rest is left to its overflow policy")
		}
	}
	if len(o) > len(rules) {
		o.forget(rules)
	}
}

// forget drops the rules that have left.
func (o overflows) forget(rules []engine.RuleState) {
	here := make(overflows, len(rules))
	for _, s := range rules {
		here[s.Rule.Counters] = true
	}
	for c := range o {
		if !here[c] {
			delete(o, c)
		}
	}
}
