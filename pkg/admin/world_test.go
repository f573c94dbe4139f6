package admin

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is a present-day time on the boundary of a second.
const start = int64(1_790_000_000e9)

// world is a Server over an engine, on a clock that tests move.
type world struct {
	t      *testing.T
	now    int64
	engine *engine.Engine
	daemon Daemon
	server *Server
	http   http.Handler
}

func newWorld(t *testing.T, bundle string, change func(*Config)) *world {
	t.Helper()
	w := &world{t: t, now: start, engine: engine.New(engine.Options{})}
	w.daemon = Daemon{Started: time.Unix(0, start)}
	w.load(bundle)
	cfg := Config{
		Engine: w.engine, Now: func() int64 { return w.now }, Daemon: func() Daemon { return w.daemon },
		Envoy: func(*engine.Verdict) explain.Envoy { return explain.Envoy{Headers: []explain.Header{}} },
	}
	if change != nil {
		change(&cfg)
	}
	w.server = New(cfg)
	w.http = w.server.Handler()
	return w
}

// load puts the rules of a bundle file in force.
func (w *world) load(bundle string) {
	w.t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "rules.yaml", Data: []byte(bundle)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.engine.Apply(w.now, set); err != nil {
		w.t.Fatal(err)
	}
}

// ask asks the engine n times and returns how many calls passed; pairs are the attributes.
func (w *world) ask(n int, pairs ...string) int {
	w.t.Helper()
	passed := 0
	for range n {
		if c := w.call(pairs...); c.Overall == engine.Pass {
			passed++
		}
	}
	return passed
}

func (w *world) call(pairs ...string) *engine.Call {
	var bag attr.Bag
	for i := 0; i < len(pairs); i += 2 {
		bag.Add(pairs[i], pairs[i+1])
	}
	q := engine.Request{Hits: 1}
	bag.Request(&q)
	c := &engine.Call{Domain: "shop", Items: []engine.Request{q}, MaxWait: time.Second}
	w.engine.Decide(w.now, c)
	return c
}

// request sends a request and returns the answer.
func (w *world) request(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, target, strings.NewReader(body))
	r.Host = "localhost:9091"
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	got := httptest.NewRecorder()
	w.http.ServeHTTP(got, r)
	return got
}

// get reads a page of the API into v.
func (w *world) get(target string, v any) {
	w.t.Helper()
	got := w.request("GET", target, "")
	if got.Code != http.StatusOK {
		w.t.Fatalf("%s: got %d, %s", target, got.Code, got.Body)
	}
	if err := json.Unmarshal(got.Body.Bytes(), v); err != nil {
		w.t.Fatalf("%s: %v", target, err)
	}
}
