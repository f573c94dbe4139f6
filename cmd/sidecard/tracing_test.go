package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
	"github.com/sidecard/sidecard/internal/testkit/certtest"
	"github.com/sidecard/sidecard/internal/testkit/collector"
)

const sampledParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func tracedRules(t *testing.T) func(string) {
	return func(dir string) { put(t, dir, "gw-flow-rules.json", `[{"resource": "orders", "count": 100}]`) }
}

// Every way of asking has its spans, over TLS; those that wait when the daemon ends are sent.
func TestSpansOfEveryWay(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "collector")
	cert, key, _ := ca.Issue(t)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c, err := collector.Start(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	authorities := filepath.Join(t.TempDir(), "ca.pem")
	certtest.Put(t, authorities, ca.PEM())
	d := start(t, tracedRules(t), "--tracing-endpoint", c.Endpoint, "--tracing-ca", authorities, "--drain", "0s")
	d.log.wait(t, "ready, serving decisions", 1)

	conn := d.dial()
	sampled := metadata.AppendToOutgoingContext(t.Context(), "traceparent", sampledParent)
	for _, ctx := range []context.Context{t.Context(), sampled} {
		if _, err := sidecardv1.NewDecisionServiceClient(conn).Decide(ctx, &sidecardv1.Query{Resource: "orders"}); err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", d.path("http.sock"))
	}}
	for _, parent := range []string{"", sampledParent} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sidecard/v1/decide", strings.NewReader(`{"resource": "orders"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("traceparent", parent)
		answer, err := (&http.Client{Transport: transport, Timeout: patience}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Errorf("got %s", answer.Status)
		}
	}
	conn.Close()
	d.stop()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	var ways []string
	for _, s := range c.Spans() {
		ways = append(ways, collector.Attribute(s.Attributes, "sidecard.api"))
	}
	if slices.Sort(ways); !slices.Equal(ways, []string{"grpc", "http"}) {
		t.Errorf("got spans of %q", ways)
	}
}

func TestAuthoritiesOfACollectorThatAreNotThere(t *testing.T) {
	t.Parallel()
	d := start(t, tracedRules(t), "--tracing-endpoint", "localhost:1", "--tracing-ca", "/nowhere/ca.pem")
	if code := d.exit(); code != exitFailure || !strings.Contains(strings.Join(d.log.all(), ""), "/nowhere/ca.pem") {
		t.Errorf("exit code %d, %q", code, d.log.all())
	}
}
