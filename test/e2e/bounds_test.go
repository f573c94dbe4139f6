//go:build e2e

package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// Three times a limit of 100 a second, for six seconds.
const (
	boundLimit = 100
	boundRate  = 3 * boundLimit
	boundTotal = 6 * boundRate
)

func TestStrictBoundHoldsInEveryRealSecond(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json",
		`[{"id": "orders-strict", "resource": "orders", "count": 100, "intervalSec": 1, "window": "strict"}]`))
	replies := overload(t, s, "/orders")
	if got := envoytest.MostWithin(replies, time.Second); got > boundLimit {
		t.Errorf("%d requests passed within one second, the limit is %d", got, boundLimit)
	}
	checkOverload(t, s, replies, "orders-strict")
}

func TestAlignedBoundHoldsOverTheWholeLoad(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json",
		`[{"id": "search-aligned", "resource": "search", "count": 100, "intervalSec": 1, "window": "aligned"}]`))
	replies := overload(t, s, "/search")
	seconds := int((envoytest.Span(replies) + time.Second - 1) / time.Second)
	if got := envoytest.Count(replies).Passed; got > boundLimit*(seconds+1) {
		t.Errorf("%d requests passed in %d seconds, the bound is %d", got, seconds, boundLimit*(seconds+1))
	}
	if got := envoytest.MostWithin(replies, time.Second); got > 2*boundLimit {
		t.Errorf("%d requests passed within one second, the bound is %d", got, 2*boundLimit)
	}
	checkOverload(t, s, replies, "search-aligned")
}

func overload(t *testing.T, s *envoytest.Stack, path string) []envoytest.Reply {
	t.Helper()
	load := envoytest.Load{Every: time.Second / boundRate, Total: boundTotal, Request: func(int) *http.Request {
		return request(t, http.MethodGet, s.URL+path)
	}}
	return load.Run(t.Context(), client(t, ""))
}

// checkOverload holds what client, Envoy and application saw against each other, and that the
// limit was used and not only kept.
func checkOverload(t *testing.T, s *envoytest.Stack, replies []envoytest.Reply, rule string) {
	t.Helper()
	got := envoytest.Count(replies)
	if got.Sent != boundTotal || got.Other != 0 || got.LimitedBy[rule] != got.Limited {
		t.Errorf("got %+v of %d sent, want only passed ones and ones limited by %s", got, boundTotal, rule)
	}
	if got.Passed < 3*boundLimit || got.Limited < boundTotal/3 {
		t.Errorf("got %+v: a limit of %d a second was not used, or not reached", got, boundLimit)
	}
	limits := wantNoErrors(t, s)
	if limits.OK != int64(got.Passed) || limits.Over != int64(got.Limited) {
		t.Errorf("Envoy counts %+v, the client %+v", limits, got)
	}
	if served := s.Upstream.Served(); served != int64(got.Passed) {
		t.Errorf("%d requests reached the application, %d passed", served, got.Passed)
	}
	t.Logf("%s: sent %d in %s, passed %d, limited %d, most within a second %d", rule, got.Sent,
		envoytest.Span(replies).Round(time.Millisecond), got.Passed, got.Limited, envoytest.MostWithin(replies, time.Second))
}
