package ratelimitsvc

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/mem"

	"github.com/sidecard/sidecard/internal/clock"
)

// decide is a call without gRPC: decode, attributes, decision, encode.
func (w *world) decide(ctx context.Context, c *call, wire []byte, out *response) error {
	if err := c.req.decode(wire); err != nil {
		return err
	}
	c.collect(nil)
	w.svc.complete(w.now.Load(), c)
	w.room.Decide(ctx, w.now.Load(), math.MaxInt64, &c.engine)
	v := deciding(c.engine.Verdicts)
	*out = appendResponse((*out)[:0], &c.engine, c.items, v, w.svc.answers.to(v))
	c.reset()
	return nil
}

func hotRequest() *rls.RateLimitRequest {
	return describe(
		pairs("route", "big", "path", "/a/./b?sku=%41", "method", "GET", "host", "Shop:80", "remote_address", "2001:DB8::1"),
		pairs("route", "users", "header.X-User-Id", "bob"),
		pairs("route", "closed", "path", "/admin/7"))
}

func TestAllocs(t *testing.T) {
	w := newWorld(t, nil)
	w.apply(t, strings.TrimSuffix(flowRules, "]")+`, {"resource": "own", "count": 0, "blockResponse":
		{"contentType": "text/html", "body": "<p>{rule} {resource} {reason} {retry_after}</p>", "headers": {"x-rule": "{rule}"}}}]`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for name, m := range map[string]*rls.RateLimitRequest{
		"refused": hotRequest(), "passed": describe(hotRequest().Descriptors[0]), "refused in its own words": describe(pairs("route", "own")),
	} {
		wire := marshal(t, m)
		var c call
		var out response
		if n := testing.AllocsPerRun(200, func() {
			if err := w.decide(ctx, &c, wire, &out); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: got %v allocations a call, want 0", name, n)
		}
	}
}

func BenchmarkHandler(b *testing.B) {
	w := newWorld(b, nil)
	b.Run("without gRPC", func(b *testing.B) {
		wire := marshal(b, describe(pairs("route", "big", "path", "/orders/7?sku=12", "method", "GET", "remote_address", "10.1.2.3", "header.x-user-id", "bob")))
		var c call
		var out response
		b.ReportAllocs()
		for b.Loop() {
			if err := w.decide(context.Background(), &c, wire, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("handler and codec", func(b *testing.B) {
		in := mem.BufferSlice{mem.SliceBuffer(marshal(b, describe(pairs("route", "big", "path", "/orders/7?sku=12", "method", "GET", "remote_address", "10.1.2.3", "header.x-user-id", "bob"))))}
		codec, ctx := Codec(), context.Background()
		receive := func(v any) error { return codec.Unmarshal(in, v) }
		b.ReportAllocs()
		w.svc.cfg.Now = clock.New().Now
		for b.Loop() {
			reply, err := handle(w.svc, ctx, receive, nil)
			if err != nil {
				b.Fatal(err)
			}
			out, err := codec.Marshal(reply)
			if err != nil {
				b.Fatal(err)
			}
			out.Free()
		}
	})
}
