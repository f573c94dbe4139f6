package client_test

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/client"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rulesOfTests = `[
	{"resource": "orders", "id": "orders", "count": 1, "intervalSec": 3600},
	{"resource": "users", "id": "users", "count": 1, "intervalSec": 3600, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
	{"resource": "queue", "id": "queue", "count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 60000},
	{"resource": "at-once", "id": "at-once", "grade": 0, "count": 1},
	{"resource": "dark", "id": "dark", "count": 0, "shadow": true}
]`

// world is a daemon's service behind a socket, with a clock that only tests turn.
type world struct {
	now      atomic.Int64
	engine   *engine.Engine
	dir      string
	addr     string
	conns    atomic.Int64 // that were ever made
	mu       sync.Mutex
	requests []string // path of each; guarded by mu
	server   *http.Server
	serving  sync.WaitGroup
}

// newWorld serves, with those rules or none, until the test ends.
func newWorld(tb testing.TB, rules string) *world {
	tb.Helper()
	w, err := startWorld(rules)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.stop)
	return w
}

func startWorld(rules string) (*world, error) {
	dir, err := os.MkdirTemp("", "sidecard") // short enough for a socket path
	if err != nil {
		return nil, err
	}
	w := &world{engine: engine.New(engine.Options{}), dir: dir, addr: "unix:" + filepath.Join(dir, "s")}
	w.now.Store(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	if rules != "" {
		set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(rules)}}, rule.Options{})
		if err := problems.Err(); err != nil {
			return nil, err
		}
		if _, err := w.engine.Apply(w.now.Load(), set); err != nil {
			return nil, err
		}
	}
	return w, w.serve()
}

func (w *world) serve() error {
	l, err := net.Listen("unix", filepath.Join(w.dir, "s"))
	if err != nil {
		return err
	}
	room := calls.NewRoom(calls.Config{Engine: w.engine, Now: w.now.Load})
	handler := localapi.New(localapi.Config{Engine: w.engine, Now: w.now.Load, Room: room}).Handler()
	w.server = &http.Server{
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			w.mu.Lock()
			w.requests = append(w.requests, r.URL.Path)
			w.mu.Unlock()
			handler.ServeHTTP(rw, r)
		}),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				w.conns.Add(1)
			}
		},
	}
	server := w.server
	w.serving.Go(func() { server.Serve(l) })
	return nil
}

// restart ends the server and starts another on the same socket.
func (w *world) restart() error {
	w.server.Close()
	w.serving.Wait()
	return w.serve()
}

func (w *world) stop() {
	w.server.Close()
	w.serving.Wait()
	os.RemoveAll(w.dir)
}

func (w *world) inFlight(id string) int64 {
	for _, r := range w.engine.Rules() {
		if r.Rule.ID == id {
			return r.InFlight
		}
	}
	return -1
}

func (w *world) client(tb testing.TB, o client.Options) *client.Client {
	tb.Helper()
	if o.Addr == "" {
		o.Addr = w.addr
	}
	c, err := client.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}
