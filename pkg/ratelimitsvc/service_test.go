package ratelimitsvc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is a whole day of 2026, and so the beginning of a window of any size.
var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// world is a service over a real engine with a clock that only tests turn.
type world struct {
	now      atomic.Int64
	engine   *engine.Engine
	counters Counters
	log      bytes.Buffer
	svc      *service
	server   func() *grpc.Server
}

const flowRules = `[
	{"resource": "orders", "id": "orders", "count": 3, "intervalSec": 1, "window": "strict"},
	{"resource": "users", "id": "users", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "header", "fieldName": "X-User-Id"}},
	{"resource": "big", "id": "big", "count": 2147483647, "intervalSec": 1},
	{"resource": "closed", "id": "closed", "count": 0, "intervalSec": 10},
	{"resource": "dark", "id": "dark", "count": 0, "intervalSec": 1, "shadow": true},
	{"resource": "sku", "id": "sku", "count": 1, "intervalSec": 3600, "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}},
	{"resource": "admin", "id": "admin", "resourceMode": 1, "count": 1, "intervalSec": 1}
]`

const apiDefinitions = `[{"apiName": "admin", "predicateItems": [{"pattern": "/admin/**", "matchStrategy": 1}]}]`

func newWorld(t testing.TB, mapping map[string]map[string]string) *world {
	t.Helper()
	w := &world{engine: engine.New(engine.Options{})}
	w.now.Store(epoch)
	w.apply(t)
	w.serve(mapping)
	return w
}

func (w *world) apply(t testing.TB) {
	t.Helper()
	set, problems := rule.Load([]rule.File{
		{Name: "gw-flow-rules.json", Data: []byte(flowRules)},
		{Name: "gw-api-definitions.json", Data: []byte(apiDefinitions)},
	}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Apply(w.now.Load(), set); err != nil {
		t.Fatal(err)
	}
}

func (w *world) serve(mapping map[string]map[string]string) {
	cfg := Config{Engine: w.engine, Now: w.now.Load, Log: zerolog.New(&w.log), Counters: &w.counters, Mapping: mapping}
	w.svc = &service{cfg: cfg}
	w.svc.calls.New = func() any { return new(call) }
	w.server = func() *grpc.Server {
		s := grpc.NewServer(grpc.ForceServerCodecV2(Codec()), grpc.MaxRecvMsgSize(4<<20))
		Register(s, cfg)
		healthpb.RegisterHealthServer(s, health.NewServer())
		return s
	}
}

// wire sends bytes to the handler as gRPC does, through the codec both ways.
func (w *world) wire(ctx context.Context, b []byte) ([]byte, error) {
	receive := func(v any) error { return Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, v) }
	reply, err := handle(w.svc, ctx, receive, nil)
	if err != nil {
		return nil, err
	}
	out, err := Codec().Marshal(reply)
	if err != nil {
		return nil, err
	}
	defer out.Free()
	return out.Materialize(), nil
}

