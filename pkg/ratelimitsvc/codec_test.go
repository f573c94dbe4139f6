package ratelimitsvc

import (
	"context"
	"sync/atomic"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sidecard/sidecard/pkg/engine"
)

// rawCodec sends bytes as they are.
type rawCodec struct{ encoding.CodecV2 }

func (c rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(*[]byte); ok {
		return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
	}
	return c.CodecV2.Marshal(v)
}

// An answer holds nothing of the request, whose buffer is given back before the answer is sent, and
// a call at rest pins no buffer.
func TestServiceKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	wire := marshal(t, hotRequest())
	var c call
	want := w.ask(t, hotRequest())
	c.raw = mem.SliceBuffer(wire)
	reply, err := w.svc.shouldRateLimit(t.Context(), &c)
	if err != nil {
		t.Fatal(err)
	}
	c.reset()
	for i := range wire {
		wire[i] = 0xff
	}
	if got := decodeResponse(t, *reply.(*response)); !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, e := range c.req.entries[:cap(c.req.entries)] {
		if e != (entry{}) {
			t.Errorf("an entry is kept: %q", e)
		}
	}
	for _, r := range c.engine.Items[:cap(c.engine.Items)] {
		if r != (engine.Request{}) {
			t.Errorf("an item is kept: %+v", r)
		}
	}
	if c.raw != nil || c.req.domain != "" || c.engine.Domain != "" {
		t.Error("the buffer or the domain is kept")
	}
}

// countingPool counts the buffers that are out.
type countingPool struct{ out atomic.Int64 }

func (p *countingPool) Get(n int) *[]byte { b := make([]byte, n); return &b }
func (p *countingPool) Put(*[]byte)       { p.out.Add(-1) }

// buffer returns the message in a buffer of the pool, long enough for gRPC to count its references.
func (p *countingPool) buffer(wire []byte) mem.Buffer {
	b := append(make([]byte, 0, 4<<10), wire...)
	p.out.Add(1)
	return mem.NewBuffer(&b, p)
}

// receive returns what gRPC gives a handler to receive the message with.
func (p *countingPool) receive(wire []byte) func(any) error {
	return func(m any) error {
		in := mem.BufferSlice{p.buffer(wire)}
		defer in.Free()
		return Codec().Unmarshal(in, m)
	}
}

// However a call ends, its receive buffer goes back, and only then.
func TestBufferIsGivenBack(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	typicalWire := marshal(t, typical())
	for name, c := range map[string]struct {
		ctx    context.Context
		ready  bool
		parts  [][]byte
		second bool
		want   codes.Code
	}{
		"answered":         {t.Context(), true, [][]byte{typicalWire}, false, codes.OK},
		"in pieces":        {t.Context(), true, [][]byte{typicalWire[:9], typicalWire[9:10], typicalWire[10:]}, false, codes.OK},
		"malformed":        {t.Context(), true, [][]byte{typicalWire[:9]}, false, codes.InvalidArgument},
		"empty":            {t.Context(), true, nil, false, codes.InvalidArgument},
		"cancelled":        {cancelled, true, [][]byte{typicalWire}, false, codes.Canceled},
		"not ready":        {t.Context(), false, [][]byte{typicalWire}, false, codes.Unavailable},
		"a second message": {t.Context(), true, [][]byte{typicalWire}, true, codes.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{engine: engine.New(engine.Options{})}
			w.now.Store(epoch)
			w.serve(Config{Now: w.now.Load}, 0)
			if c.ready {
				w.apply(t, flowRules)
			}
			var pool countingPool
			receive := func(v any) error {
				var in mem.BufferSlice
				for _, part := range c.parts {
					in = append(in, pool.buffer(part))
				}
				if err := Codec().Unmarshal(in, v); err != nil {
					return err
				}
				in.Free()
				if len(c.parts) == 1 && pool.out.Load() != 1 {
					t.Errorf("%d buffers are out before the decision, want 1", pool.out.Load())
				}
				if !c.second {
					return nil
				}
				in = mem.BufferSlice{pool.buffer(c.parts[0])}
				if err := Codec().Unmarshal(in, v); err != nil {
					return err
				}
				in.Free()
				return status.Error(codes.Internal, "two messages")
			}
			_, err := handle(w.svc, c.ctx, receive, nil)
			if status.Code(err) != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if pool.out.Load() != 0 {
				t.Errorf("%d buffers are still out", pool.out.Load())
			}
		})
	}
}

// Messages that are not ours go to the codec that gRPC uses by default.
func TestCodecOfOthers(t *testing.T) {
	t.Parallel()
	if name := Codec().Name(); name != "proto" {
		t.Errorf("got name %q", name)
	}
	out, err := Codec().Marshal(typical())
	if err != nil {
		t.Fatal(err)
	}
	defer out.Free()
	var m rls.RateLimitRequest
	if err := Codec().Unmarshal(out, &m); err != nil || !proto.Equal(&m, typical()) {
		t.Errorf("got %v, %v", &m, err)
	}
	if _, err := Codec().Marshal(7); err == nil {
		t.Error("a number was marshalled")
	}
}
