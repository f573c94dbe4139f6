package ratelimitsvc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sidecard/sidecard/pkg/engine"
)

func TestService(t *testing.T) {
	t.Parallel()
	type step struct {
		at   time.Duration
		ask  *rls.RateLimitRequest
		want string
	}
	route := func(name string, kv ...string) *common.RateLimitDescriptor {
		return pairs(append([]string{"route", name}, kv...)...)
	}
	orders := describe(route("orders"))
	for name, steps := range map[string][]step{
		"until the limit, and again after the reset": {
			{0, orders, "OK: OK 2/3 2s"},
			{0, orders, "OK: OK 1/3 2s"},
			{500 * time.Millisecond, orders, "OK: OK 0/3 1s"},
			{500 * time.Millisecond, orders, "OVER_LIMIT: OVER_LIMIT 0/3 1s"},
			{time.Second + 100*time.Millisecond, orders, "OK: OK 1/3 1s"},
		},
		"the hits of the request": {
			{0, &rls.RateLimitRequest{Domain: "sidecard", HitsAddend: 2, Descriptors: orders.Descriptors}, "OK: OK 1/3 2s"},
			{0, &rls.RateLimitRequest{Domain: "sidecard", HitsAddend: 2, Descriptors: orders.Descriptors}, "OVER_LIMIT: OVER_LIMIT 0/3 2s"},
			{0, orders, "OK: OK 0/3 2s"},
		},
		"the hits of the descriptor win": {
			{0, &rls.RateLimitRequest{Domain: "sidecard", HitsAddend: 100, Descriptors: []*common.RateLimitDescriptor{withHits(route("orders"), 3, false)}}, "OK: OK 0/3 2s"},
		},
		"hits above the limit never fit and charge nothing": {
			{0, describe(withHits(route("orders"), 4, false)), "OVER_LIMIT: OVER_LIMIT 0/3"},
			{0, describe(withHits(route("orders"), 1<<63, false)), "OVER_LIMIT: OVER_LIMIT 0/3"},
			{0, describe(withHits(route("orders"), 1<<64-1, false)), "OVER_LIMIT: OVER_LIMIT 0/3"},
			{0, describe(withHits(route("orders"), 1<<63, false), withHits(route("orders"), 1<<63, false)), "OVER_LIMIT: OVER_LIMIT 0/3, OVER_LIMIT 0/3"},
			{0, orders, "OK: OK 2/3 2s"},
		},
		"a peek charges nothing, its refusal refuses": {
			{0, describe(withHits(route("orders"), 0, false)), "OK: OK 3/3"},
			{0, describe(withHits(route("orders"), 3, false)), "OK: OK 0/3 2s"},
			{0, describe(withHits(route("orders"), 0, false)), "OVER_LIMIT: OVER_LIMIT 0/3 2s"},
			{0, describe(withHits(route("orders"), 0, false), route("big")), "OVER_LIMIT: OVER_LIMIT 0/3 2s, OK 2147483647/2147483647"},
		},
		"a refund gives back, with a floor": {
			{0, describe(withHits(route("orders"), 3, false)), "OK: OK 0/3 2s"},
			{0, describe(withHits(route("orders"), 2, true)), "OK: OK 2/3 2s"},
			{0, describe(withHits(route("orders"), 0, true)), "OK: OK"},
			{0, describe(withHits(route("orders"), 1<<63, true)), "OK: OK 3/3"},
			{0, describe(withHits(route("orders"), 3, false)), "OK: OK 0/3 2s"},
		},
		"a refund without hits is one": {
			{0, describe(withHits(route("orders"), 3, false)), "OK: OK 0/3 2s"},
			{0, describe(&common.RateLimitDescriptor{Entries: route("orders").Entries, IsNegativeHits: true}), "OK: OK 1/3 2s"},
		},
		"all or nothing": {
			{0, describe(route("orders"), route("closed")), "OVER_LIMIT: OK 3/3, OVER_LIMIT 0/0"},
			{0, describe(withHits(route("orders"), 3, false)), "OK: OK 0/3 2s"},
		},
		"empty descriptors and reports stand in place": {
			{0, describe(pairs(), route("orders"), pairs("sidecard.token", "t", "route", "closed"), pairs()), "OK: OK, OK 2/3 2s, OK, OK"},
			{0, describe(pairs("sidecard.token", "t", "sidecard.code", "200", "route", "closed")), "OK: OK"},
			{0, describe(withHits(pairs("sidecard.code", "200", "route", "closed"), 200, false)), "OK: OK"},
			{0, describe(), "OK: "},
		},
		"nothing matches": {
			{0, describe(route("nowhere")), "OK: OK"},
			{0, describe(pairs("who", "knows")), "OK: OK"},
		},
		"unlimited says no limit": {
			{0, describe(withHits(route("dark"), 5, false)), "OK: OK"},
		},
		"one budget for each value, bytes as they come": {
			{0, describe(route("users", "header.x-user-id", "bob")), "OK: OK 1/2 1m0s"},
			{0, describe(route("users", "header.X-User-Id", "bob")), "OK: OK 0/2 1m0s"},
			{0, describe(route("users", "x-user-id", "bob")), "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"},
			{0, describe(route("users", "header.x-user-id", "")), "OK: OK 1/2 1m0s"},
			{0, describe(route("users")), "OK: OK"},
		},
		"a URL parameter from the path": {
			{0, describe(route("sku", "path", "/p?sku=%41")), "OK: OK 0/1 1h0m0s"},
			{0, describe(route("sku", "path", "/q?x=1&sku=A")), "OVER_LIMIT: OVER_LIMIT 0/1 1h0m0s"},
			{0, describe(route("sku", ":path", "/p", "query.sku", "A")), "OVER_LIMIT: OVER_LIMIT 0/1 1h0m0s"},
			{0, describe(route("sku", ":path", "/p?"+strings.Repeat("a", 70_000))), "OVER_LIMIT: OVER_LIMIT 0/1"},
		},
		"an API group, however the path is spelled": {
			{0, describe(pairs("path", "/x/..;a=b//%61dmin/1?q")), "OK: OK 0/1 1s"},
			{0, describe(pairs("path", "/admin/2")), "OVER_LIMIT: OVER_LIMIT 0/1 1s"},
			{0, describe(pairs("path", "/Admin/2")), "OK: OK"},
			{0, describe(pairs("path", "/"+strings.Repeat("a", 70_000))), "OVER_LIMIT: OVER_LIMIT 0/1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			for i, s := range steps {
				w.now.Store(epoch + int64(s.at))
				if got := brief(w.ask(t, s.ask)); got != s.want {
					t.Errorf("step %d: got %q, want %q", i, got, s.want)
				}
			}
		})
	}
}

func TestServiceRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	m := w.ask(t, describe(pairs("route", "closed"), pairs("route", "dark")))
	var body struct {
		Code              int
		Rule, Reason      string
		RetryAfterSeconds *int
	}
	if err := json.Unmarshal(m.GetRawBody(), &body); err != nil || body.Code != 429 || body.Rule != "closed" || body.Reason != "limit" || body.RetryAfterSeconds != nil {
		t.Errorf("got body %s, %v", m.GetRawBody(), err)
	}
	if h := m.GetResponseHeadersToAdd(); len(h) != 1 || h[0].GetKey() != "content-type" || h[0].GetValue() != "application/json" {
		t.Errorf("got headers %v", h)
	}
	if got := fmt.Sprint(m.GetDynamicMetadata().AsMap()); got != "map[reason:limit resource:closed rule:closed shadow_rule:dark]" {
		t.Errorf("got metadata %s", got)
	}
	if l := m.GetStatuses()[0].GetCurrentLimit(); l.GetName() != "closed" || l.GetUnit() != rls.RateLimitResponse_RateLimit_SECOND || l.GetUnitMultiplier().GetValue() != 10 {
		t.Errorf("got limit %v", l)
	}
	m = w.ask(t, describe(pairs("route", "dark")))
	if got := fmt.Sprint(brief(m), " ", m.GetDynamicMetadata().AsMap()); got != "OK: OK map[shadow_rule:dark]" || m.GetRawBody() != nil {
		t.Errorf("got %s, body %q", got, m.GetRawBody())
	}
	m = w.ask(t, describe(pairs("route", "orders")))
	if m.GetDynamicMetadata() != nil || m.GetRawBody() != nil || m.GetResponseHeadersToAdd() != nil {
		t.Errorf("got %v, want nothing but statuses when all passes", m)
	}
}

