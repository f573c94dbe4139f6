package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/metadata"
)

const (
	traceparent = "traceparent"
	tracestate  = "tracestate"
	maxState    = 512 // bytes of tracestate that are passed on, as W3C Trace Context asks at least
)

// headers are those of a request that say which span is its parent. It implements
// propagation.TextMapCarrier.
type headers struct{ parent, state string }

// Get implements propagation.TextMapCarrier.
func (h headers) Get(key string) string {
	switch key {
	case traceparent:
		return h.parent
	case tracestate:
		return h.state
	}
	return ""
}

// Set implements propagation.TextMapCarrier. Nothing is sent on.
func (h headers) Set(string, string) {}

// Keys implements propagation.TextMapCarrier.
func (h headers) Keys() []string { return []string{traceparent, tracestate} }

// httpHeaders is the key of the headers of an HTTP request in its context.
type httpHeaders struct{}

// Handler returns next with the parents of requests made known to Begin; next itself if t is nil.
func (t *Tracer) Handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := (headers{r.Header.Get(traceparent), r.Header.Get(tracestate)}); sampled(h.parent) {
			r = r.WithContext(context.WithValue(r.Context(), httpHeaders{}, h))
		}
		next.ServeHTTP(w, r)
	})
}

// parentOf returns the headers of a call that asks for a span.
func parentOf(ctx context.Context) (h headers, ok bool) {
	if h, ok := ctx.Value(httpHeaders{}).(headers); ok {
		return h, true
	}
	values := metadata.ValueFromIncomingContext(ctx, traceparent)
	if len(values) != 1 || !sampled(values[0]) {
		return headers{}, false
	}
	h.parent = values[0]
	if states := metadata.ValueFromIncomingContext(ctx, tracestate); len(states) == 1 && len(states[0]) <= maxState {
		h.state = states[0]
	}
	return h, true
}

// sampled says whether a traceparent, if it is one, has the sampled flag: 2 hexadecimal digits of version, 32 of trace,
// 16 of span and 2 of flags, with dashes between them. Whether it is one is left to who reads the rest.
func sampled(parent string) bool {
	const flags = 2 + 1 + 32 + 1 + 16 + 1
	if len(parent) < flags+2 {
		return false
	}
	switch parent[flags+1] {
	case '1', '3', '5', '7', '9', 'b', 'd', 'f':
		return true
	}
	return false
}

// with returns ctx with the span of the headers as the remote parent.
func (h headers) with(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(ctx, h)
}
