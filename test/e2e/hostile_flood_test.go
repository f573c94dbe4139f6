//go:build e2e

package e2e

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// A flood of made-up values neither lifts a block nor gives anyone a new budget: not where the rule
// has room for all of them, and not where it has room for one in eight.
func TestHostileFloodOfUsers(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[
		{"id": "mallory", "resource": "orders", "count": 0, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id", "pattern": "mallory"}},
		{"id": "roomy", "resource": "orders", "count": 2, "intervalSec": 600, "window": "strict", "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
		{"id": "tight", "resource": "cart", "count": 2, "intervalSec": 600, "window": "strict", "maxKeys": 1000, "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}}
	]`))
	c := client(t, "")
	orders := func(user string) *http.Request { return request(t, http.MethodGet, s.URL+"/orders", "x-user-id", user) }
	cart := func(user string) *http.Request {
		return request(t, http.MethodGet, s.URL+"/cart", "cookie", "session="+user)
	}
	for _, flood := range []struct {
		rule    string
		users   int
		mallory int // how many requests of hers may pass
		from    func(user string) *http.Request
	}{{"roomy", 20000, 0, orders}, {"tight", 8000, 2, cart}} {
		name := func(n int) string { return flood.rule + "-" + strconv.Itoa(n) }
		wantTally(t, "bob before", send(t, c, 3, func() *http.Request { return flood.from("bob") }), 2, flood.rule)

		// Of ten requests eight are by users who come once, one is bob's and one mallory's.
		replies := envoytest.Load{Total: flood.users / 8 * 10, Request: func(n int) *http.Request {
			switch n % 10 {
			case 8:
				return flood.from("bob")
			case 9:
				return flood.from("mallory")
			}
			return flood.from(name(n/10*8 + n%10))
		}}.Run(t.Context(), c)
		var users, bob, mallory []envoytest.Reply
		for n, r := range replies {
			switch n % 10 {
			case 8:
				bob = append(bob, r)
			case 9:
				mallory = append(mallory, r)
			default:
				users = append(users, r)
			}
		}

		wantTally(t, "bob meanwhile", envoytest.Count(bob), 0, flood.rule)
		if got := envoytest.Count(mallory); got.Passed > flood.mallory || got.Other != 0 {
			t.Errorf("%s: mallory got %+v, want at most %d passed", flood.rule, got, flood.mallory)
		}
		got := envoytest.Count(users)
		if got.Sent != flood.users || got.Other != 0 {
			t.Errorf("%s: got %+v of %d users", flood.rule, got, flood.users)
		}
		t.Logf("%s: %d users in %s, %d passed, %d limited", flood.rule, got.Sent, envoytest.Span(replies).Round(time.Millisecond), got.Passed, got.Limited)
		if flood.rule == "roomy" {
			wantTally(t, "users", got, flood.users, flood.rule)
		}
		for n := 0; n < flood.users; n += flood.users / 50 {
			more := send(t, c, 3, func() *http.Request { return flood.from(name(n)) })
			passed := more.Passed
			if users[n].Passed() {
				passed++
			}
			if more.Other != 0 || passed > 2 || flood.rule == "roomy" && passed != 2 {
				t.Errorf("%s: %d requests of user %d passed", flood.rule, passed, n)
			}
		}
		wantTally(t, "bob after", send(t, c, 3, func() *http.Request { return flood.from("bob") }), 0, flood.rule)
	}
	wantNoErrors(t, s)
}