// What the configuration of the client causes is INVALID_ARGUMENT, and nothing else is.
func TestServiceInvalid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	many := func(descriptors, entries int) []byte {
		m := describe()
		for range descriptors {
			d := pairs("route", "orders")
			for len(d.Entries) < entries {
				d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: "k"})
			}
			m.Descriptors = append(m.Descriptors, withHits(d, 0, false))
		}
		return marshal(t, m)
	}
	whole := marshal(t, typical())
	for name, c := range map[string]struct {
		wire []byte
		want codes.Code
	}{
		"64 of 64":       {many(64, 64), codes.OK},
		"65 descriptors": {many(65, 1), codes.InvalidArgument},
		"65 entries":     {many(1, 65), codes.InvalidArgument},
		"no domain":      {marshal(t, &rls.RateLimitRequest{Descriptors: typical().Descriptors}), codes.InvalidArgument},
		"no bytes":       {nil, codes.InvalidArgument},
		"cut":            {whole[:len(whole)-1], codes.InvalidArgument},
		"bad UTF-8":      {bytes.ReplaceAll(whole, []byte("bob"), []byte("bo\xff")), codes.OK},
		"bad domain":     {bytes.ReplaceAll(whole, []byte("sidecard"), []byte("side\xffard")), codes.OK},
	} {
		before := w.counters.Invalid.Load()
		_, err := w.wire(t.Context(), c.wire)
		if status.Code(err) != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		if counted := w.counters.Invalid.Load() > before; counted != (c.want == codes.InvalidArgument) {
			t.Errorf("%s: counted as invalid: %v", name, counted)
		}
	}
	if n := strings.Count(w.log.String(), "malformed"); n != 1 {
		t.Errorf("got %d lines, want 1 for all at one moment: %s", n, w.log.String())
	}
}

func TestServiceNotReady(t *testing.T) {
	t.Parallel()
	w := &world{engine: engine.New(engine.Options{})}
	w.now.Store(epoch)
	w.serve(Config{Now: w.now.Load}, 0)
	if _, err := w.wire(t.Context(), marshal(t, typical())); status.Code(err) != codes.Unavailable {
		t.Errorf("without rules: got %v, want UNAVAILABLE", err)
	}
	w.apply(t, flowRules)
	if _, err := w.wire(t.Context(), marshal(t, typical())); err != nil {
		t.Errorf("with rules: got %v", err)
	}
}

// A call that nobody waits for any more gives its charge back.
func TestServiceCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	all := marshal(t, describe(withHits(pairs("route", "orders"), 3, false)))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for ctx, want := range map[context.Context]codes.Code{cancelled: codes.Canceled, expired: codes.DeadlineExceeded} {
		if _, err := w.wire(ctx, all); status.Code(err) != want {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	if n := w.counters.Cancelled.Load(); n != 2 {
		t.Errorf("got %d cancelled, want 2", n)
	}
	b, err := w.wire(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	if got := brief(decodeResponse(t, b)); got != "OK: OK 0/3 2s" {
		t.Errorf("got %q, want the whole budget", got)
	}
}

func TestServiceMapping(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]map[string]string{"shop": {"service": "resource", "uid": "header.x-user-id", "route": "ignored"}})
	d := pairs("uid", "bob", "route", "closed", "service", "users")
	shop := &rls.RateLimitRequest{Domain: "shop", Descriptors: []*common.RateLimitDescriptor{d}}
	if got := brief(w.ask(t, shop)); got != "OK: OK 1/2 1m0s" {
		t.Errorf("shop: got %q", got)
	}
	if got := brief(w.ask(t, describe(d))); got != "OVER_LIMIT: OVER_LIMIT 0/0" {
		t.Errorf("another domain: got %q", got)
	}
}
