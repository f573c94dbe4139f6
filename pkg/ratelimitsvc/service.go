// Package ratelimitsvc answers Envoy's rate limit service (envoy.service.ratelimit.v3) from an
// engine: it decodes the request, turns descriptors into attributes, lets the engine decide, holds
// the answer back where a rule queues, and encodes it. It has its own codec for the two messages. It
// knows neither where rules come from nor how they are evaluated, and what a client of Envoy can
// influence never makes it return a gRPC error, because Envoy would then let the request pass.
package ratelimitsvc

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/tracing"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Config is what the service works with.
type Config struct {
	Engine *engine.Engine // required
	// Now is the time in Unix nanoseconds, which must advance as the monotonic clock does; required.
	// It is called once a call, once more by one in TimedOneIn, and twice more by a call that waits.
	Now      func() int64
	Room     *calls.Room // where calls wait; required
	Log      zerolog.Logger
	Counters *calls.Counters              // nil: nobody reads them
	Mapping  map[string]map[string]string // per domain: descriptor key to the attribute that it means; not changed after Register
	// Errors are the codes of responses that count as errors; nil: ServerErrors. Where Envoy's flags say that
	// the application did not answer, that is an error whatever the code.
	Errors *StatusCodes
	// TrackAll gives every call that passes and that some rule concerns a token, so that Envoy reports
	// how it ended, and not only those whose end a rule waits for.
	TrackAll bool
	// Block answers the refusals of rules without a Response, as pkg/rule has checked it; nil: a
	// JSON body that names the rule, the reason and when to come again.
	Block *rule.BlockResponse
	// Tracer makes a span of each decision whose caller asks for one; nil: of none.
	Tracer *tracing.Tracer
}

const (
	serviceName = "envoy.service.ratelimit.v3.RateLimitService"
	methodName  = "ShouldRateLimit"
)

// Register adds the rate limit service to s, whose server must have been made with
// grpc.ForceServerCodecV2(Codec()): without it every call fails. Until the engine has rules every
// call is answered with UNAVAILABLE, so that Envoy's failure mode decides.
func Register(s grpc.ServiceRegistrar, cfg Config) *Service {
	svc := newService(cfg)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: methodName, Handler: handle}},
		Metadata:    "envoy/service/ratelimit/v3/rls.proto",
	}, svc)
	return svc
}

// Service is a registered rate limit service. Its methods are safe for concurrent use.
type Service struct {
	cfg       Config
	answers   *answers
	calls     sync.Pool // of *call
	unmatched sampler
	invalid   sampler
	full      sampler
	silent    silentDomains
}

func newService(cfg Config) *Service {
	if cfg.Counters == nil {
		cfg.Counters = new(calls.Counters)
	}
	if cfg.Errors == nil {
		errors := ServerErrors()
		cfg.Errors = &errors
	}
	s := &Service{cfg: cfg, answers: newAnswers(cfg.Engine, cfg.Block)}
	s.calls.New = func() any { return new(call) }
	return s
}

// handle is the grpc.MethodHandler of ShouldRateLimit.
func handle(srv any, ctx context.Context, receive func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
	s := srv.(*Service)
	c := s.calls.Get().(*call)
	defer func() {
		c.reset()
		s.calls.Put(c)
	}()
	if err := receive(c); err != nil {
		return nil, err
	}
	if interceptor == nil {
		return s.shouldRateLimit(ctx, c)
	}
	info := &grpc.UnaryServerInfo{Server: srv, FullMethod: "/" + serviceName + "/" + methodName}
	return interceptor(ctx, c, info, func(ctx context.Context, _ any) (any, error) {
		return s.shouldRateLimit(ctx, c)
	})
}

// shouldRateLimit answers a call whose raw bytes have been received. The answer is a *response.
func (s *Service) shouldRateLimit(ctx context.Context, c *call) (any, error) {
	if !s.cfg.Engine.Ready() {
		s.cfg.Counters.Envoy.Unready.Add(1)
		return nil, status.Error(codes.Unavailable, "no rules have been loaded yet")
	}
	now := s.cfg.Now()
	if err := c.req.decode(c.raw.ReadOnlyData()); err != nil {
		s.cfg.Counters.Invalid.Add(1)
		s.logInvalid(now, err)
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if n := c.collect(s.cfg.Mapping[c.req.domain]); n > 0 {
		s.cfg.Counters.OverridesIgnored.Add(n)
	}
	s.complete(now, c)
	var span tracing.Span
	if len(c.engine.Items) > 0 { // it does more than to report how others ended
		span = s.cfg.Tracer.Begin(ctx, now, "envoy", c.req.domain)
	}
	c.engine.Track = s.cfg.TrackAll
	if s.cfg.TrackAll || s.cfg.Engine.Outcomes() {
		c.engine.Peer = peerOf(ctx)
	}
	if s.cfg.Room.Decide(ctx, now, math.MaxInt64, &c.engine) {
		s.logFull(now)
	}
	if len(c.engine.Verdicts) > 0 && c.turn.Next() {
		s.cfg.Counters.Durations.Observe(time.Duration(s.cfg.Now() - now))
	}
	s.countUnmatched(now, c)
	if c.engine.Wait > 0 {
		c.forget()
		now = s.cfg.Room.Hold(ctx, now, &c.engine)
	}
	if err := ctx.Err(); err != nil {
		// Envoy has given up and does with the request what its failure mode says.
		s.cfg.Engine.Cancel(now, &c.engine)
		s.cfg.Counters.Cancelled.Add(1)
		span.GivenUp()
		return nil, status.FromContextError(err).Err()
	}
	if len(c.engine.Verdicts) > 0 { // it did more than to report how others ended
		s.cfg.Counters.Envoy.Count(c.engine.Overall)
	}
	span.End(&c.engine)
	return s.encode(c), nil
}

func (s *Service) encode(c *call) *response {
	v := deciding(c.engine.Verdicts)
	var a *answer
	texts := 0
	if c.engine.Overall == engine.Block {
		if a = s.answers.to(v); a != nil {
			texts = a.size
		}
	}
	out := newResponse(texts)
	*out = appendResponse(*out, &c.engine, c.items, v, a)
	return out
}

// countUnmatched counts the descriptors that no rule applied to.
func (s *Service) countUnmatched(now int64, c *call) {
	var n int64
	for i := range c.engine.Verdicts {
		if !c.engine.Verdicts[i].Matched {
			n++
		}
	}
	if n > 0 {
		s.cfg.Counters.AddUnmatched(c.req.domain, n, n == int64(len(c.engine.Verdicts)))
		s.logUnmatched(now, c)
	}
}
