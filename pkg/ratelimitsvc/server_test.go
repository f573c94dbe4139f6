package ratelimitsvc

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
)

// TestServer goes through a real server with the generated client.
func TestServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	l := bufconn.Listen(1 << 16)
	server, _ := w.server()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	client := rls.NewRateLimitServiceClient(conn)

	for i, want := range []string{"OK: OK 2/3 2s", "OK: OK 1/3 2s", "OK: OK 0/3 2s", "OVER_LIMIT: OVER_LIMIT 0/3 2s"} {
		m, err := client.ShouldRateLimit(t.Context(), describe(pairs("route", "orders")))
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(m); got != want {
			t.Errorf("call %d: got %q, want %q", i, got, want)
		}
	}
	if _, err := client.ShouldRateLimit(t.Context(), &rls.RateLimitRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no domain: got %v", err)
	}
	health, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: got %v, %v", health, err)
	}

	// One byte that is no UTF-8 must be decided, and be its own value. The generated client refuses
	// to send it, so it goes out as raw bytes.
	raw := marshal(t, describe(pairs("route", "users", "header.x-user-id", "bob?")))
	raw = bytes.ReplaceAll(raw, []byte("bob?"), []byte("bob\xff"))
	for i, want := range []string{"OK: OK 1/2 1m0s", "OK: OK 0/2 1m0s", "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"} {
		var m rls.RateLimitResponse
		if err := conn.Invoke(t.Context(), rls.RateLimitService_ShouldRateLimit_FullMethodName, &raw, &m, grpc.ForceCodecV2(rawCodec{Codec()})); err != nil {
			t.Fatal(err)
		}
		if got := brief(&m); got != want {
			t.Errorf("bob\\xff %d: got %q, want %q", i, got, want)
		}
	}

	// Large requests arrive in several buffers and are put together.
	large := pairs("route", "users", "header.x-user-id", strings.Repeat("x", 1<<20))
	for i, want := range []string{"OK: OK 1/2 1m0s", "OK: OK 0/2 1m0s", "OVER_LIMIT: OVER_LIMIT 0/2 1m0s"} {
		m, err := client.ShouldRateLimit(t.Context(), describe(large))
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(m); got != want {
			t.Errorf("large %d: got %q, want %q", i, got, want)
		}
	}
}

// Many callers share pooled calls and buffers: every answer must be that to its own question.
func TestServerConcurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.svc.cfg.Log = zerolog.Nop()
	done := make(chan error)
	const callers = 8
	for g := range callers {
		go func() {
			for i := range 200 {
				user := fmt.Sprintf("user-%d-%d", g, i)
				var m rls.RateLimitResponse
				for _, want := range []string{"OK: OK, OK 1/2 1m0s", "OK: OK, OK 0/2 1m0s", "OVER_LIMIT: OK, OVER_LIMIT 0/2 1m0s"} {
					req, err := proto.Marshal(describe(pairs("who", user), pairs("route", "users", "cookie", user, "header.x-user-id", user)))
					if err == nil {
						req, err = w.wire(context.Background(), req)
					}
					if err == nil {
						err = proto.Unmarshal(req, &m)
					}
					if got := brief(&m); err == nil && got != want {
						err = fmt.Errorf("%s: got %q, want %q", user, got, want)
					}
					if err != nil {
						done <- err
						return
					}
				}
			}
			done <- nil
		}()
	}
	for range callers {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// Names on the wire must be those of the generated code.
func TestNames(t *testing.T) {
	t.Parallel()
	if got := "/" + serviceName + "/" + methodName; got != rls.RateLimitService_ShouldRateLimit_FullMethodName {
		t.Errorf("got %q", got)
	}
	server, _ := newWorld(t, nil).server()
	info := server.GetServiceInfo()[rls.RateLimitService_ServiceDesc.ServiceName]
	if len(info.Methods) != 1 || info.Metadata != rls.RateLimitService_ServiceDesc.Metadata {
		t.Errorf("got %+v", info)
	}
}

// An interceptor of the server sees every call.
func TestInterceptor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	receive := func(v any) error {
		return Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(marshal(t, typical()))}, v)
	}
	seen := ""
	reply, err := handle(w.svc, t.Context(), receive, func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		seen = info.FullMethod
		return next(ctx, req)
	})
	if _, ok := reply.(*response); !ok || err != nil || seen != rls.RateLimitService_ShouldRateLimit_FullMethodName {
		t.Errorf("got %T, %v, %q", reply, err, seen)
	}
}