func (w *world) ask(t testing.TB, m *rls.RateLimitRequest) *rls.RateLimitResponse {
	t.Helper()
	b, err := w.wire(t.Context(), marshal(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return decodeResponse(t, b)
}

// describe builds a request of descriptors.
func describe(d ...*common.RateLimitDescriptor) *rls.RateLimitRequest {
	return &rls.RateLimitRequest{Domain: "sidecard", Descriptors: d}
}

func withHits(d *common.RateLimitDescriptor, n uint64, negative bool) *common.RateLimitDescriptor {
	d.HitsAddend, d.IsNegativeHits = wrapperspb.UInt64(n), negative
	return d
}

// brief writes an answer as "OK: OK 2/3, OVER_LIMIT 0/3 1s".
func brief(m *rls.RateLimitResponse) string {
	var parts []string
	for _, s := range m.GetStatuses() {
		p := s.GetCode().String()
		if l := s.GetCurrentLimit(); l != nil {
			p += fmt.Sprintf(" %d/%d", s.GetLimitRemaining(), l.GetRequestsPerUnit())
		}
		if d := s.GetDurationUntilReset(); d != nil {
			p += " " + d.AsDuration().String()
		}
		parts = append(parts, p)
	}
	return m.GetOverallCode().String() + ": " + strings.Join(parts, ", ")
}

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
	w.serve(nil)
	if _, err := w.wire(t.Context(), marshal(t, typical())); status.Code(err) != codes.Unavailable {
		t.Errorf("without rules: got %v, want UNAVAILABLE", err)
	}
	w.apply(t)
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

func TestServiceCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := pairs("route", "nowhere", "header.authorization", "s3cret")
	override := pairs("route", "orders")
	override.Limit = &common.RateLimitDescriptor_RateLimitOverride{RequestsPerUnit: 1, Unit: 77}
	for range 3 {
		w.ask(t, describe(pairs("route", "orders"), secret, pairs(), secret))
	}
	w.ask(t, describe(override, override))
	for domain, n := range w.counters.Unmatched {
		if domain != "sidecard" || n != 6 {
			t.Errorf("unmatched: got %d of %q, want 6 of sidecard", n, domain)
		}
	}
	if n := w.counters.OverridesIgnored.Load(); n != 2 {
		t.Errorf("overrides: got %d, want 2", n)
	}
	w.now.Add(int64(logEvery))
	w.ask(t, describe(secret))
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"keys":["route","header.authorization"]`) || !strings.Contains(lines[1], `"skipped":2`) {
		t.Errorf("got lines %q", lines)
	}
	if strings.Contains(w.log.String(), "s3cret") || strings.Contains(w.log.String(), "nowhere") {
		t.Errorf("a value is in the log: %s", w.log.String())
	}
}

func TestCountersBound(t *testing.T) {
	t.Parallel()
	var c Counters
	for range c.Unmatched {
		t.Fatal("zero value: got a domain")
	}
	borrowed := []byte("d00")
	for i := range 100 {
		copy(borrowed, fmt.Sprintf("d%02d", i))
		c.addUnmatched(string(borrowed), 1)
		c.addUnmatched(string(borrowed), 2)
	}
	got := map[string]int64{}
	for d, n := range c.Unmatched {
		got[d] = n
	}
	if len(got) != maxDomains+1 || got["d00"] != 3 || got["d63"] != 3 || got[OtherDomains] != 3*36 {
		t.Errorf("got %v", got)
	}
}

// TestServer goes through a real server with the generated client.
func TestServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := bufconn.Listen(1 << 16)
	server := w.server()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	client := rls.NewRateLimitServiceClient(conn)

	for i, want := range []string{"OK: OK 2/3 2s", "OK: OK 1/3 2s", "OK: OK 0/3 2s", "OVER_LIMIT: OVER_LIMIT 0/3 2s"} {
		m, err := client.ShouldRateLimit(t.Context(), describe(pairs("route", "orders")))
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(m); got != want {
			t.Errorf("call %d: got %q, want %q", i, got, want)
		}
	}
	if _, err := client.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no domain: got %v", err)
	}
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: got %v, %v", health, err)
	}

	// One byte that is no UTF-8 must be decided, and be its own value. The generated client refuses
	// to send it, so it goes out as raw bytes.
	raw := marshal(t, describe(pairs("route", "users", "header.x-user-id", "bob?")))
	raw = bytes.ReplaceAll(raw, []byte("bob?"), []byte("bob\xff"))
	for i, want := range []string{"OK: OK 1/2 1m0s", "OK: OK 0/2 1m0s", "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"} {
		var m rls.RateLimitResponse
		if err := conn.Invoke(t.Context(), rls.RateLimitService_ShouldRateLimit_FullMethodName, &raw, &m, grpc.ForceCodecV2(rawCodec{Codec()})); err != nil {
			t.Fatal(err)
		}
		if got := brief(&m); got != want {
			t.Errorf("bob\\xff %d: got %q, want %q", i, got, want)
		}
	}

	// Large requests arrive in several buffers and are put together.
	large := pairs("route", "users", "header.x-user-id", strings.Repeat("x", 1<<20))
	for i, want := range []string{"OK: OK 1/2 1m0s", "OK: OK 0/2 1m0s", "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"} {
		m, err := client.ShouldRateLimit(t.Context(), describe(large))
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(m); got != want {
			t.Errorf("large %d: got %q, want %q", i, got, want)
		}
	}
}

// rawCodec sends bytes as they are.
type rawCodec struct {
	next interface {
		Marshal(any) (mem.BufferSlice, error)
		Unmarshal(mem.BufferSlice, any) error
		Name() string
	}
}

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(*[]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
	}
	return c.next.Marshal(v)
}
func (c rawCodec) Unmarshal(b mem.BufferSlice, v any) error { return c.next.Unmarshal(b, v) }
func (c rawCodec) Name() string                             { return c.next.Name() }

// Many callers share pooled calls and buffers: every answer must be that to its own question.
func TestServerConcurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.svc.cfg.Log = zerolog.Nop()
	done := make(chan error)
	const callers = 8
	for g := range callers {
		go func() {
			for i := range 200 {
				user := fmt.Sprintf("user-%d-%d", g, i)
				var m rls.RateLimitResponse
				for _, want := range []string{"OK: OK, OK 1/2 1m0s", "OK: OK, OK 0/2 1m0s", "OVER_LIMIT: OK, OVER_LIMIT 0/2 1m0s"} {
					req, err := proto.Marshal(describe(pairs("who", user), pairs("route", "users", "cookie", user, "header.x-user-id", user)))
					if err == nil {
						req, err = w.wire(context.Background(), req)
					}
					if err == nil {
						err = proto.Unmarshal(req, &m)
					}
					if got := brief(&m); err == nil && got != want {
						err = fmt.Errorf("%s: got %q, want %q", user, got, want)
					}
					if err != nil {
						done <- err
						return
					}
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// An answer holds nothing of the request, whose buffer is given back before the answer is sent, and
// a call at rest pins no buffer.
func TestServiceKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	wire := marshal(t, hotRequest())
	var c call
	want := w.ask(t, hotRequest())
	c.raw = mem.SliceBuffer(wire)
	reply, err := w.svc.shouldRateLimit(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	c.reset()
	for i := range wire {
		wire[i] = 0xff
	}
	if got := decodeResponse(t, *reply.(*response)); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, e := range c.req.entries[:cap(c.req.entries)] {
		if e != (entry{}) {
			t.Errorf("an entry is kept: %q", e)
		}
	}
	for _, r := range c.engine.Items[:cap(c.engine.Items)] {
		if r != (engine.Request{}) {
			t.Errorf("an item is kept: %+v", r)
		}
	}
	if c.raw != nil || c.req.domain != "" || c.engine.Domain != "" {
		t.Error("the buffer or the domain is kept")
	}
}

// Names on the wire must be those of the generated code.
func TestNames(t *testing.T) {
	t.Parallel()
	if got := "/" + serviceName + "/" + methodName; got != rls.RateLimitService_ShouldRateLimit_FullMethodName {
		t.Errorf("got %q", got)
	}
	info := newWorld(t, nil).server().GetServiceInfo()[rls.RateLimitService_ServiceDesc.ServiceName]
	if len(info.Methods) != 1 || info.Metadata != rls.RateLimitService_ServiceDesc.Metadata {
		t.Errorf("got %+v", info)
	}
}

// An interceptor of the server sees every call.
func TestInterceptor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	receive := func(v any) error {
		return Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(marshal(t, typical()))}, v)
	}
	seen := ""
	reply, err := handle(w.svc, t.Context(), receive, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen = info.FullMethod
		return next(ctx, req)
	})
	if _, ok := reply.(*response); !ok || err != nil || seen != rls.RateLimitService_ShouldRateLimit_FullMethodName {
		t.Errorf("got %T, %v, %q", reply, err, seen)
	}
}

// decide is a call without gRPC: decode, attributes, decision, encode.
func (w *world) decide(c *call, wire []byte, out *response) error {
	if err := c.req.decode(wire); err != nil {
		return err
	}
	c.collect(nil)
	w.engine.Decide(w.now.Load(), &c.engine)
	*out = appendResponse((*out)[:0], &c.engine, c.items)
	c.reset()
	return nil
}

func hotRequest() *rls.RateLimitRequest {
	return describe(
		pairs("route", "big", "path", "/a/./b?sku=%41", "method", "GET", "host", "Shop:80", "remote_address", "2001:DB8::1"),
		pairs("route", "users", "header.X-User-Id", "bob"),
		pairs("route", "closed", "path", "/admin/7"))
}

func TestAllocs(t *testing.T) {
	w := newWorld(t, nil)
	for name, m := range map[string]*rls.RateLimitRequest{"refused": hotRequest(), "passed": describe(hotRequest().Descriptors[0])} {
		wire := marshal(t, m)
		var c call
		var out response
		if n := testing.AllocsPerRun(200, func() {
			if err := w.decide(&c, wire, &out); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: got %v allocations a call, want 0", name, n)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	w := newWorld(b, nil)
	b.Run("without gRPC", func(b *testing.B) {
		wire := marshal(b, describe(pairs("route", "big", "path", "/orders/7?sku=12", "method", "GET", "remote_address", "10.1.2.3", "header.x-user-id", "bob")))
		var c call
		var out response
		b.ReportAllocs()
		for b.Loop() {
			if err := w.decide(&c, wire, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("handler and codec", func(b *testing.B) {
		in := mem.BufferSlice{mem.SliceBuffer(marshal(b, describe(pairs("route", "big", "path", "/orders/7?sku=12", "method", "GET", "remote_address", "10.1.2.3", "header.x-user-id", "bob"))))}
		codec, ctx := Codec(), context.Background()
		receive := func(v any) error { return codec.Unmarshal(in, v) }
		b.ReportAllocs()
		for b.Loop() {
			reply, err := handle(w.svc, ctx, receive, nil)
			if err != nil {
				b.Fatal(err)
			}
			out, err := codec.Marshal(reply)
			if err != nil {
				b.Fatal(err)
			}
			out.Free()
		}
	})
}
