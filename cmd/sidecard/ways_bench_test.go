package main

import (
	"net"
	"path/filepath"
	"testing"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/pkg/client"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
	"github.com/sidecard/sidecard/pkg/rule"
)

// BenchmarkWaysIn asks for one decision after another over a Unix socket, by each of the ways in. The client is in
// the figures, with Go's own for each protocol.
func BenchmarkWaysIn(b *testing.B) {
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(`[
		{"resource": "orders", "count": 1000000000, "intervalSec": 1},
		{"resource": "orders", "count": 1000000000, "intervalSec": 1, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}}
	]`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		b.Fatal(err)
	}
	now, e := clock.New().Now, engine.New(engine.Options{})
	if _, err := e.Apply(now(), set); err != nil {
		b.Fatal(err)
	}
	room := calls.NewRoom(calls.Config{Engine: e, Now: now})
	local := localapi.New(localapi.Config{Engine: e, Now: now, Room: room})
	server, _ := newGRPCServer(ratelimitsvc.Config{Engine: e, Now: now, Room: room, Log: zerolog.Nop()}, local, newHealth())
	httpServer := newHTTPServer(local.Handler(), zerolog.Nop())
	dir := b.TempDir()
	listen := func(name string) (net.Listener, string) {
		path := filepath.Join(dir, name)
		l, err := net.Listen("unix", path)
		if err != nil {
			b.Fatal(err)
		}
		return l, "unix:" + path
	}
	grpcListener, grpcAddr := listen("g")
	httpListener, httpAddr := listen("h")
	var g group
	g.start(func() error { return server.Serve(grpcListener) })
	g.start(func() error { return serveHTTP(httpServer, httpListener, "http") })
	defer func() {
		server.Stop()
		httpServer.Close()
		g.wait()
	}()
	conn, err := grpc.NewClient(grpcAddr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	c, err := client.New(client.Options{Addr: httpAddr})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()

	attributes := map[string]string{"path": "/orders/7", "method": "GET", "host": "shop.example", "header.x-user-id": "bob"}
	descriptor := &commonpb.RateLimitDescriptor{Entries: []*commonpb.RateLimitDescriptor_Entry{{Key: "route", Value: "orders"}}}
	for key, value := range attributes {
		descriptor.Entries = append(descriptor.Entries, &commonpb.RateLimitDescriptor_Entry{Key: key, Value: value})
	}
	ask := &rlspb.RateLimitRequest{Domain: "sidecard", Descriptors: []*commonpb.RateLimitDescriptor{descriptor}}
	envoy, decisions := rlspb.NewRateLimitServiceClient(conn), sidecardv1.NewDecisionServiceClient(conn)
	for name, decide := range map[string]func() (bool, error){
		"envoy": func() (bool, error) {
			m, err := envoy.ShouldRateLimit(b.Context(), ask)
			return m.GetOverallCode() == rlspb.RateLimitResponse_OK, err
		},
		"grpc": func() (bool, error) {
			d, err := decisions.Decide(b.Context(), &sidecardv1.Query{Resource: "orders", Attributes: attributes})
			return d.GetAllowed(), err
		},
		"http": func() (bool, error) {
			d, err := c.Decide(b.Context(), client.Request{Resource: "orders", Attributes: attributes})
			return d.Allowed, err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := decide(); err != nil || !ok {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
