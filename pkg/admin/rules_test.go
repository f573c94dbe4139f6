package admin

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

const everyKind = `gatewayFlowRules:
- {id: orders-5, resource: orders, count: 5, intervalSec: 60}
- {id: per-user, resource: orders, count: 1, intervalSec: 60, paramItem: {parseStrategy: header, fieldName: x-user-id}}
- {id: at-a-time, resource: orders, grade: concurrency, count: 9}
flowRules:
- {id: search-shadow, resource: search, count: 1, shadow: true}
degradeRules:
- {id: failing, resource: orders, grade: error_count, count: 1, timeWindow: 10, minRequestAmount: 1}
systemRules:
- {id: system, qps: 1000}
authorityRules:
- {id: callers, resource: search, strategy: black, limitApp: batch}
`

func TestRules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyKind, nil)
	if got := w.ask(3, "resource", "orders", "header.x-user-id", "bob"); got != 1 {
		t.Fatalf("%d of 3 passed, want 1", got)
	}
	w.ask(2, "resource", "search")
	var got Rules
	w.get("/api/v1/rules", &got)
	if got.Revision == "" || got.Count != 7 || len(got.Rules) != 7 || got.Error != nil {
		t.Errorf("got %+v", got.RulesStatus)
	}
	for _, want := range []struct {
		Rule
		inFlight, keys int64 // -1: absent
	}{
		{Rule{ID: "callers", Kind: "authority", Resource: "search", Mode: "route", Source: Place{"rules.yaml", 12, 3}, Limits: "passes all but batch", Passed: 2, Missing: 2}, -1, -1},
		{Rule{ID: "system", Kind: "system", Source: Place{"rules.yaml", 10, 3}, Limits: "refuses above 1000 calls a second", Passed: 3}, -1, -1},
		{Rule{ID: "orders-5", Kind: "gw-flow", Resource: "orders", Mode: "route", Source: Place{"rules.yaml", 2, 3}, Limits: "5 per 60s", Counts: "aligned, 10 slots", AtMost: "10 in any 60s", Passed: 1}, -1, -1},
		{Rule{ID: "per-user", Kind: "gw-flow", Resource: "orders", Mode: "route", Source: Place{"rules.yaml", 3, 3}, Limits: "1 per 60s", Counts: "aligned, 2 slots", AtMost: "2 in any 60s", Param: "header x-user-id", Passed: 1, Blocked: 2}, -1, 1},
		{Rule{ID: "at-a-time", Kind: "gw-flow", Resource: "orders", Mode: "route", Source: Place{"rules.yaml", 4, 3}, Limits: "9 at a time", Counts: "concurrency", AtMost: "9 at a time", Passed: 1}, 1, -1},
		{Rule{ID: "search-shadow", Kind: "flow", Resource: "search", Mode: "route", Shadow: true, Source: Place{"rules.yaml", 6, 3}, Limits: "1 per 1s, shadow", Counts: "aligned, 2 slots", AtMost: "2 in any 1s", Passed: 1, ShadowBlock: 1}, -1, -1},
		{Rule{ID: "failing", Kind: "degrade", Resource: "orders", Mode: "route", Source: Place{"rules.yaml", 8, 3}, Limits: "opens above 1 error", Counts: "last 1s in 10 slots, if 1 or more", Passed: 1}, -1, -1},
	} {
		i := slices.IndexFunc(got.Rules, func(r Rule) bool { return r.ID == want.ID })
		if i < 0 {
			t.Errorf("%s is not there", want.ID)
			continue
		}
		r := got.Rules[i]
		if inFlight := valueOr(r.InFlight, -1); inFlight != want.inFlight {
			t.Errorf("%s: %d in flight, want %d", r.ID, inFlight, want.inFlight)
		}
		if (r.Keys == nil) != (want.keys < 0) || r.Keys != nil && r.Keys.Held != want.keys {
			t.Errorf("%s: the keys are %+v, want %d", r.ID, r.Keys, want.keys)
		}
		if definition, _ := r.Definition.(map[string]any); definition["id"] != r.ID {
			t.Errorf("%s: the definition is %v", r.ID, r.Definition)
		}
		if (r.Breaker != nil) != (r.Kind == KindDegrade) {
			t.Errorf("%s: the breaker is %+v", r.ID, r.Breaker)
		}
		r.InFlight, r.Keys, r.Definition, r.Breaker = nil, nil, nil, nil
		if jsonOf(r) != jsonOf(want.Rule) {
			t.Errorf("got\n%+v\nwant\n%+v", r, want.Rule)
		}
	}
}

