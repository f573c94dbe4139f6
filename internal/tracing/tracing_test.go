package tracing

import (
	"bytes"
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sidecard/sidecard/internal/testkit/collector"
	"github.com/sidecard/sidecard/pkg/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	spanID  = "b7ad6b7169203331"
	asked   = "00-" + traceID + "-" + spanID + "-01"
	unasked = "00-" + traceID + "-" + spanID + "-00"
)

// now is the time at which decisions begin in these tests.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()

func start(t *testing.T, log zerolog.Logger) (*Tracer, *collector.Collector) {
	t.Helper()
	c, err := collector.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	var clock atomic.Int64
	clock.Store(now)
	tracer, err := New(t.Context(), Config{Endpoint: c.Endpoint, Now: func() int64 { return clock.Add(int64(time.Millisecond)) }, Version: "v1.2.3", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return tracer, c
}

// called is the context of a gRPC call with headers, given as name and value in turn.
func called(headers ...string) context.Context {
	return metadata.NewIncomingContext(context.Background(), metadata.Pairs(headers...))
}

func rule(id string) *engine.CompiledRule { return &engine.CompiledRule{ID: id, Resource: "of " + id} }

func TestSpans(t *testing.T) {
	t.Parallel()
	tracer, c := start(t, zerolog.Nop())
	for _, call := range []engine.Call{
		{Overall: engine.Block, Verdicts: []engine.Verdict{{Rule: rule("a")}, {Code: engine.Block, Rule: rule("b\xff"), Reason: engine.ReasonLimit, ShadowRule: rule("dark")}}},
		{Verdicts: []engine.Verdict{{}, {Rule: rule("queue"), Wait: 1500 * time.Microsecond}}},
		{Verdicts: []engine.Verdict{{}}},
	} {
		tracer.Begin(called(traceparent, asked, tracestate, "vendor=1"), now, "envoy", "sh\xffop").End(&call)
	}
	tracer.Begin(called(traceparent, asked), now, "grpc", "shop").GivenUp()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans()
	want := []map[string]string{
		{"sidecard.api": "envoy", "sidecard.domain": "sh\uFFFDop", "sidecard.code": "block", "sidecard.rule": "b\uFFFD", "sidecard.resource": "of b\uFFFD", "sidecard.reason": "limit", "sidecard.shadow_rule": "dark", "sidecard.requests": "int_value:2"},
		{"sidecard.code": "wait", "sidecard.rule": "queue", "sidecard.wait_ms": "double_value:1.5", "sidecard.reason": ""},
		{"sidecard.code": "pass", "sidecard.rule": "", "sidecard.wait_ms": ""},
		{"sidecard.api": "grpc", "sidecard.domain": "shop", "sidecard.code": ""},
	}
	if len(spans) != len(want) {
		t.Fatalf("%d spans have arrived", len(spans))
	}
	for i, s := range spans {
		for name, value := range want[i] {
			if got := collector.Attribute(s.Attributes, name); got != value {
				t.Errorf("span %d: %s: got %q, want %q", i, name, got, value)
			}
		}
		if hex.EncodeToString(s.TraceId) != traceID || hex.EncodeToString(s.ParentSpanId) != spanID || s.Name != "sidecard.decide" {
			t.Errorf("span %d: %v", i, s)
		}
		if s.StartTimeUnixNano != uint64(now) || s.EndTimeUnixNano <= s.StartTimeUnixNano || s.EndTimeUnixNano > uint64(now)+uint64(time.Second) {
			t.Errorf("span %d: from %d to %d", i, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		if failed := s.Status.GetCode() == 2; failed != (i == 3) {
			t.Errorf("span %d: status %v", i, s.Status)
		}
		if n, v := collector.Attribute(s.Sender, "service.name"), collector.Attribute(s.Sender, "service.version"); n != "sidecard" || v != "v1.2.3" {
			t.Errorf("span %d: sent by %q %q", i, n, v)
		}
	}
	if spans[0].TraceState != "vendor=1" || spans[3].TraceState != "" {
		t.Errorf("trace states %q and %q", spans[0].TraceState, spans[3].TraceState)
	}
	if n := tracer.Counters(); n.Ended.Load() != 4 || n.Exported.Load() != 4 || n.Failed.Load() != 0 {
		t.Errorf("counted %d, %d and %d", n.Ended.Load(), n.Exported.Load(), n.Failed.Load())
	}
}

// Whoever does not ask, or not in a form that can be understood, gets no span.
func TestWhoAsks(t *testing.T) {
	t.Parallel()
	tracer, c := start(t, zerolog.Nop())
	for _, ctx := range []context.Context{
		context.Background(), called(), called(traceparent, unasked), called(traceparent, ""), called(traceparent, strings.Repeat("1", 10_000)),
		called(traceparent, asked, traceparent, asked), called("other", asked),
		called(traceparent, "00-"+strings.Repeat("0", 32)+"-"+spanID+"-01"), called(traceparent, "ff-"+traceID+"-"+spanID+"-01"),
		called(traceparent, "00-"+strings.Repeat("x", 32)+"-"+spanID+"-01"), called(traceparent, asked+"-more"),
	} {
		tracer.Begin(ctx, now, "envoy", "shop").End(&engine.Call{})
	}
	tracer.Begin(called(traceparent, asked, tracestate, strings.Repeat("a=1,", 1000)), now, "envoy", "long state").End(&engine.Call{})
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := c.Spans()
	if len(spans) != 1 || spans[0].TraceState != "" {
		t.Errorf("got %v", spans)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	tracer, c := start(t, zerolog.Nop())
	h := tracer.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		tracer.Begin(r.Context(), now, "http", "shop").End(&engine.Call{})
	}))
	for _, parent := range []string{asked, unasked, "", "nonsense"} {
		r := httptest.NewRequest("POST", "/v1/decide", nil)
		r.Header.Set("Traceparent", parent)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if spans := c.Spans(); len(spans) != 1 || hex.EncodeToString(spans[0].TraceId) != traceID {
		t.Errorf("got %v", spans)
	}
}

// A collector that takes nothing costs its spans and two lines, however many there are.
func TestCollectorThatRefuses(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	tracer, c := start(t, zerolog.New(&log))
	c.Refuse(status.Error(codes.PermissionDenied, "not you"))
	flush := func() {
		t.Helper()
		tracer.Begin(called(traceparent, asked), now, "envoy", "shop").End(&engine.Call{})
		if err := tracer.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	flush()
	flush()
	c.Refuse(nil)
	flush()
	flush()
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := tracer.Counters(); n.Exported.Load() != 2 || n.Failed.Load() != 2 || len(c.Spans()) != 2 {
		t.Errorf("%d exported, %d failed, %d arrived", n.Exported.Load(), n.Failed.Load(), len(c.Spans()))
	}
	if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "not you") || !strings.Contains(lines[1], `"lost":2`) {
		t.Errorf("got %q", lines)
	}
}

// What does not fit in the queue is dropped; nobody waits for the collector, and the end is bounded.
func TestCollectorThatIsNotThere(t *testing.T) {
	t.Parallel()
	c, err := collector.Start()
	if err != nil {
		t.Fatal(err)
	}
	c.Stop()
	tracer, err := New(t.Context(), Config{Endpoint: c.Endpoint, Now: func() int64 { return now }, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * queue {
		tracer.Begin(called(traceparent, asked), now, "envoy", "shop").End(&engine.Call{})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := tracer.Close(ctx); err == nil {
		t.Error("nothing was sent, and Close is content")
	}
	if n := tracer.Counters(); n.Exported.Load() != 0 || n.Ended.Load() != 3*queue {
		t.Errorf("%d of %d exported", n.Exported.Load(), n.Ended.Load())
	}
}

// Without a tracer there is no cost, and with one hardly any for those that do not ask.
func TestNoTracerCostsNothing(t *testing.T) {
	var none *Tracer
	ctx := called(traceparent, asked)
	c := new(engine.Call)
	if n := testing.AllocsPerRun(100, func() {
		none.Begin(ctx, now, "envoy", "shop").End(c)
		none.Begin(ctx, now, "envoy", "shop").GivenUp()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	next := http.NotFoundHandler()
	if none.Counters() == nil || none.Close(ctx) != nil || none.Handler(next) == nil {
		t.Error("a tracer that is none does not work")
	}
}

func BenchmarkBegin(b *testing.B) {
	c, err := collector.Start()
	if err != nil {
		b.Fatal(err)
	}
	defer c.Stop()
	tracer, err := New(b.Context(), Config{Endpoint: c.Endpoint, Now: func() int64 { return now }, Log: zerolog.Nop()})
	if err != nil {
		b.Fatal(err)
	}
	defer tracer.Close(context.Background())
	call := &engine.Call{Verdicts: []engine.Verdict{{Rule: rule("a")}}}
	for _, of := range []struct {
		name   string
		tracer *Tracer
		ctx    context.Context
	}{
		{"off", nil, called(traceparent, asked)}, {"not asked", tracer, called()}, {"not sampled", tracer, called(traceparent, unasked)}, {"sampled", tracer, called(traceparent, asked)},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				of.tracer.Begin(of.ctx, now, "envoy", "shop").End(call)
			}
		})
	}
}
