package localapi

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is a whole day of 2026, and so the beginning of a window of any size.
var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()

const rulesOfTests = `{
	"gatewayFlowRules": [
		{"resource": "orders", "id": "orders", "count": 3, "intervalSec": 60},
		{"resource": "users", "id": "users", "count": 2, "intervalSec": 60, "paramItem": {"parseStrategy": "header", "fieldName": "X-User-Id"}},
		{"resource": "queue", "id": "queue", "count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000},
		{"resource": "thirds", "id": "thirds", "count": 3, "controlBehavior": 2, "maxQueueingTimeoutMs": 400},
		{"resource": "big", "id": "big", "count": 4294967296},
		{"resource": "named", "id": "named", "count": 4294967296, "paramItem": {"parseStrategy": "header", "fieldName": "x"}, "onMissing": "block"},
		{"resource": "closed", "id": "closed", "count": 0, "intervalSec": 10},
		{"resource": "dark", "id": "dark", "count": 0, "shadow": true},
		{"resource": "at-once", "id": "at-once", "grade": 0, "count": 2},
		{"resource": "admin", "id": "admin", "resourceMode": 1, "count": 1, "intervalSec": 60}
	],
	"degradeRules": [
		{"resource": "fragile", "id": "fragile", "grade": 2, "count": 1, "minRequestAmount": 1, "timeWindow": 10}
	],
	"apiDefinitions": [{"apiName": "admin", "predicateItems": [{"pattern": "/admin/**", "matchStrategy": 1}]}]
}`

// world is a service over a real engine, with a clock that only tests turn.
type world struct {
	now      atomic.Int64
	clock    func() int64
	engine   *engine.Engine
	counters calls.Counters
	room     *calls.Room
	svc      *Service
	handler  http.Handler
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.now.Store(epoch)
	w.build(w.now.Load)
	w.apply(t)
	return w
}

// newBubble returns a world whose clock is that of the synctest bubble around it.
func newBubble(t testing.TB) *world {
	t.Helper()
	w := &world{}
	w.build(func() int64 { return time.Now().UnixNano() })
	w.apply(t)
	return w
}

func (w *world) build(clock func() int64) {
	w.clock, w.engine = clock, engine.New(engine.Options{})
	w.room = calls.NewRoom(calls.Config{Engine: w.engine, Now: clock, Counters: &w.counters})
	w.svc = New(Config{Engine: w.engine, Now: clock, Room: w.room, Counters: &w.counters,
		Mapping: map[string]map[string]string{"shop": {"user": "header.x-user-id"}}})
	w.handler = w.svc.Handler()
}

func (w *world) apply(t testing.TB) {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "rules.json", Data: []byte(rulesOfTests)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Apply(w.clock(), set); err != nil {
		t.Fatal(err)
	}
}

// inFlight returns how many calls the rule of that id counts.
func (w *world) inFlight(id string) int64 {
	for _, r := range w.engine.Rules() {
		if r.Rule.ID == id {
			return r.InFlight
		}
	}
	return -1
}

// answer is what an HTTP client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// recorder is an http.ResponseWriter without a connection.
type recorder struct {
	answer
	text strings.Builder
}

func (r *recorder) Header() http.Header              { return r.header }
func (r *recorder) WriteHeader(status int)           { r.status = status }
func (r *recorder) Write(p []byte) (int, error)      { return r.text.Write(p) }
func (r *recorder) SetWriteDeadline(time.Time) error { return nil }

// send makes a request of the handler.
func (w *world) send(ctx context.Context, method, target, body string) answer {
	rec := &recorder{answer: answer{header: make(http.Header)}}
	req, err := http.NewRequestWithContext(ctx, method, target, strings.NewReader(body))
	if err != nil {
		return answer{body: err.Error()}
	}
	w.handler.ServeHTTP(rec, req)
	rec.body = strings.TrimSuffix(rec.text.String(), "\n")
	return rec.answer
}

func (w *world) post(t testing.TB, target, body string) answer {
	t.Helper()
	return w.send(t.Context(), http.MethodPost, target, body)
}

// dial serves the gRPC side in memory and returns a client of it.
func (w *world) dial(t testing.TB) sidecardv1.DecisionServiceClient {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	w.svc.Register(server)
	go server.Serve(l)
	conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
	})
	return sidecardv1.NewDecisionServiceClient(conn)
}
