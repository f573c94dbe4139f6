package tracing

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Span is the span of one decision. The zero value is none: its methods do nothing.
type Span struct {
	tracer *Tracer
	span   trace.Span
}

// Begin begins a span at now, if the caller asks for one. The domain is borrowed; api is how the call came, as metrics
// call it. It allocates nothing if t is nil.
func (t *Tracer) Begin(ctx context.Context, now int64, api, domain string) Span {
	if t == nil {
		return Span{}
	}
	return t.begin(ctx, now, api, domain)
}

func (t *Tracer) begin(ctx context.Context, now int64, api, domain string) Span {
	h, ok := parentOf(ctx)
	if !ok {
		return Span{}
	}
	// Not ctx itself: what its owner keeps in it is no concern of a span.
	ctx = h.with(context.Background())
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return Span{}
	}
	_, span := t.tracer.Start(ctx, "sidecard.decide", trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(time.Unix(0, now)),
		trace.WithAttributes(attribute.String("sidecard.api", api), attribute.String("sidecard.domain", valid(domain))))
	return Span{t, span}
}

// End ends the span of a call that is being answered, by what the engine decided.
func (s Span) End(c *engine.Call) {
	if s.span != nil {
		s.end(c)
	}
}

// GivenUp ends the span of a call whose caller is gone.
func (s Span) GivenUp() {
	if s.span != nil {
		s.span.SetStatus(codes.Error, "given up by the caller")
		s.finish()
	}
}

func (s Span) end(c *engine.Call) {
	code, wait := "pass", time.Duration(0)
	for i := range c.Verdicts {
		wait = max(wait, c.Verdicts[i].Wait)
	}
	switch {
	case c.Overall == engine.Block:
		code = "block"
	case wait > 0:
		code = "wait"
		s.span.SetAttributes(attribute.Float64("sidecard.wait_ms", float64(wait)/float64(time.Millisecond)))
	}
	s.span.SetAttributes(attribute.String("sidecard.code", code), attribute.Int("sidecard.requests", len(c.Verdicts)))
	if v := deciding(c); v != nil {
		s.span.SetAttributes(attribute.String("sidecard.rule", valid(v.Rule.ID)), attribute.String("sidecard.resource", valid(v.Rule.Resource)))
		if v.Code == engine.Block {
			s.span.SetAttributes(attribute.String("sidecard.reason", v.Reason.String()))
		}
	}
	for i := range c.Verdicts {
		if r := c.Verdicts[i].ShadowRule; r != nil {
			s.span.SetAttributes(attribute.String("sidecard.shadow_rule", valid(r.ID)))
			break
		}
	}
	s.finish()
}

func (s Span) finish() {
	s.tracer.counters.Ended.Add(1)
	s.span.End(trace.WithTimestamp(time.Unix(0, s.tracer.now())))
}

// deciding returns the verdict that the call is answered by: of those that refuse the first, else of all the first
// that some rule gave; nil if no rule limits.
func deciding(c *engine.Call) *engine.Verdict {
	var first *engine.Verdict
	for i := range c.Verdicts {
		v := &c.Verdicts[i]
		switch {
		case v.Rule == nil:
		case v.Code == engine.Block:
			return v
		case first == nil:
			first = v
		}
	}
	return first
}

// valid copies s and makes it UTF-8, which OTLP demands.
func valid(s string) string { return strings.Clone(strings.ToValidUTF8(s, "\uFFFD")) }
