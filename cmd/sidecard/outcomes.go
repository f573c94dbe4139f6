package main

import (
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
)

// outcomesConfig says of which calls the end is asked for, and which ends are errors.
type outcomesConfig struct {
	Mode   string
	Errors ratelimitsvc.StatusCodes
}

// The words of outcomes.mode.
const (
	outcomesAuto   = "auto"   // of calls whose end a rule waits for
	outcomesAlways = "always" // of all that a rule concerns
)

func defaultOutcomes() outcomesConfig {
	return outcomesConfig{Mode: outcomesAuto, Errors: ratelimitsvc.ServerErrors()}
}

// maxTokensLimit is the largest limits.tokens: 1.8 GiB of calls under way.
const maxTokensLimit = 1 << 24

func outcomeSettings() []setting {
	return []setting{
		{key: "outcomes.mode", usage: "of which calls the end is asked for: auto (those whose end a rule waits for) or always",
			set: func(c *config, v []string) error {
				return setWord(&c.Outcomes.Mode, v[0], outcomesAuto, outcomesAlways)
			}},
		{key: "outcomes.errorCodes", list: true, usage: "codes of responses that count as errors: 429, 500-504 or 5xx",
			set: func(c *config, v []string) error { return setCodes(&c.Outcomes.Errors, v) }},
		{key: "limits.tokens", usage: "most calls under way that are kept track of at a time",
			set: func(c *config, v []string) error { return setCount(&c.Limits.Tokens, v[0], maxTokensLimit) }},
	}
}

// setCodes sets what counts as an error: nothing, if there are no words.
func setCodes(into *ratelimitsvc.StatusCodes, words []string) error {
	var codes ratelimitsvc.StatusCodes
	for i, w := range words {
		if err := codes.Add(w); err != nil {
			return itemError{i, err}
		}
	}
	*into = codes
	return nil
}

func (c config) engineOptions() engine.Options {
	return engine.Options{MaxKeysTotal: c.Limits.MaxKeysTotal, MaxTokens: c.Limits.Tokens}
}
