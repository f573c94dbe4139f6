//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

const flowFile = "shop-flow-rules.json"

// An hour for a few requests: nothing comes back while the test runs.
func TestFlowRules(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, flowFile, `[
		{"id": "plain", "resource": "cart", "count": 3, "intervalSec": 3600, "limitApp": "default", "strategy": 0, "clusterMode": false},
		{"id": "web", "resource": "orders", "count": 3, "intervalSec": 3600, "limitApp": "web"},
		{"id": "other", "resource": "orders", "count": 2, "intervalSec": 3600, "limitApp": "other"},
		{"id": "closed", "resource": "login|images", "regex": true, "count": 1, "intervalSec": 3600, "limitApp": "web", "onMissing": "block"},
		{"id": "reads", "resource": "search", "count": 2, "intervalSec": 3600, "strategy": 1, "refResource": "products"}
	]`))
	tests := []struct {
		name, path, origin string
		sent, passed       int
		rule               string
	}{
		{"whoever calls", "cart", "web", 2, 2, "plain"},
		{"whoever else calls", "cart", "", 3, 1, "plain"},
		{"the origin that is named", "orders", "web", 5, 3, "web"},
		{"another origin", "orders", "app", 5, 2, "other"},
		{"each other origin by itself", "orders", "batch", 5, 2, "other"},
		{"no origin", "orders", "", 5, 5, ""},
		{"no origin where one is asked for", "login", "", 2, 0, "closed"},
		{"a route of an expression", "images", "web", 2, 1, "closed"},
		{"each other route by itself, as Sentinel counts", "login", "web", 2, 1, "closed"},
		{"an origin that the expression's rule is not for", "login", "app", 2, 2, ""},
		{"while the other resource is idle", "search", "", 5, 5, "reads"},
		{"the other resource", "products", "", 2, 2, ""},
		{"when the other resource has used it up", "search", "", 3, 0, "reads"},
		{"which is not limited itself", "products", "", 3, 3, ""},
	}
	for _, tt := range tests {
		var headers []string
		if tt.origin != "" {
			headers = []string{"x-origin", tt.origin}
		}
		got := send(t, client(t, ""), tt.sent, func() *http.Request { return request(t, http.MethodGet, s.URL+"/"+tt.path, headers...) })
		wantTally(t, tt.name, got, tt.passed, tt.rule)
	}
	wantNoErrors(t, s)
}

// TestFlowRulesQueue sends three requests at once: of those that come together the second waits for as
// long as it may, whether or not the rule is warm.
func TestFlowRulesQueue(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, flowFile, `[
		{"id": "queue", "resource": "orders", "count": 4, "controlBehavior": 2, "maxQueueingTimeMs": 250},
		{"id": "cold", "resource": "search", "count": 10, "controlBehavior": 3, "warmUpPeriodSec": 60, "maxQueueingTimeMs": 300}
	]`))
	for path, rule := range map[string]string{"orders": "queue", "search": "cold"} {
		var all sync.WaitGroup
		replies := make([]envoytest.Reply, 3)
		for i := range replies {
			all.Go(func() { replies[i] = envoytest.Send(client(t, ""), request(t, http.MethodGet, s.URL+"/"+path)) })
		}
		all.Wait()
		if got := envoytest.Count(replies); got.Passed < 2 || got.Passed+got.LimitedBy[rule] != 3 {
			t.Errorf("%s: %+v", rule, got)
		}
	}
	wantNoErrors(t, s)
}

// TestFlowRulesWarmUp sends more than enough without a pause: what passes in a second climbs from a third
// of count to nearly count.
func TestFlowRulesWarmUp(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, flowFile, `[{"id": "warm", "resource": "orders", "count": 30, "controlBehavior": 1, "warmUpPeriodSec": 2}]`))
	c := client(t, "")
	begun := time.Now()
	cold, second, passed := 0, begun.Unix(), 0
	var seconds []int
	for deadline := begun.Add(limit); time.Now().Before(deadline); {
		r := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders"))
		if !r.Passed() && !r.Limited() {
			t.Fatalf("%+v", r)
		}
		if now := r.Done.Unix(); now != second {
			seconds = append(seconds, passed)
			if passed >= 25 {
				break
			}
			second, passed = now, 0
		}
		if r.Passed() {
			passed++
			if r.Done.Sub(begun) < 900*time.Millisecond {
				cold++
			}
		}
	}
	t.Logf("passed by second: %v", seconds)
	// Less than a second lies within two, of which the first is cold and the second little warmer.
	if cold == 0 || cold > 10+12 {
		t.Errorf("%d passed in less than a second from a cold start, want a third of 30, or twice that", cold)
	}
	if last := seconds[len(seconds)-1]; last < 25 || last > 31 {
		t.Errorf("%d passed in the last second, want about 30", last)
	}
	wantNoErrors(t, s)
}

func TestFlowRulesOfCallsUnderWay(t *testing.T) {
	t.Parallel()
	s := reporting(t, rules(t, flowFile, `[
		{"id": "two", "resource": "orders", "grade": 0, "count": 2, "limitApp": "web"},
		{"id": "each", "resource": "orders", "grade": 0, "count": 1, "limitApp": "other"}
	]`))
	release := s.Upstream.Hold()
	defer release()
	under := s.held(t.Context(), "two", 2, "x-origin", "web")
	s.wantRefused("the third of web", "two", "x-origin", "web")
	under = append(under, s.held(t.Context(), "each", 1, "x-origin", "app")...)
	s.wantRefused("the second of app", "each", "x-origin", "app")
	under = append(under, s.held(t.Context(), "each", 1, "x-origin", "batch")...)
	release()
	for i, status := range under {
		s.wantStatus(fmt.Sprint("request ", i), http.StatusOK, status)
	}
	s.until("sidecard_in_flight", "two", 0)
	s.until("sidecard_in_flight", "each", 0)
	wantNoErrors(t, s.Stack)
}
