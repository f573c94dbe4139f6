package ratelimitsvc

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sidecard/sidecard/internal/calls"
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
	counters calls.Counters
	room     *calls.Room
	log      bytes.Buffer
	svc      *Service
	server   func() (*grpc.Server, *Service)
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
	w.apply(t, flowRules)
	w.serve(Config{Now: w.now.Load, Mapping: mapping}, 0)
	return w
}

// newBubble returns a world inside a synctest bubble, whose clock is that of the bubble. No more than
// most calls may wait; 0: the default.
func newBubble(t testing.TB, rules string, most int) *world {
	t.Helper()
	w := &world{engine: engine.New(engine.Options{})}
	cfg := Config{Now: func() int64 { return time.Now().UnixNano() }}
	w.now.Store(cfg.Now())
	w.apply(t, rules)
	w.serve(cfg, most)
	return w
}

// apply puts rules in force, as of w.now.
func (w *world) apply(t testing.TB, rules string) {
	t.Helper()
	set, problems := rule.Load([]rule.File{
		{Name: "gw-flow-rules.json", Data: []byte(rules)},
		{Name: "gw-api-definitions.json", Data: []byte(apiDefinitions)},
	}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Apply(w.now.Load(), set); err != nil {
		t.Fatal(err)
	}
}

// serve makes the service, and servers of the same configuration on demand.
func (w *world) serve(cfg Config, most int) {
	cfg.Engine, cfg.Log, cfg.Counters = w.engine, zerolog.New(&w.log), &w.counters
	w.room = calls.NewRoom(calls.Config{Engine: w.engine, Now: cfg.Now, Counters: &w.counters, Max: most})
	cfg.Room = w.room
	w.svc = newService(cfg)
	w.server = func() (*grpc.Server, *Service) {
		s := grpc.NewServer(grpc.ForceServerCodecV2(Codec()), grpc.MaxRecvMsgSize(4<<20), grpc.WaitForHandlers(true))
		svc := Register(s, cfg)
		healthpb.RegisterHealthServer(s, health.NewServer())
		return s, svc
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
