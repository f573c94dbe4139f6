package h2load

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// service answers by a function.
type service struct {
	rls.UnimplementedRateLimitServiceServer
	answer func(context.Context, *rls.RateLimitRequest) (*rls.RateLimitResponse, error)
}

func (s service) ShouldRateLimit(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	return s.answer(ctx, r)
}

type answer = func(context.Context, *rls.RateLimitRequest) (*rls.RateLimitResponse, error)

// serve runs a real grpc-go server on a socket of its own until the test ends.
func serve(t *testing.T, a answer, opts ...grpc.ServerOption) (target string, s *grpc.Server) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s = grpc.NewServer(opts...)
	rls.RegisterRateLimitServiceServer(s, service{answer: a})
	done := make(chan error)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "unix:" + path, s
}

func connect(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Domain, cfg.Route = "shop", "orders"
	c, err := Dial(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func ok(context.Context, *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	return &rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK}, nil
}

// seen is what a server found in the requests.
type seen struct {
	mu      sync.Mutex
	users   map[string]int
	noLimit int // calls without a deadline
	active  atomic.Int64
	most    atomic.Int64 // calls at a time
}

// answer refuses the users whose number ends in 3.
func (s *seen) answer(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
	n := s.active.Add(1)
	defer s.active.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	user := r.Descriptors[0].Entries[5].Value
	s.mu.Lock()
	s.users[user]++
	if _, has := ctx.Deadline(); !has {
		s.noLimit++
	}
	s.mu.Unlock()
	resp := &rls.RateLimitResponse{OverallCode: rls.RateLimitResponse_OK}
	if strings.HasSuffix(user, "3") {
		resp.OverallCode = rls.RateLimitResponse_OVER_LIMIT
	}
	return resp, nil
}

func TestClosedLoopAgainstGRPC(t *testing.T) {
	t.Parallel()
	for _, spin := range []bool{false, true} {
		name := "sleeping"
		if spin {
			name = "spinning"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seen{users: map[string]int{}}
			target, _ := serve(t, s.answer)
			c := connect(t, Config{Target: target, Conns: 2, Spin: spin, Timeout: time.Minute})
			// Two runs on the same connections, several windows' worth of bytes in all.
			for range 2 {
				res, err := c.Run(Load{Calls: 1000, Streams: 8, Keys: 50, Sequential: true})
				if err != nil {
					t.Fatal(err)
				}
				if res.OK != 900 || res.OverLimit != 100 || res.Errors != 0 {
					t.Errorf("OK %d, over limit %d, errors %d (%v)", res.OK, res.OverLimit, res.Errors, res.FirstError)
				}
				if res.Latency.Count() != 1000 || res.Latency.Quantile(0) <= 0 {
					t.Errorf("%d latencies from %v", res.Latency.Count(), res.Latency.Quantile(0))
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if len(s.users) != 50 {
				t.Errorf("%d users", len(s.users))
			}
			for user, n := range s.users {
				if n != 40 {
					t.Errorf("%s came %d times", user, n)
				}
			}
			if s.noLimit != 0 {
				t.Errorf("%d calls without a deadline", s.noLimit)
			}
			if most := s.most.Load(); most > 16 {
				t.Errorf("%d calls at a time on two connections of 8", most)
			}
		})
	}
}

func TestOpenLoopAgainstGRPC(t *testing.T) {
	t.Parallel()
	for _, spin := range []bool{false, true} {
		s := &seen{users: map[string]int{}}
		target, _ := serve(t, s.answer, grpc.MaxConcurrentStreams(3))
		c := connect(t, Config{Target: target, Conns: 2, Spin: spin})
		res, err := c.Run(Load{Calls: 600, Rate: 20_000, Streams: 100, Keys: 1000})
		if err != nil {
			t.Fatal(err)
		}
		if res.Answers() != 600 || res.Errors != 0 {
			t.Errorf("%d answers, %d errors (%v)", res.Answers(), res.Errors, res.FirstError)
		}
		if most := s.most.Load(); most > 6 {
			t.Errorf("%d calls at a time, the server allows 3 on each of 2 connections", most)
		}
		s.mu.Lock()
		noLimit := s.noLimit
		s.mu.Unlock()
		if noLimit != 600 {
			t.Errorf("%d of 600 calls without a deadline, none was asked for", noLimit)
		}
	}
}

func TestErrorsAreCounted(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	target, _ := serve(t, func(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
		switch n.Add(1) % 4 {
		case 0:
			return nil, status.Error(codes.Unavailable, "no rules yet")
		case 1:
			return &rls.RateLimitResponse{}, nil // overall code UNKNOWN
		}
		return ok(ctx, r)
	})
	c := connect(t, Config{Target: target})
	res, err := c.Run(Load{Calls: 100})
	if err != nil {
		t.Fatal(err)
	}
	if res.OK != 50 || res.Errors != 50 || res.FirstError.Error() != "overall code UNKNOWN" {
		t.Errorf("OK %d, errors %d (%v)", res.OK, res.Errors, res.FirstError)
	}
	if got := res.Latency.Count(); got != 50 {
		t.Errorf("%d latencies of 50 answers", got)
	}
	n.Store(3)
	res, err = c.Run(Load{Calls: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := res.FirstError.Error(), "grpc status Unavailable: no rules yet"; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

// TestServerGoesAway stops the server in the middle: what it had accepted is answered, nothing is
// started after, and the run says why it ended.
func TestServerGoesAway(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	var s *grpc.Server
	ready := make(chan struct{})
	stopped := make(chan struct{})
	target, srv := serve(t, func(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
		<-ready
		if n.Add(1) == 100 {
			go func() { s.GracefulStop(); close(stopped) }()
		}
		return ok(ctx, r)
	})
	s = srv
	close(ready)
	c := connect(t, Config{Target: target})
	res, err := c.Run(Load{Duration: time.Hour, Streams: 4})
	<-stopped
	if err == nil || !strings.Contains(err.Error(), "going away") {
		t.Errorf("error %v", err)
	}
	if got := n.Load(); res.OK != got || res.Errors != 0 {
		t.Errorf("server answered %d, client has OK %d, errors %d (%v)", got, res.OK, res.Errors, res.FirstError)
	}
}

func TestServerDies(t *testing.T) {
	t.Parallel()
	var s *grpc.Server
	ready := make(chan struct{})
	entered := make(chan struct{}, 4)
	target, srv := serve(t, func(ctx context.Context, r *rls.RateLimitRequest) (*rls.RateLimitResponse, error) {
		<-ready
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s = srv
	close(ready)
	c := connect(t, Config{Target: target})
	go func() {
		for range 4 {
			<-entered
		}
		s.Stop()
	}()
	res, err := c.Run(Load{Calls: 10, Streams: 4})
	if err == nil {
		t.Error("no error although the server closed the connection")
	}
	if res.OK != 0 || res.Errors != 4 {
		t.Errorf("OK %d, errors %d; 4 calls were open", res.OK, res.Errors)
	}
}

func TestBadLoadsAndTargets(t *testing.T) {
	t.Parallel()
	target, _ := serve(t, ok)
	c := connect(t, Config{Target: target})
	for _, l := range []Load{{}, {Calls: 1, Keys: MaxKeys + 1}} {
		if _, err := c.Run(l); err == nil {
			t.Errorf("no error for %+v", l)
		}
	}
	for _, target := range []string{"", "/run/x.sock", "udp:127.0.0.1:1", "unix:" + filepath.Join(t.TempDir(), "none")} {
		_, err := Dial(t.Context(), Config{Target: target})
		if err == nil || !strings.HasPrefix(err.Error(), "connecting to "+target+": ") {
			t.Errorf("target %q: error %v", target, err)
		}
	}
}
