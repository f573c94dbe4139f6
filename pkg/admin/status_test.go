package admin

import (
	"context"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/engine"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyKind, nil)
	w.daemon.Build = Build{Version: "v1.2.3", Revision: "abc", Go: "go1"}
	w.daemon.Listeners = map[string][]string{"listen": {"unix:/run/x.sock"}}
	w.daemon.Connections = []Connections{{Listener: "grpc", Open: 2, Most: 10, Refused: map[string]int64{"limit": 1}}}
	w.daemon.Waiting, w.daemon.MaxWaiting = 3, 4096
	w.engine.SetSystem(engine.SystemSample{Load: 1.5, CPU: -1})
	w.ask(2, "resource", "orders", "header.x-user-id", "bob")
	w.now += 90e9
	var got Status
	w.get("/api/v1/status", &got)
	if got.Version != "v1.2.3" || !got.Ready || got.Stopping || got.UptimeSec != 90 || !got.Started.Equal(at(start)) || !got.Now.Equal(at(w.now)) {
		t.Errorf("got %s", jsonOf(got))
	}
	if got.Rules.Count != 7 || got.Rules.Error != nil || got.Waiting != (Gauge{3, 4096}) || got.Keys != (Gauge{1, engine.DefaultMaxKeysTotal}) {
		t.Errorf("got %s", jsonOf(got))
	}
	if got.Tokens.Live != 1 || got.Tokens.Issued != 1 || len(got.Tokens.Silent) != 0 || got.Connections[0].Refused["limit"] != 1 || got.Listeners["listen"][0] != "unix:/run/x.sock" {
		t.Errorf("got %s", jsonOf(got))
	}
	if got.System.Load == nil || *got.System.Load != 1.5 || got.System.CPU != nil {
		t.Errorf("the system: got %s", jsonOf(got.System))
	}
	if m := got.Memory; m.Heap <= 0 || m.Runtime < m.Heap || m.Goroutines < 1 {
		t.Errorf("the memory: got %+v", m)
	}
	// The wall clock is that of today, and the daemon's some other.
	if drift := time.Duration(got.DriftMs) * time.Millisecond; time.Until(at(w.now).Add(drift)).Abs() > time.Hour {
		t.Errorf("the drift is %v", drift)
	}
	w.engine.Expire(w.now)
	w.daemon.Stopping = true
	w.get("/api/v1/status", &got)
	if got.Ready || !got.Stopping || len(got.Tokens.Silent) != 1 || got.Tokens.Silent[0] != "shop" {
		t.Errorf("while stopping: got %s", jsonOf(got))
	}
}

func TestResident(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"100 25 7 1 0 9 0\n": 25, "": 0, "1": 0, "1 x": 0} {
		if got := resident(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

// The two ways to ask are answered alike, as explain answers, and charge nothing.
func TestExplain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil)
	w.ask(3, "resource", "orders")
	byGet := w.request("GET", "/api/v1/explain?resource=orders&attr=path%3D/orders/7&attr=header.x=1%3D2&domain=shop&hits=2", "").Body.String()
	byPost := w.request("POST", "/api/v1/explain",
		`{"domain": "shop", "resource": "orders", "hits": 2, "attributes": [{"key": "path", "value": "/orders/7"}, {"key": "header.x", "value": "1=2"}]}`,
		"Content-Type", "application/json; charset=utf-8").Body.String()
	want := jsonOf(explain.Of(w.engine, w.now, explain.Question{
		Domain: "shop", Hits: 2, Attributes: []explain.Attribute{{Key: "resource", Value: "orders"}, {Key: "path", Value: "/orders/7"}, {Key: "header.x", Value: "1=2"}},
	}, explain.Options{Envoy: func(*engine.Verdict) explain.Envoy { return explain.Envoy{Headers: []explain.Header{}} }})) + "\n"
	if byGet != want || byPost != want {
		t.Errorf("got\n%s and\n%s, want\n%s", byGet, byPost, want)
	}
	var v explain.View
	w.get("/api/v1/explain?resource=orders", &v)
	if v.Answer.Outcome != "block" || v.Domain != DefaultDomain || v.Request.Hits != 1 {
		t.Errorf("got %s", jsonOf(v))
	}
	w.now += 2e9
	for range 9 {
		w.get("/api/v1/explain?resource=orders", &v)
	}
	if v.Answer.Outcome != "pass" || *v.Answer.Remaining != 2 {
		t.Errorf("asked nine times: got %s", jsonOf(v.Answer))
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.server.Run(ctx)
}
