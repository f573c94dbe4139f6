package main

import (
	"bytes"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
	"github.com/sidecard/sidecard/pkg/rule"
)

// A call whose message does not come whole is ended, with a place for another one; one whose message has
// come goes on, however long it takes.
func TestCallsWithoutMessageAreEnded(t *testing.T) {
	t.Parallel()
	const (
		never    = 0
		measured = 3 // the stream
	)
	watch := message(t, &healthpb.HealthCheckRequest{Service: rateLimitService})
	orders := message(t, &rlspb.RateLimitRequest{Domain: "x", Descriptors: []*commonpb.RateLimitDescriptor{{
		Entries: []*commonpb.RateLimitDescriptor_Entry{{Key: "resource", Value: "orders"}},
	}}})
	set, problems := rule.Load([]rule.File{{Name: rulesFile, Data: []byte(
		`[{"resource": "orders", "count": 1, "intervalSec": 30, "controlBehavior": 2, "maxQueueingTimeoutMs": 60000}]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		path    string
		timeout string // grpc-timeout, if any
		message []byte
		end     bool          // says that there is no more
		want    time.Duration // when the call ends, or never while the connection is there
	}{
		"no message":                     {path: "/" + rateLimitService + "/ShouldRateLimit", want: firstMessage},
		"half a message":                 {path: "/" + rateLimitService + "/ShouldRateLimit", message: []byte{0, 0, 0, 1, 0, 'x'}, want: firstMessage},
		"no message, local API":          {path: "/" + decisionService + "/Decide", want: firstMessage},
		"no message of a stream":         {path: "/grpc.health.v1.Health/Watch", want: firstMessage},
		"no message, late deadline":      {path: "/" + rateLimitService + "/ShouldRateLimit", timeout: "1H", want: firstMessage},
		"no message, deadline":           {path: "/" + rateLimitService + "/ShouldRateLimit", timeout: "3S", want: 3 * time.Second},
		"a call that waits for its turn": {path: "/" + rateLimitService + "/ShouldRateLimit", message: orders, end: true, want: 30 * time.Second},
		"a stream that goes on":          {path: "/grpc.health.v1.Health/Watch", message: watch, end: true, want: never},
		"a call that is left open":       {path: "/grpc.health.v1.Health/Watch", message: watch, want: firstMessage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
				e, now := engine.New(engine.Options{}), clock.New().Now
				if _, err := e.Apply(now(), set); err != nil {
					t.Fatal(err)
				}
				var counts calls.Counters
				room := calls.NewRoom(calls.Config{Engine: e, Now: now, Counters: &counts, Max: 10})
				server, _ := newGRPCServer(ratelimitsvc.Config{Engine: e, Now: now, Room: room}, localapi.New(localapi.Config{}), newHealth())
				served := make(chan error)
				go func() { served <- server.Serve(l) }()
				near, far := net.Pipe()
				l.conns <- far
				c := &rawClient{Conn: near, start: time.Now(), frames: http2.NewFramer(near, near)}
				sent, pings := make(chan struct{}), make(chan [8]byte, 64)
				first := make(chan struct{})
				answered := sync.OnceFunc(func() { close(first) })
				go func() { // the one writer of frames
					defer close(sent)
					c.preface()
					call := func(stream uint32, path, timeout string, message []byte, end bool) {
						c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: callTo(path, timeout), EndHeaders: true})
						if message != nil {
							c.frames.WriteData(stream, end, message)
						}
					}
					call(1, "/"+rateLimitService+"/ShouldRateLimit", "", orders, true) // takes the first turn
					<-first                                                            // streams are served in any order
					call(measured, tc.path, tc.timeout, tc.message, tc.end)
					for data := range pings {
						c.frames.WritePing(true, data)
					}
				}()
				time.AfterFunc(10*firstMessage, func() { near.Close() })
				ended := time.Duration(never)
				for ended == never {
					f, err := c.frames.ReadFrame()
					if err != nil {
						break
					}
					switch f := f.(type) {
					case *http2.PingFrame:
						if !f.IsAck() {
							pings <- f.Data
						}
					case *http2.HeadersFrame:
						switch {
						case !f.StreamEnded():
						case f.StreamID == measured:
							ended = time.Since(c.start)
						default:
							answered()
						}
					case *http2.RSTStreamFrame:
						if f.StreamID == measured {
							ended = time.Since(c.start)
						}
					}
				}
				if ended != tc.want {
					t.Errorf("ended after %v, want %v", ended, tc.want)
				}
				near.Close()
				answered()
				close(pings)
				<-sent
				server.Stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// message is a message as it is framed.
func message(t *testing.T, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
}

// callTo returns the header block of a call.
func callTo(path, timeout string) []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	fields := [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", path}, {"content-type", "application/grpc"}, {"te", "trailers"},
	}
	if timeout != "" {
		fields = append(fields, [2]string{"grpc-timeout", timeout})
	}
	for _, f := range fields {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}) // to memory
	}
	return b.Bytes()
}
