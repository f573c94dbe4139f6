//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"
)

// The intervals of an hour make counts exact: nothing leaves a window while a test runs.

func TestLimitsPerParameterValue(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[
		{"id": "per-user", "resource": "orders", "count": 3, "intervalSec": 3600, "paramItem": {"parseStrategy": "header", "fieldName": "X-User-Id"}},
		{"id": "per-session", "resource": "cart", "count": 3, "intervalSec": 3600, "window": "strict", "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}},
		{"id": "per-sku", "resource": "products", "count": 3, "intervalSec": 3600, "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}},
		{"id": "per-term", "resource": "search", "count": 3, "intervalSec": 3600, "window": "strict", "paramItem": {"parseStrategy": "url_param", "fieldName": "q"}},
		{"id": "per-client", "resource": "login", "count": 3, "intervalSec": 3600, "paramItem": {"parseStrategy": "client_ip"}}
	]`))
	for _, c := range []struct {
		rule    string
		values  []string
		request func(value string) *http.Request
		from    func(value string) string // the client's address
	}{
		{rule: "per-user", values: []string{"alice", "bob"}, request: func(v string) *http.Request {
			return request(t, http.MethodGet, s.URL+"/orders/7", "x-user-id", v)
		}},
		{rule: "per-session", values: []string{"s1", "s2"}, request: func(v string) *http.Request {
			return request(t, http.MethodGet, s.URL+"/cart", "cookie", "theme=dark; session="+v+"; lang=en")
		}},
		// URL parameters have no entry of their own: the daemon takes them from the path.
		{rule: "per-sku", values: []string{"9", "a%20b", ""}, request: func(v string) *http.Request {
			return request(t, http.MethodGet, s.URL+"/products?colour=red&sku="+v)
		}},
		{rule: "per-term", values: []string{"shoe", "%E9%9E%8B"}, request: func(v string) *http.Request {
			return request(t, http.MethodGet, s.URL+"/search?q="+v)
		}},
		{rule: "per-client", values: []string{"127.0.0.21", "127.0.0.22"}, request: func(string) *http.Request {
			return request(t, http.MethodPost, s.URL+"/login")
		}, from: func(v string) string { return v }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			for _, value := range c.values {
				from := ""
				if c.from != nil {
					from = c.from(value)
				}
				got := send(t, client(t, from), 5, func() *http.Request { return c.request(value) })
				wantTally(t, fmt.Sprintf("%s %q", c.rule, value), got, 3, c.rule)
			}
		})
	}
}

// A request without the parameter is none of the rule's business, unless the rule says otherwise.
func TestMissingParameter(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[
		{"id": "skips", "resource": "orders", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
		{"id": "limits", "resource": "cart", "count": 2, "intervalSec": 3600, "onMissing": "limit", "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}},
		{"id": "blocks", "resource": "products", "count": 2, "intervalSec": 3600, "onMissing": "block", "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}}
	]`))
	c := client(t, "")
	for _, want := range []struct {
		path, rule string
		passed     int
	}{{"/orders", "skips", 5}, {"/cart", "limits", 2}, {"/products", "blocks", 0}} {
		got := send(t, c, 5, func() *http.Request { return request(t, http.MethodGet, s.URL+want.path) })
		wantTally(t, want.rule, got, want.passed, want.rule)
	}
	wantNoErrors(t, s)
}
