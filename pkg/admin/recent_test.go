package admin

import (
	"testing"

	"pgregory.net/rapid"
)

// What a rule did of late is told by what it had counted at least recentSpan ago, where somebody looked then.
func TestRecentCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shop, nil)
	recent := func() Recent {
		var got Rules
		w.get("/api/v1/rules", &got)
		return got.Rules[1].Recent
	}
	if got := recent(); got != (Recent{}) {
		t.Errorf("at first: %+v", got)
	}
	w.now += 5e9
	w.ask(7, "resource", "orders", "header.x-user", "bob")
	if got := recent(); got.Seconds != 5 || got.Passed != 3 || got.Blocked != 4 || !got.BlockedAt.Equal(at(w.now)) {
		t.Errorf("after 5 s: %+v", got)
	}
	for range 3 {
		w.now += 4e9
		w.ask(1, "resource", "orders", "header.x-user", "eve")
	}
	if got := recent(); got.Seconds != 12 || got.Passed != 3 || got.Blocked != 0 || !got.BlockedAt.Equal(at(start+5e9)) {
		t.Errorf("12 s after the refusals: %+v", got)
	}
	w.load("{domain: shop, gatewayFlowRules: []}") // the rule leaves, and comes back
	w.load("{domain: shop, gatewayFlowRules: [{id: orders, resource: orders, count: 500}, {id: user, resource: search, count: 1}]}")
	w.ask(2, "resource", "search")
	w.now += 1e9
	if got := recent(); got.Passed != 1 || got.Blocked != 1 {
		t.Errorf("a rule that started anew: %+v", got)
	}
}

// Whoever looks when, few notes are kept, and what is told is of the last recentSpan to recentSpan and the time that
// nobody noted.
func TestRecentNotesAreBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r recent
		now, longest := start, int64(0)
		r.gather(now, nil)
		for range 60 {
			pause := rapid.Int64Range(0, int64(gatherRecent)).Draw(t, "pause")
			now, longest = now+pause, max(longest, pause)
			r.gather(now, nil)
			if most := int(recentSpan/recentStep) + 2; len(r.notes) > most {
				t.Fatalf("%d notes", len(r.notes))
			}
			if age := now - r.notes[0].at; age > int64(recentSpan+recentStep)+longest || age < int64(recentSpan) && now-start >= int64(recentSpan) {
				t.Fatalf("the oldest is of %d ns ago", age)
			}
		}
	})
}
