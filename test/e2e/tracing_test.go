//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/collector"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// traced is the shipped bootstrap with tracing, every request of which is sampled.
func traced(t *testing.T, endpoint string) string {
	t.Helper()
	text, err := os.ReadFile(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text)
	for _, e := range [][2]string{
		{"          use_remote_address: true\n", `          use_remote_address: true
          tracing:
            provider:
              name: envoy.tracers.opentelemetry
              typed_config:
                "@type": type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig
                service_name: edge
                grpc_service: {envoy_grpc: {cluster_name: collector}, timeout: 1s}
`},
		{"\n  clusters:\n", fmt.Sprintf(`
  clusters:
  - name: collector
    type: STATIC
    connect_timeout: 1s
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
    load_assignment:
      cluster_name: collector
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: %s, port_value: %s}}}
`, host, port)},
	} {
		if !strings.Contains(edited, e[0]) {
			t.Fatalf("the bootstrap has no %q", e[0])
		}
		edited = strings.Replace(edited, e[0], e[1], 1)
	}
	file := filepath.Join(t.TempDir(), "envoy.yaml")
	write(t, file, edited)
	return file
}

// A request that Envoy samples has a span of its decision in its own trace; what waits to be sent when the daemon
// is told to stop is sent.
func TestSpansOfEnvoysRequests(t *testing.T) {
	t.Parallel()
	c, err := collector.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	s := stackOf(t, traced(t, c.Endpoint), rules(t, "gw-flow-rules.json", `[{"id": "one", "resource": "orders", "count": 1, "intervalSec": 3600}]`),
		"--tracing-endpoint", c.Endpoint, "--tracing-insecure", "--drain", "1s")
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	h := client(t, "")
	for range 3 {
		if reply := envoytest.Send(h, request(t, http.MethodGet, s.URL+"/orders")); reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
	if err := s.Sidecard.Stop(30 * time.Second); err != nil {
		t.Error(err)
	}
	var decisions []collector.Span
	err = envoytest.Poll(soon(t), "Envoy's spans", func(context.Context) (bool, error) {
		decisions = nil
		known := make(map[string]bool)
		for _, span := range c.Spans() {
			known[place(span.TraceId, span.SpanId)] = true
			if collector.Attribute(span.Sender, "service.name") == "sidecard" {
				decisions = append(decisions, span)
			}
		}
		for _, d := range decisions {
			if !known[place(d.TraceId, d.ParentSpanId)] {
				return false, nil
			}
		}
		return len(decisions) >= 3, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	codes := make(map[string]int)
	for _, d := range decisions {
		codes[collector.Attribute(d.Attributes, "sidecard.code")+" "+collector.Attribute(d.Attributes, "sidecard.rule")]++
	}
	if codes["pass one"] != 1 || codes["block one"] != 2 || len(decisions) != 3 {
		t.Errorf("got %v", codes)
	}
}

// place is where a span stands.
func place(trace, span []byte) string { return string(trace) + string(span) }
