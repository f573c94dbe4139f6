package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/window"
)

func TestTransitionsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := zerolog.New(&out)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	opened := engine.BreakerTransition{
		Sequence: 5, At: at.UnixNano(), From: engine.BreakerClosed, To: engine.BreakerOpen,
		Ended: window.Tally{Total: 4, Errors: 3, Slow: 2, RT: 10 * time.Millisecond},
	}
	due := engine.BreakerTransition{Sequence: 6, At: at.UnixNano(), From: engine.BreakerOpen, To: engine.BreakerHalfOpen}
	logTransitions(log, []engine.Transition{
		{Rule: &engine.CompiledRule{ID: "b", Resource: "orders", Domain: "shop"}, BreakerTransition: opened, Missed: 4},
		{Rule: &engine.CompiledRule{ID: "dark", Resource: "orders", Shadow: true}, BreakerTransition: opened},
		{Rule: &engine.CompiledRule{ID: "b", Resource: "orders"}, BreakerTransition: due},
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{
		`{"level":"warn","domain":"shop","missed":4,"calls":4,"errors":3,"slow":2,"averageMs":2.5,"rule":"b","resource":"orders","shadow":false,"from":"closed","to":"open","at":"2026-03-01T12:00:00Z","message":"circuit breaker changed its state"}`,
		`{"level":"info","calls":4,"errors":3,"slow":2,"averageMs":2.5,"rule":"dark","resource":"orders","shadow":true,"from":"closed","to":"open","at":"2026-03-01T12:00:00Z","message":"circuit breaker changed its state"}`,
		`{"level":"info","rule":"b","resource":"orders","shadow":false,"from":"open","to":"half_open","at":"2026-03-01T12:00:00Z","message":"circuit breaker changed its state"}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines: %s", len(lines), out.String())
	}
	for i := range want {
		if lines[i] != want[i] || !json.Valid([]byte(lines[i])) {
			t.Errorf("got %s\nwant %s", lines[i], want[i])
		}
	}
}
