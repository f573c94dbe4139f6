package client_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/client"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rulesOfTests)
	c := w.client(t, client.Options{})
	bob := map[string]string{"header.x-user-id": "bob"}
	for i, step := range []struct {
		ask  client.Request
		want client.Decision
	}{
		{client.Request{Resource: "users", Attributes: bob, Peek: true}, client.Decision{Allowed: true, Code: "pass", Rule: "users", Counted: true, Limit: 1, Remaining: 1}},
		{client.Request{Resource: "users", Attributes: bob}, client.Decision{Allowed: true, Code: "pass", Rule: "users", Counted: true, Limit: 1}},
		{client.Request{Resource: "users", Attributes: bob}, client.Decision{Code: "block", Rule: "users", Reason: "limit", Counted: true, Limit: 1, RetryAfter: time.Hour}},
		{client.Request{Resource: "users", Hits: 2}, client.Decision{Allowed: true, Code: "pass"}},
		{client.Request{Resource: "dark"}, client.Decision{Allowed: true, Code: "pass", ShadowRule: "dark"}},
		{client.Request{Resource: "queue", TellWait: true}, client.Decision{Allowed: true, Code: "pass", Rule: "queue", Counted: true, Limit: 2, Remaining: 2}},
		{client.Request{Resource: "queue", MaxWait: client.NoWait}, client.Decision{Code: "block", Rule: "queue", Reason: "deadline", Counted: true, Limit: 2, RetryAfter: 500 * time.Millisecond}},
		{client.Request{Resource: "queue", MaxWait: -time.Minute}, client.Decision{Code: "block", Rule: "queue", Reason: "deadline", Counted: true, Limit: 2, RetryAfter: 500 * time.Millisecond}},
		{client.Request{Resource: "queue", TellWait: true}, client.Decision{Allowed: true, Code: "wait", Rule: "queue", Counted: true, Limit: 2, Remaining: 2, Wait: 500 * time.Millisecond}},
	} {
		got, err := c.Decide(t.Context(), step.ask)
		if err != nil || got != step.want {
			t.Errorf("step %d: got %+v, %v, want %+v", i, got, err, step.want)
		}
	}
	if n := w.conns.Load(); n != 1 {
		t.Errorf("%d connections were made for calls one after another", n)
	}
}

func TestAcquireAndComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rulesOfTests)
	c := w.client(t, client.Options{Domain: "shop"})
	d, err := c.Acquire(t.Context(), client.Request{Resource: "at-once"})
	if err != nil || d.Token == "" || w.inFlight("at-once") != 1 {
		t.Fatalf("got %+v, %v", d, err)
	}
	if err := c.Complete(t.Context(), d.Token, client.Outcome{RT: time.Second}); err != nil || w.inFlight("at-once") != 0 {
		t.Errorf("got %v, %d under way", err, w.inFlight("at-once"))
	}
	if err := c.Complete(t.Context(), d.Token, client.Outcome{}); !errors.Is(err, client.ErrNoCall) {
		t.Errorf("a second time: got %v", err)
	}
	asked := len(w.requests)
	if err := c.Complete(t.Context(), "", client.Outcome{}); err != nil || len(w.requests) != asked {
		t.Errorf("no token: got %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	c := w.client(t, client.Options{})
	if _, err := c.Decide(t.Context(), client.Request{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "no rules have been loaded yet") {
		t.Errorf("without rules: got %v", err)
	}
	_, err := c.Decide(t.Context(), client.Request{Attributes: map[string]string{"haeder.x": "y"}})
	if !errors.Is(err, client.ErrMalformed) || !strings.Contains(err.Error(), `did you mean "header.x"?`) {
		t.Errorf("a slip: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Decide(ctx, client.Request{}); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnavailable) {
		t.Errorf("given up: got %v", err)
	}
	nobody := w.client(t, client.Options{Addr: w.addr + "x"})
	if _, err := nobody.Decide(t.Context(), client.Request{}); !errors.Is(err, client.ErrUnavailable) || !strings.Contains(err.Error(), "no such socket") {
		t.Errorf("nobody serves: got %v", err)
	}
	for _, addr := range []string{"off", "/run/x.sock", "http://x"} {
		if _, err := client.New(client.Options{Addr: addr}); err == nil {
			t.Errorf("%q is taken", addr)
		}
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"allowed": true, "code": "pass"}`)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	addr := "tcp:" + strings.TrimPrefix(server.URL, "https://")
	for name, c := range map[string]struct {
		tls *tls.Config
		ok  bool
	}{
		"trusted":           {&tls.Config{RootCAs: trusted}, true},
		"of another name":   {&tls.Config{RootCAs: trusted, ServerName: "other"}, false},
		"of nobody trusted": {&tls.Config{}, false},
		"plain":             {nil, false},
	} {
		secure, err := client.New(client.Options{Addr: addr, TLS: c.tls})
		if err != nil {
			t.Fatal(err)
		}
		d, err := secure.Decide(t.Context(), client.Request{})
		secure.Close()
		if d.Allowed != c.ok || (err == nil) != c.ok {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
}

// A daemon that has started anew is found again, without an error for the connection to the one before.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rulesOfTests)
	c := w.client(t, client.Options{})
	for i := range 3 {
		if _, err := c.Decide(t.Context(), client.Request{Resource: "dark"}); err != nil {
			t.Fatalf("daemon %d: %v", i, err)
		}
		if err := w.restart(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, rulesOfTests)
	c := w.client(t, client.Options{})
	run := 0
	f := func() error {
		run++
		if n := w.inFlight("at-once"); n != 1 {
			t.Errorf("%d are under way while f runs", n)
		}
		var refusal *client.Refusal
		err := c.Do(t.Context(), "at-once", nil, func() error { t.Error("two at once"); return nil })
		if !errors.As(err, &refusal) || *refusal != (client.Refusal{Rule: "at-once", Reason: "limit"}) {
			t.Errorf("a second: got %v", err)
		}
		return nil
	}
	if err := c.Do(t.Context(), "at-once", nil, f); err != nil {
		t.Error(err)
	}
	failure := errors.New("failure")
	if err := c.Do(t.Context(), "at-once", nil, func() error { return failure }); err != failure {
		t.Errorf("got %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		c.Do(t.Context(), "at-once", nil, func() error { panic("f") })
	}()
	if n := w.inFlight("at-once"); n != 0 || run != 1 {
		t.Errorf("%d are under way at the end, f ran %d times", n, run)
	}
	c.Do(t.Context(), "orders", nil, func() error { return nil })
	err := c.Do(t.Context(), "orders", nil, func() error { t.Error("called"); return nil })
	if err == nil || err.Error() != `refused by rule "orders" (limit), retry after 1h0m0s` {
		t.Errorf("got %v", err)
	}
	if n := w.engine.Tokens().Completed.Load(); n != 3 {
		t.Errorf("%d ends were reported, want 3", n)
	}
}
