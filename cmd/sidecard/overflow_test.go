package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
)

// A rule whose table is full is reported once while it is in force, and again if it comes back.
func TestFullTablesAreReportedOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(&out)
	state := func(id string, untracked int64) engine.RuleState {
		r := &engine.CompiledRule{ID: id, Counters: new(engine.Counters)}
		r.Untracked.Store(untracked)
		return engine.RuleState{Rule: r}
	}
	full, roomy := state("full", 3), state("roomy", 0)
	o := overflows{}
	for range 3 {
		o.report(log, []engine.RuleState{full, roomy})
	}
	if got := strings.Count(out.String(), "\n"); got != 1 || !strings.Contains(out.String(), `"rule":"full"`) {
		t.Fatalf("%d lines, want one about full: %s", got, out.String())
	}
	o.report(log, nil)
	if len(o) != 0 {
		t.Errorf("%d rules that left are remembered", len(o))
	}
	o.report(log, []engine.RuleState{state("full", 1)})
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines after the rule came back, want 2", got)
	}
}