func valueOr(p *int64, fallback int64) int64 {
	if p == nil {
		return fallback
	}
	return *p
}

func TestRulesShowBreakersAndWhoDoesNotReport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyKind, nil)
	view := func(id string) Rule {
		t.Helper()
		var got Rules
		w.get("/api/v1/rules", &got)
		i := slices.IndexFunc(got.Rules, func(r Rule) bool { return r.ID == id })
		return got.Rules[i]
	}
	if b := view("failing").Breaker; b.State != "closed" || !b.Since.Equal(at(start)) {
		t.Errorf("at first: got %+v", b)
	}
	w.now += 1e9
	w.call("resource", "orders", "header.x-user-id", "ann")
	w.now += 61e9 // the lease ends, and nobody has told how the call did
	w.engine.Expire(w.now)
	for id, want := range map[string]int{"failing": 1, "at-a-time": 1, "orders-5": 0, "search-shadow": 0} {
		if hints := view(id).Hints; len(hints) != want || want == 1 && hints[0] != NoReports {
			t.Errorf("%s: the hints are %q", id, hints)
		}
	}
	for range 2 {
		c := w.call("resource", "orders", "header.x-user-id", "eve")
		if !w.engine.Complete(w.now, c.Token, engine.Outcome{Error: true, RT: time.Second}) {
			t.Fatal("the call is not known")
		}
		w.now += 120e9
	}
	if hints := view("failing").Hints; len(hints) != 0 {
		t.Errorf("after a report: the hints are %q", hints)
	}
	for _, user := range []string{"a", "b"} {
		c := w.call("resource", "orders", "header.x-user-id", user)
		w.engine.Complete(w.now, c.Token, engine.Outcome{Error: true, RT: time.Second})
	}
	opened := w.now
	w.now += 3e9
	if b := view("failing").Breaker; b.State != "open" || !b.Since.Equal(at(opened)) || b.Transitions != 1 {
		t.Errorf("after two errors: got %+v", b)
	}
	w.now += 10e9
	w.call("resource", "orders", "header.x-user-id", "c")
	if b := view("failing").Breaker; b.State != "half_open" || b.Probes != 1 || b.Transitions != 2 {
		t.Errorf("after its time: got %+v", b)
	}
}

func TestRulesShowWhatKeepsNewOnesOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyKind, nil)
	failed := time.Unix(0, start).Add(time.Hour)
	w.daemon.Loading = Loading{
		AppliedAt: time.Unix(0, start), Files: 1, Applied: 1, Failures: 1, FailedAt: failed,
		Err:     errors.New("rules.yaml:3:7: error: count: is wrong"),
		Sources: []Source{{Name: "/etc/sidecard/rules", Files: 2, ChangedAt: failed}, {}},
	}
	for _, page := range []string{"rules", "status"} {
		var rules Rules
		var status Status
		got := &rules.RulesStatus
		if page == "status" {
			w.get("/api/v1/status", &status)
			got = &status.Rules
		} else {
			w.get("/api/v1/rules", &rules)
		}
		if got.Revision != w.engine.Revision() || got.Error == nil || got.Error.Text != "rules.yaml:3:7: error: count: is wrong" || !got.Error.Since.Equal(failed) ||
			got.AppliedAt == nil || !got.AppliedAt.Equal(time.Unix(0, start)) || len(got.Sources) != 1 || got.Sources[0].Name != "/etc/sidecard/rules" {
			t.Errorf("%s: got %+v", page, got)
		}
	}
}
