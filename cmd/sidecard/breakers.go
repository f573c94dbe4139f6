package main

import (
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
)

// logTransitions writes a line for each change of state of a breaker, with what it was decided by.
func logTransitions(log zerolog.Logger, changes []engine.Transition) {
	for _, c := range changes {
		line := log.Info()
		if c.To == engine.BreakerOpen && !c.Rule.Shadow {
			line = log.Warn()
		}
		if c.Rule.Domain != "" {
			line.Str("domain", c.Rule.Domain)
		}
		if c.Missed > 0 {
			line.Uint64("missed", c.Missed)
		}
		if n := c.Ended.Total; n > 0 {
			line.Int64("calls", n).Int64("errors", c.Ended.Errors).Int64("slow", c.Ended.Slow).Dur("averageMs", c.Ended.RT/time.Duration(n))
		}
		line.Str("rule", c.Rule.ID).Str("resource", c.Rule.Resource).Bool("shadow", c.Rule.Shadow).
			Stringer("from", c.From).Stringer("to", c.To).Time("at", time.Unix(0, c.At).UTC()).
			Msg("circuit breaker changed its state")
	}
}
