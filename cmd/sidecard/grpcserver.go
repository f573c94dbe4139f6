package main

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
)

// rateLimitService is the name under which Envoy asks for the health of the service it calls, and
// decisionService that of the local API.
const (
	rateLimitService = "envoy.service.ratelimit.v3.RateLimitService"
	decisionService  = "sidecard.v1.DecisionService"
)

// maxStreams bounds the calls of one connection, at some 12 KiB each: also a call whose message is still to
// come is held, for firstMessage. Envoy opens another connection when one is full. It learns of the bound only after it
// has made its first calls, and one too many is an error that lets a request pass, hence a multiple of
// the 1024 that Envoy allows itself unless its max_concurrent_streams says otherwise.
const maxStreams = 4096

// How long a connection may be held without being of use. What a connection holds counts towards
// limits.connections, so that one that its client has forgotten must go before Envoy needs its place.
const (
	handshake   = 10 * time.Second // to the end of the HTTP/2 preface, however slowly it comes
	silence     = 20 * time.Second // without a whole frame; then the client is pinged
	pingTimeout = 10 * time.Second // for the answer: a client that is frozen or gone gives none
	unused      = 10 * time.Minute // without a call; then it is told to leave, which Envoy does without a loss
)

// streamWorkers is how many goroutines wait for calls. A call that finds none waiting is served all the
// same, by a goroutine made for it, whose small stack has to be moved to a larger one two or three times
// before the call is decided: a fifth of the daemon's work under load. One wake-up reads the calls that
// a busy Envoy worker has sent meanwhile, a few dozen. Twice as many workers save no more of them, and
// with four times as many each is so seldom used that its stack has left the processor's cache, or has
// been cut down by the collector. See docs/performance.md.
const streamWorkers = 32

// How much a client may send before we have read it: for a call what HTTP/2 starts with, and for a
// connection so much that it is seldom topped up. Without a figure of ours the server measures how much
// would be best, by a ping for each call that comes alone, whose answer wakes it up once more.
const (
	streamWindow = 64 << 10 // a longer message is given more
	connWindow   = 1 << 20
)

// newGRPCServer makes the server that Envoy calls, and other programs for the local API, with its limits set so that nothing a client of
// Envoy can send becomes a gRPC error, which Envoy would answer by letting the request through.
func newGRPCServer(cfg ratelimitsvc.Config, local *localapi.Service, h *health.Server) (*grpc.Server, *ratelimitsvc.Service) {
	s := grpc.NewServer(
		grpc.ForceServerCodecV2(ratelimitsvc.Codec()),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxRecvMsgSize(4<<20),
		// Envoy passes on trace headers of its clients, of whom it takes 60 KiB of headers unless told
		// otherwise, and at most 1 MiB where sidecard is used (docs/hostile.md).
		grpc.MaxHeaderListSize(2<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time:              silence,
			Timeout:           pingTimeout,
			MaxConnectionIdle: unused,
		}),
		grpc.ConnectionTimeout(handshake),
		grpc.InTapHandle(awaitMessage),
		grpc.WaitForHandlers(true),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connWindow),
	)
	services := receipts{s}
	calls := ratelimitsvc.Register(services, cfg)
	local.Register(services)
	healthpb.RegisterHealthServer(services, h)
	return s, calls
}

// newHealth returns a health service that answers NOT_SERVING, for the daemon as a whole and for its
// services.
func newHealth() *health.Server {
	h := health.NewServer()
	setHealth(h, healthpb.HealthCheckResponse_NOT_SERVING)
	return h
}

// setHealth changes what h answers, unless it has been shut down.
func setHealth(h *health.Server, to healthpb.HealthCheckResponse_ServingStatus) {
	h.SetServingStatus("", to)
	h.SetServingStatus(rateLimitService, to)
	h.SetServingStatus(decisionService, to)
}
