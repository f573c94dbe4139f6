package ratelimitsvc

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// newBreakerWorld returns a world with a breaker that opens for 10 s at the third call that failed, on a
// route that nothing else limits and on one with a window.
func newBreakerWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, nil)
	set, problems := rule.Load([]rule.File{
		{Name: "gw-flow-rules.json", Data: []byte(`[{"resource": "stock", "id": "rate", "count": 9}]`)},
		{Name: "degrade-rules.json", Data: []byte(`[
			{"resource": "orders", "id": "b", "grade": "error_count", "count": 2, "minRequestAmount": 3, "timeWindow": 10, "statIntervalMs": 5000,
			 "blockResponse": {"body": "{rule} {reason} {retry_after}"}},
			{"resource": "stock", "id": "s", "grade": "error_count", "count": 2, "timeWindow": 10}]`)},
	}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Apply(w.now.Load(), set); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestBreakerOverTheWire: reports open a breaker, refusals say when it probes and nothing of a limit, and
// the report of a good probe closes it.
func TestBreakerOverTheWire(t *testing.T) {
	t.Parallel()
	w := newBreakerWorld(t)
	state := func(want engine.BreakerState) (judged int64) {
		t.Helper()
		s, _ := w.engine.Rules()[1].Breaker(w.now.Load())
		if s.State != want {
			t.Fatalf("the breaker is %v, want %v: %+v", s.State, want, s)
		}
		return s.Ended.Total
	}
	end := func(code, flags string) {
		t.Helper()
		m := w.ask(t, describe(pairs("route", "orders")))
		if got := brief(m); got != "OK: OK" || token(m) == "" {
			t.Fatalf("got %q with token %q, want a pass without a limit and with a token", got, token(m))
		}
		w.ask(t, describe(report(token(m), code, flags)))
	}
	for _, c := range []struct{ code, flags string }{{"200", "-"}, {"0", "DC"}, {"404", "-"}, {"200", "DC"}, {"503", "UF,URX"}, {"500", "-"}} {
		end(c.code, c.flags)
	}
	if judged := state(engine.BreakerClosed); judged != 4 {
		t.Errorf("%d calls are judged, want those whose client stayed", judged)
	}
	end("504", "UT")
	state(engine.BreakerOpen)

	w.now.Add(int64(2500 * time.Millisecond))
	m := w.ask(t, describe(pairs("route", "orders")))
	status := m.GetStatuses()[0]
	if m.GetOverallCode() != 2 || status.GetCurrentLimit() != nil || status.GetDurationUntilReset().GetSeconds() != 8 || token(m) != "" {
		t.Errorf("open: %v", m)
	}
	if got := string(m.GetRawBody()); got != "b breaker 8" {
		t.Errorf("open: body %q", got)
	}
	if got := m.GetDynamicMetadata().GetFields()["reason"].GetStringValue(); got != "breaker" {
		t.Errorf("open: reason %q in the metadata", got)
	}
	w.now.Add(int64(7500 * time.Millisecond))
	probe := w.ask(t, describe(pairs("route", "orders")))
	m = w.ask(t, describe(pairs("route", "orders")))
	if token(probe) == "" || m.GetStatuses()[0].GetDurationUntilReset() != nil || string(m.GetRawBody()) != "b breaker " {
		t.Errorf("half open: probe %v, another %v", probe, m)
	}
	w.ask(t, describe(report(token(probe), "200", "-")))
	state(engine.BreakerClosed)
}

// TestBreakerBesideAWindow: what a client is told of a pass is the window's.
func TestBreakerBesideAWindow(t *testing.T) {
	t.Parallel()
	w := newBreakerWorld(t)
	m := w.ask(t, describe(pairs("route", "stock")))
	if got := brief(m); got != "OK: OK 8/9 1s" || token(m) == "" {
		t.Errorf("got %q with token %q", got, token(m))
	}
}
