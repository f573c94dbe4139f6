package ratelimitsvc

import (
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/pkg/engine"
)

func TestServiceCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := pairs("route", "nowhere", "header.authorization", "s3cret")
	override := pairs("route", "orders")
	override.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: 77}
	for range 3 {
		w.ask(t, describe(pairs("route", "orders"), secret, pairs(), secret))
	}
	w.ask(t, describe(override, override))
	for domain, n := range w.counters.Unmatched {
		if domain != "sidecard" || n != (calls.Unmatched{Requests: 6}) {
			t.Errorf("unmatched: got %+v of %q, want 6 of sidecard", n, domain)
		}
	}
	if n := w.counters.OverridesIgnored.Load(); n != 2 {
		t.Errorf("overrides: got %d, want 2", n)
	}
	w.now.Add(int64(logEvery))
	w.ask(t, describe(secret))
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"keys":["route","header.authorization"]`) || !strings.Contains(lines[1], `"skipped":2`) {
		t.Errorf("got lines %q", lines)
	}
	if strings.Contains(w.log.String(), "s3cret") || strings.Contains(w.log.String(), "nowhere") {
		t.Errorf("a value is in the log: %s", w.log.String())
	}
}

// Every call that asks for something is counted once by its answer; a sixteenth of them is timed.
func TestServiceCountsAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	for range 3 * histogram.OneIn {
		w.ask(t, describe(pairs("route", "big"), pairs("route", "big")))
	}
	for range histogram.OneIn {
		w.ask(t, describe(pairs("route", "big"), pairs("route", "closed")))
	}
	w.ask(t, describe(pairs("sidecard.token", "0123", "sidecard.code", "200")))
	w.ask(t, describe(pairs("route", "nowhere")))
	w.ask(t, describe(pairs("route", "nowhere"), pairs("route", "big")))
	a := &w.counters.Envoy
	if p, r, u := a.Passed.Load(), a.Refused.Load(), a.Unready.Load(); p != 3*histogram.OneIn+2 || r != histogram.OneIn || u != 0 {
		t.Errorf("got %d passed, %d refused, %d unready", p, r, u)
	}
	timed := func() int64 { return int64(w.counters.Durations.Read().Count) }
	if n := timed(); n > 4 {
		t.Errorf("%d decisions were timed", n)
	}
	for domain, n := range w.counters.Unmatched {
		if domain != "sidecard" || n != (calls.Unmatched{Requests: 2, Calls: 1}) {
			t.Errorf("unmatched: got %+v of %q", n, domain)
		}
	}
	// The pool may drop a call, and with it its turn; under the race detector it drops one in four.
	for range 1 << 14 {
		if timed() > 0 {
			return
		}
		w.ask(t, describe(pairs("route", "big")))
	}
	t.Error("no decision was timed")
}

func TestServiceCountsCallsBeforeTheFirstRules(t *testing.T) {
	t.Parallel()
	w := &world{engine: engine.New(engine.Options{})}
	w.serve(Config{Now: w.now.Load}, 0)
	if _, err := w.wire(t.Context(), marshal(t, describe(pairs("route", "big")))); status.Code(err) != codes.Unavailable {
		t.Errorf("got %v", err)
	}
	if n := w.counters.Envoy.Unready.Load(); n != 1 {
		t.Errorf("got %d", n)
	}
}

// All that is counted of a call for metrics costs no allocation, whether no rule applies or one does, and whether
// the decision is timed or not.
func TestCountingAllocatesNothing(t *testing.T) {
	w := newWorld(t, nil)
	w.ask(t, describe(pairs("route", "nowhere"))) // makes the counter of the domain
	var c call
	wire := marshal(t, describe(pairs("route", "big"), pairs("route", "nowhere")))
	if err := c.req.decode(wire); err != nil {
		t.Fatal(err)
	}
	c.collect(nil)
	now := w.now.Load()
	w.svc.cfg.Room.Decide(t.Context(), now, 0, &c.engine)
	timed := w.counters.Durations.Read().Count
	if n := testing.AllocsPerRun(10*histogram.OneIn, func() {
		if c.turn.Next() {
			w.counters.Durations.Observe(time.Microsecond)
		}
		w.svc.countUnmatched(now, &c)
		w.counters.Envoy.Count(c.engine.Overall)
	}); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
	if w.counters.Durations.Read().Count == timed || w.counters.Envoy.Passed.Load() < 100 {
		t.Error("nothing was counted")
	}
}
