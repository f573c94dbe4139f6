// Package tracing makes an OpenTelemetry span of each decision whose caller asks for one, and sends them to a
// collector. A caller asks by the header traceparent with its sampled flag (W3C Trace Context): nothing is sampled
// here. It knows the engine's verdicts and nothing of the wire that a call came by.
package tracing

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// How much may wait for the collector, and how long it is waited for. What exceeds the queue is dropped.
const (
	queue   = 2048 // spans, of some kilobytes each
	batch   = 512
	gather  = time.Second      // until a batch that is not full is sent
	patient = 10 * time.Second // for one batch to be taken, attempts to repeat it included
)

// Config says where spans go.
type Config struct {
	Endpoint string                           // of an OTLP collector over gRPC, as grpc.NewClient takes it
	TLS      credentials.TransportCredentials // nil: plaintext
	Now      func() int64                     // Unix nanoseconds
	Version  string                           // of the daemon
	Log      zerolog.Logger
}

// Counters count spans. All are safe for concurrent use and only grow.
type Counters struct {
	Ended    atomic.Int64
	Exported atomic.Int64 // that the collector took
	Failed   atomic.Int64 // that it did not take
}

// Tracer makes spans. A nil Tracer makes none, and costs nothing. Make another with New. Its methods are safe for
// concurrent use.
type Tracer struct {
	now      func() int64
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	conn     *grpc.ClientConn
	exporter exporter
	stop     context.CancelFunc // of exporter.stopped
	counters Counters
}

// New returns a tracer that connects to the collector when there is something to send. Close it.
func New(ctx context.Context, c Config) (*Tracer, error) {
	secure := c.TLS
	if secure == nil {
		secure = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(c.Endpoint, grpc.WithTransportCredentials(secure))
	if err != nil {
		return nil, fmt.Errorf("tracing endpoint %q: %w", c.Endpoint, err)
	}
	t := &Tracer{now: c.Now, conn: conn}
	client, err := otlptracegrpc.New(ctx, otlptracegrpc.WithGRPCConn(conn), otlptracegrpc.WithTimeout(patient))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("tracing: %w", err)
	}
	t.exporter = exporter{next: client, counters: &t.counters, log: c.Log, ended: make(chan struct{})}
	t.exporter.stopped, t.stop = context.WithCancel(context.Background())
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // of those that Begin lets through
		sdktrace.WithResource(describe(ctx, c.Version)),
		sdktrace.WithBatcher(&t.exporter,
			sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(batch),
			sdktrace.WithBatchTimeout(gather), sdktrace.WithExportTimeout(patient)),
	)
	t.tracer = t.provider.Tracer("github.com/sidecard/sidecard")
	return t, nil
}

// describe says who sends the spans; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES add to it.
func describe(ctx context.Context, version string) *resource.Resource {
	own := resource.NewSchemaless(attribute.String("service.name", "sidecard"), attribute.String("service.version", version))
	// What is wrong in a variable is left out.
	given, _ := resource.New(ctx, resource.WithFromEnv())
	all, err := resource.Merge(own, given)
	if err != nil {
		return own
	}
	return all
}

// Counters returns what has been counted; nothing if t is nil.
func (t *Tracer) Counters() *Counters {
	if t == nil {
		return new(Counters)
	}
	return &t.counters
}

// Close sends what is left, as far as ctx gives it time, and ends the connection. No span may be begun afterwards.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.provider.Shutdown(ctx)
	t.stop() // what is still being sent
	<-t.exporter.ended
	t.conn.Close()
	return err
}
