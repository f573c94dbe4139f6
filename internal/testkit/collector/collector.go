// Package collector is an OpenTelemetry collector that keeps the spans that it is sent.
package collector

import (
	"context"
	"net"
	"sync"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Span is a span that has arrived, with the attributes of whoever sent it.
type Span struct {
	*trace.Span
	Sender []*common.KeyValue
}

// Attribute returns the value of an attribute as text; empty if there is none of that name.
func Attribute(of []*common.KeyValue, name string) string {
	for _, a := range of {
		if a.Key != name {
			continue
		}
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			return v.StringValue
		default:
			return a.Value.String()
		}
	}
	return ""
}

// Collector keeps spans. Make it with Start. Its methods are safe for concurrent use.
type Collector struct {
	Endpoint string // host and port

	collectortrace.UnimplementedTraceServiceServer
	server *grpc.Server
	mu     sync.Mutex
	spans  []Span
	err    error
	served sync.WaitGroup
}

// Start serves on a port of loopback until Stop.
func Start(options ...grpc.ServerOption) (*Collector, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Collector{Endpoint: l.Addr().String(), server: grpc.NewServer(options...)}
	collectortrace.RegisterTraceServiceServer(c.server, c)
	c.served.Go(func() { c.server.Serve(l) })
	return c, nil
}

// Stop ends the collector.
func (c *Collector) Stop() {
	c.server.Stop()
	c.served.Wait()
}

// Refuse makes the collector answer with the error from now on; nil: take what comes.
func (c *Collector) Refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// Spans returns what has arrived.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Export implements collectortrace.TraceServiceServer.
func (c *Collector) Export(_ context.Context, m *collectortrace.ExportTraceServiceRequest) (*collectortrace.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	for _, of := range m.ResourceSpans {
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, Span{s, of.Resource.Attributes})
			}
		}
	}
	return &collectortrace.ExportTraceServiceResponse{}, nil
}
