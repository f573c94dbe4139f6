package tracing

import (
	"context"
	"sync/atomic"

	"github.com/rs/zerolog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter counts what becomes of spans, and logs when the collector stops taking them and when it takes them again. It
// keeps errors from the SDK, which would print each, and can be told to give up, which the SDK cannot.
type exporter struct {
	next     sdktrace.SpanExporter
	counters *Counters
	log      zerolog.Logger
	failing  atomic.Bool
	stopped  context.Context // done when nothing is to be sent any more
	ended    chan struct{}   // closed when the SDK will send nothing any more
}

// ExportSpans implements sdktrace.SpanExporter.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	n := int64(len(spans))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(e.stopped, cancel)()
	if err := e.next.ExportSpans(ctx, spans); err != nil {
		e.counters.Failed.Add(n)
		if e.failing.CompareAndSwap(false, true) {
			e.log.Warn().Err(err).Int64("spans", n).Msg("the collector takes no spans, they are lost until it does")
		}
		return nil
	}
	e.counters.Exported.Add(n)
	if e.failing.CompareAndSwap(true, false) {
		e.log.Info().Int64("lost", e.counters.Failed.Load()).Msg("the collector takes spans again")
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter. The SDK calls it once, when it has nothing left to send.
func (e *exporter) Shutdown(ctx context.Context) error {
	defer close(e.ended)
	return e.next.Shutdown(ctx)
}
