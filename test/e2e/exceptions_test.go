//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// Values of a header with counts of their own, by a gateway rule and by a hot-parameter rule.
func TestValuesWithCountsOfTheirOwn(t *testing.T) {
	t.Parallel()
	const list = `"paramFlowItemList": [{"object": "vip", "count": 6}, {"object": "bad", "count": 0}]`
	s := ready(t, rules(t,
		"gw-flow-rules.json", `[{"id": "gateway", "resource": "orders", "count": 3, "intervalSec": 3600, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}, `+list+`}]`,
		"param-flow-rules.json", `[{"id": "hot", "resource": "search", "count": 3, "durationInSec": 3600, "paramKey": "header.x-user-id", `+list+`}]`,
	))
	for path, rule := range map[string]string{"/orders/7": "gateway", "/search": "hot"} {
		for user, passed := range map[string]int{"alice": 3, "vip": 6, "bad": 0} {
			got := send(t, client(t, ""), 9, func() *http.Request { return request(t, http.MethodGet, s.URL+path, "x-user-id", user) })
			wantTally(t, fmt.Sprintf("%s of %s", user, rule), got, passed, rule)
		}
	}
	wantNoErrors(t, s)
}

// A variable of the path is one value however clients spell it.
func TestLimitsPerPathVariable(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t,
		"gw-flow-rules.json", `[
			{"id": "per-order", "resource": "order", "resourceMode": 1, "count": 3, "intervalSec": 3600, "paramItem": {"parseStrategy": "path_param", "fieldName": "id"}},
			{"id": "per-page", "resource": "products", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "path_param", "fieldName": "page", "template": "/products/{page}/**"},
			 "paramFlowItemList": [{"object": "home", "count": 4}]}
		]`,
		"gw-api-definitions.json", `[{"apiName": "order", "predicateItems": [{"pattern": "/orders/{id}/**", "matchStrategy": 1}]}]`,
	))
	get := func(path string) bool {
		reply := raw(t, s, "GET "+path+" HTTP/1.1\r\nHost: shop\r\n\r\n")
		if !reply.Passed() && !reply.Limited() {
			t.Errorf("%s: status %d", path, reply.Status)
		}
		return reply.Passed()
	}
	for _, step := range []struct {
		path string
		want bool
	}{
		{"/orders/7", true}, {"/orders/%37/lines", true}, {"//orders/./7?x=1", true}, {"/orders/7;v=2", false},
		{"/orders/8", true},
		{"/orders", true}, {"/orders", true}, {"/orders/", true}, {"/orders", true}, // no value
		{"/products/a", true}, {"/products/a/b", true}, {"/products/a", false},
		{"/products/home", true}, {"/products/home", true}, {"/products/home", true}, {"/products/home", true}, {"/products/home", false},
	} {
		if got := get(step.path); got != step.want {
			t.Errorf("%s: passed %v, want %v", step.path, got, step.want)
		}
	}
	wantNoErrors(t, s)
}
