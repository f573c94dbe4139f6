//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// behavior is a rule of a kind of its own, on a route of its own.
type behavior struct {
	route   string
	fields  string // that choose the kind
	perUser bool
	atOnce  int // what passes at once of a count of 3, burst included
}

var behaviors = []behavior{
	{route: "orders", fields: `"burst": 2`, atOnce: 5},
	{route: "search", fields: `"window": "strict", "burst": 2`, atOnce: 5},
	{route: "cart", fields: `"window": "token-bucket"`, atOnce: 3},
	{route: "products", fields: `"window": "token-bucket", "burst": 2`, atOnce: 5},
	{route: "login", fields: `"burst": 2`, perUser: true, atOnce: 5},
	{route: "images", fields: `"window": "token-bucket", "burst": 2`, perUser: true, atOnce: 5},
	{route: "reports", fields: `"controlBehavior": "queue", "maxQueueingTimeoutMs": 800`, atOnce: 1},
	{route: "other", fields: `"controlBehavior": "queue", "maxQueueingTimeoutMs": 800`, perUser: true, atOnce: 1},
}

// rule is the rule in JSON, named like its route.
func (b behavior) rule(seconds int) string {
	param := ""
	if b.perUser {
		param = `, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}`
	}
	return fmt.Sprintf(`{"id": %q, "resource": %[1]q, "count": 3, "intervalSec": %d, %s%s}`, b.route, seconds, b.fields, param)
}

func behaviorRules(t *testing.T, seconds int) string {
	t.Helper()
	all := "["
	for i, b := range behaviors {
		if i > 0 {
			all += ",\n"
		}
		all += b.rule(seconds)
	}
	return rules(t, rulesFile, all+"]")
}

// forEachBehavior runs a test for all of them at the same time, and returns when they have ended.
func forEachBehavior(t *testing.T, test func(t *testing.T, b behavior)) {
	t.Run("all", func(t *testing.T) {
		for _, b := range behaviors {
			t.Run(b.route+" "+b.fields, func(t *testing.T) {
				t.Parallel()
				test(t, b)
			})
		}
	})
}

// An hour for three requests: nothing comes back while the test runs.
func TestBehaviorsAdmitWhatTheyHoldAtOnce(t *testing.T) {
	t.Parallel()
	s := ready(t, behaviorRules(t, 3600))
	forEachBehavior(t, func(t *testing.T, b behavior) {
		for _, user := range []string{"alice", "bob"} {
			passed := b.atOnce
			if user == "bob" && !b.perUser {
				passed = 0 // alice had it all
			}
			got := send(t, client(t, ""), 8, func() *http.Request { return request(t, http.MethodGet, s.URL+"/"+b.route, "x-user-id", user) })
			wantTally(t, user, got, passed, b.route)
		}
	})
	wantNoErrors(t, s)
}

// A client that waits as long as it is told is admitted, if no other takes its place.
func TestWaitingRetryAfterIsEnoughForEveryBehavior(t *testing.T) {
	t.Parallel()
	s := ready(t, behaviorRules(t, 4))
	forEachBehavior(t, func(t *testing.T, b behavior) {
		c := client(t, "")
		ask := func() told { return tell(c, request(t, http.MethodGet, s.URL+"/"+b.route, "x-user-id", "alice")) }
		for round := range 2 {
			a := ask()
			for range 100 { // a slow machine may not exhaust the limit at the first attempt
				if !a.Passed() {
					break
				}
				a = ask()
			}
			if !a.Limited() || a.Rule != b.route || a.after < 1 {
				t.Fatalf("round %d: got %+v", round, a)
			}
			if err := envoytest.Pause(t.Context(), time.Duration(a.after)*time.Second); err != nil {
				t.Fatal(err)
			}
			if again := ask(); !again.Passed() {
				t.Errorf("round %d: waited %d s as told, got %+v", round, a.after, again)
			}
		}
	})
	wantNoErrors(t, s)
}

// Who never stops coming gets the burst once, and then the rate.
func TestBurstIsSpentOnce(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, rulesFile, `[{"id": "images", "resource": "images", "count": 20, "intervalSec": 1, "burst": 30}]`))
	const rate, start = 20, 50
	replies := envoytest.Load{Every: time.Second / (5 * rate), Total: 25 * rate, Request: func(int) *http.Request {
		return request(t, http.MethodGet, s.URL+"/images")
	}}.Run(t.Context(), client(t, ""))
	got, span := envoytest.Count(replies), envoytest.Span(replies)
	if got.Other != 0 || got.LimitedBy["images"] != got.Limited || got.Limited == 0 {
		t.Errorf("got %+v", got)
	}
	for _, within := range []time.Duration{time.Second, 2 * time.Second, span} {
		bound := start + int(rate*within.Seconds())
		if most := envoytest.MostWithin(replies, within); most > bound {
			t.Errorf("%d passed within %v, the bound is %d", most, within, bound)
		}
	}
	if got.Passed < start+2*rate {
		t.Errorf("%d passed in %v: the burst or what comes back was not used", got.Passed, span)
	}
	wantNoErrors(t, s)
	t.Logf("sent %d in %v, passed %d, most within a second %d", got.Sent, span.Round(time.Millisecond), got.Passed, envoytest.MostWithin(replies, time.Second))
}
