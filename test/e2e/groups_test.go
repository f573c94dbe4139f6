//go:build e2e

package e2e

import (
	"net/http"
	"testing"
)

// A request enters its route and every API group that it matches. All rules must pass, and a
// refusal by one leaves the others as they were.
func TestRouteAndGroupBothApply(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t,
		"gw-flow-rules.json", `[
			{"id": "orders-route", "resource": "orders", "count": 10, "intervalSec": 3600, "window": "strict"},
			{"id": "cart-route", "resource": "cart", "count": 2, "intervalSec": 3600},
			{"id": "writes-group", "resource": "writes", "resourceMode": 1, "count": 3, "intervalSec": 3600, "window": "strict"},
			{"id": "baskets-group", "resource": "baskets", "resourceMode": 1, "count": 5, "intervalSec": 3600}
		]`,
		"gw-api-definitions.json", `[
			{"apiName": "writes", "predicateItems": [{"pattern": "/orders/**", "matchStrategy": 1, "methods": ["POST"]}]},
			{"apiName": "baskets", "predicateItems": [{"pattern": "/cart/**", "matchStrategy": 1}, {"pattern": "/search/basket", "matchStrategy": 0}]}
		]`))
	c := client(t, "")
	for _, step := range []struct {
		what, method, path string
		sent, passed       int
		rule               string
	}{
		{"the group refuses what the route would allow", http.MethodPost, "/orders/1", 8, 3, "writes-group"},
		{"its refusals did not charge the route", http.MethodGet, "/orders/1", 9, 7, "orders-route"},
		{"the route refuses what the group would allow", http.MethodGet, "/cart", 6, 2, "cart-route"},
		{"its refusals did not charge the group", http.MethodGet, "/search/basket", 5, 3, "baskets-group"},
		{"another path of that route is in no group", http.MethodGet, "/search/other", 5, 5, ""},
	} {
		got := send(t, c, step.sent, func() *http.Request { return request(t, step.method, s.URL+step.path) })
		wantTally(t, step.what, got, step.passed, step.rule)
	}
	wantNoErrors(t, s)
}

// However a client spells a path, it enters the same groups and the application sees the same path.
func TestPathSpellingsEnterTheSameGroup(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t,
		"gw-flow-rules.json", `[{"id": "closed", "resource": "internal", "resourceMode": 1, "count": 0}]`,
		"gw-api-definitions.json", `[{"apiName": "internal", "predicateItems": [{"pattern": "/internal/**", "matchStrategy": 1}]}]`))
	for _, path := range []string{"/internal", "/internal/", "/internal/x?y=1", "/x/../internal/a", "//internal//a", "/%69nternal/a", "/internal/./a", "/./internal", "/x/%2e%2e/internal/a"} {
		reply := raw(t, s, "GET "+path+" HTTP/1.1\r\nHost: shop\r\n\r\n")
		if !reply.Limited() || reply.Rule != "closed" {
			t.Errorf("%s: got status %d by rule %q, want 429 by closed", path, reply.Status, reply.Rule)
		}
	}
	if reply := raw(t, s, "GET /internals HTTP/1.1\r\nHost: shop\r\n\r\n"); !reply.Passed() {
		t.Errorf("/internals: got status %d, want 200", reply.Status)
	}
	if served := s.Upstream.Served(); served != 1 {
		t.Errorf("%d requests reached the application, want 1", served)
	}
	wantNoErrors(t, s)
}
