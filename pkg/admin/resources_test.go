package admin

import (
	"fmt"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

const oneRule = "gatewayFlowRules:\n- {id: orders, resource: orders, count: 3}\n- {id: quiet, resource: quiet, count: 3}\n"

func TestResources(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil)
	w.ask(5, "resource", "orders")
	w.ask(9, "resource", "search")
	var got Resources
	w.get("/api/v1/resources", &got)
	if len(got.Resources) != 3 || got.Omitted != 0 || !got.Now.Equal(at(start)) {
		t.Fatalf("got %+v", got)
	}
	for i, want := range []Resource{
		{Name: "search", Mode: "route", NoReports: true, Last: Figures{Pass: 9}},
		{Name: "orders", Mode: "route", NoReports: true, Ruled: true, Last: Figures{Pass: 3, Block: 2}},
		{Name: "quiet", Mode: "route", NoReports: true, Ruled: true},
	} {
		if jsonOf(got.Resources[i]) != jsonOf(want) {
			t.Errorf("%d: got %s, want %s", i, jsonOf(got.Resources[i]), jsonOf(want))
		}
	}
	if got.Inbound.Last != (Figures{Pass: 12, Block: 2}) || got.Inbound.Mode != "" {
		t.Errorf("inbound: got %+v", got.Inbound)
	}
	for target, want := range map[string]string{
		"?limit=1": "search 2", "?resource=orders": "orders 0", "?resource=": "", "?resource=orders&mode=api": "", "?resource=orders&domain=shop": "", "?resource=orders&domain=": "orders 0",
	} {
		w.get("/api/v1/resources"+target, &got)
		text := ""
		for _, r := range got.Resources {
			text += fmt.Sprintf("%s %d", r.Name, got.Omitted)
		}
		if text != want {
			t.Errorf("%s: got %q, want %q", target, text, want)
		}
	}
}

func TestEndsOfCallsAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "gatewayFlowRules:\n- {id: orders, resource: orders, grade: concurrency, count: 3}\n", nil)
	first, second := w.call("resource", "orders"), w.call("resource", "orders")
	w.engine.Complete(w.now, first.Token, engine.Outcome{RT: 20 * time.Millisecond})
	var got Resources
	w.get("/api/v1/resources?history=2", &got)
	r := got.Resources[0]
	if r.NoReports || r.InFlight == nil || *r.InFlight != 1 || r.Last.Success != 1 || *r.Last.AvgRTMs != 20 || *r.Last.MinRTMs != 20 {
		t.Errorf("got %s", jsonOf(r))
	}
	w.now += 1e9
	w.engine.Complete(w.now, second.Token, engine.Outcome{RT: 40 * time.Millisecond, Error: true})
	w.now += 1e9
	w.get("/api/v1/resources?history=2", &got)
	if h := got.Resources[0].History; jsonOf(h) != `{"from":"`+at(start).Format(time.RFC3339)+`","pass":[2,0],"block":[0,0],"success":[1,1],"error":[0,1],"avgRtMs":[20,40]}` {
		t.Errorf("the history is %s", jsonOf(h))
	}
}

// Whenever it is gathered, and for however long, each second is there once.
func TestHistoryLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil)
	sent := make(map[int64]uint32)
	for i := range 1000 {
		n := i % 4
		w.ask(n, "resource", "search")
		sent[w.now/1e9] += uint32(n)
		w.now += 1e9 * int64(1+i%3) / 2
		if i%7 == 0 || i%50 == 1 {
			w.server.history.gather(w.engine, w.now)
		}
	}
	var got Resources
	w.get("/api/v1/resources?resource=search&history=300", &got)
	h := got.Resources[0].History
	if len(h.Pass) != 300 || !h.From.Equal(time.Unix(w.now/1e9-300, 0)) {
		t.Fatalf("%d seconds from %v", len(h.Pass), h.From)
	}
	for i, n := range h.Pass {
		if want := sent[h.From.Unix()+int64(i)]; n != want {
			t.Errorf("second %d: got %d, want %d", i, n, want)
		}
	}
	if n := len(w.server.history.inUse); n != 2 { // it and the sum of all; those without requests take no place
		t.Errorf("%d histories are kept", n)
	}
	for range 8 {
		w.now += 50e9
		w.server.history.gather(w.engine, w.now)
	}
	if n := len(w.server.history.inUse); n != 0 {
		t.Errorf("%d histories are kept of what is long over", n)
	}
}

// Clients that make up resources take no place from those that rules name, and no more memory than there is for all.
func TestHistoriesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRule, nil)
	for i := range maxHistories + 50 {
		w.ask(1, "resource", fmt.Sprint("made-up-", i))
	}
	w.now += 1e9
	w.server.history.gather(w.engine, w.now)
	if n := len(w.server.history.inUse); n != maxHistories+1 {
		t.Errorf("%d histories are kept", n)
	}
	w.ask(1, "resource", "orders")
	w.now += 1e9
	var got Resources
	w.get("/api/v1/resources?resource=orders&history=1", &got)
	if h := got.Resources[0].History; h == nil || h.Pass[0] != 1 || len(w.server.history.inUse) != maxHistories+1 {
		t.Errorf("got %s, of %d histories", jsonOf(h), len(w.server.history.inUse))
	}
}
