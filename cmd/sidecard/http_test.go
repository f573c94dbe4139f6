package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/sidecard/sidecard/pkg/client"
)

// local returns a client of the daemon's HTTP address.
func (d *running) local() *client.Client {
	d.t.Helper()
	c, err := client.New(client.Options{Addr: "unix:" + d.path("http.sock"), Domain: "test"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(c.Close)
	return c
}

// untilWaiting waits until a call waits for its turn.
func (d *running) untilWaiting() {
	d.t.Helper()
	for from := time.Now(); time.Since(from) < patience; {
		if _, body := d.get("/metrics"); strings.Contains(body, "\nsidecard_waiting 1\n") {
			return
		}
	}
	d.t.Fatal("no call waits")
}

// Answers that are held when the daemon is told to stop are refusals at the end of the drain.
func TestStopAnswersLocalCallers(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, hourlyQueue), "--drain", "10ms")
	d.log.wait(t, "ready, serving decisions", 1)
	c := d.local()
	if got, err := c.Decide(t.Context(), client.Request{Resource: "orders"}); !got.Allowed || err != nil {
		t.Fatalf("the first: got %+v, %v", got, err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		got, err := c.Decide(t.Context(), client.Request{Resource: "orders"})
		if err != nil || got.Code != "block" || got.Reason != "deadline" {
			t.Errorf("the one that waits: got %+v, %v", got, err)
		}
	}()
	d.untilWaiting()
	d.stop()
	<-answered
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Lstat(d.path("http.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// While Envoy is connected, local callers are answered too, over old connections and new ones.
func TestLocalCallersAreServedWhileStopping(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--drain", "1h")
	d.log.wait(t, "ready, serving decisions", 1)
	conn, c := d.dial(), d.local()
	if code, err := ask(t, conn, "orders"); err != nil || code != rlspb.RateLimitResponse_OK {
		t.Fatalf("got %v, %v", code, err)
	}
	for i, want := range []bool{true, false} {
		got, err := c.Decide(t.Context(), client.Request{Resource: "orders"})
		if err != nil || got.Allowed != want {
			t.Errorf("call %d: got %+v, %v", i, got, err)
		}
		d.stop()
		d.log.wait(t, "stopping, serving open connections until they leave", 1)
	}
	conn.Close()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := c.Decide(t.Context(), client.Request{Resource: "orders"}); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("of a daemon that has ended: got %v", err)
	}
}

func TestNoHTTPAddress(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--http", "off")
	d.log.wait(t, "ready, serving decisions", 1)
	if _, err := os.Lstat(d.path("http.sock")); !os.IsNotExist(err) {
		t.Errorf("there is a socket: %v", err)
	}
	if _, body := d.get("/metrics"); !strings.Contains(body, `sidecard_connections{listener="http"} 0`) {
		t.Error("its connections are not among the metrics")
	}
}
