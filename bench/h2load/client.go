// Package h2load is a load client for Envoy's rate limit service. It speaks HTTP/2 in frames that
// it writes itself, which costs it one or two microseconds a call: a client on top of a gRPC
// library costs as much as the server it measures and hides the server's cost behind its own.
//
// It never retries, never hedges and keeps no call back: what it reports is what happened.
package h2load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// Config says what to talk to and how.
type Config struct {
	// Target is unix:/path, unix:@abstract or tcp:host:port.
	Target string
	// Conns is the number of connections; 0 means 1. Each has one goroutine.
	Conns int
	// Domain and Route go into the requests, as the domain and as the entry route.
	Domain, Route string
	// Timeout is sent as grpc-timeout, as Envoy does. The client does not act on it. 0: not sent.
	Timeout time.Duration
	// Spin makes a connection that waits for an answer poll its socket instead of sleeping, so that
	// the client's own wake-up is no part of a latency. It needs a core that nothing else uses.
	Spin bool
}

// Load is one measurement.
type Load struct {
	// Duration is how long calls are started. 0: until Calls have been.
	Duration time.Duration
	// Calls is how many calls are started. 0: until Duration is over.
	Calls int64
	// Streams is the most calls that a connection has open at a time; 0 means 1. The server's
	// SETTINGS_MAX_CONCURRENT_STREAMS may lower it.
	Streams int
	// Rate is the number of arrivals a second over all connections, exponentially distributed.
	// Latency then counts from the arrival, whether or not the call could be sent at that moment.
	// 0: a closed loop, in which an answer starts the next call.
	Rate float64
	// Keys is how many distinct requests are drawn from, at most MaxKeys; 0 means 1.
	Keys int
	// Sequential takes the keys in order instead of at random. Connections start evenly apart.
	Sequential bool
}

// Result is what a Load brought.
type Result struct {
	OK, OverLimit int64 // answers by overall code
	Errors        int64 // calls that got no such answer
	FirstError    error // why the first of them did not
	Elapsed       time.Duration
	Latency       Histogram // of the answers
}

// Answers returns the number of calls that were answered.
func (r *Result) Answers() int64 { return r.OK + r.OverLimit }

// Client holds open connections. Its methods are not safe for concurrent use.
type Client struct {
	conns []*conn
	runs  uint64 // seeds the random numbers, differently in each run
}

// Dial connects, exchanges settings on every connection and returns when the server's have come.
// An error names the target.
func Dial(ctx context.Context, cfg Config) (*Client, error) {
	c, err := dial(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", cfg.Target, err)
	}
	return c, nil
}

func dial(ctx context.Context, cfg Config) (*Client, error) {
	network, address, ok := strings.Cut(cfg.Target, ":")
	if !ok || network != "unix" && network != "tcp" {
		return nil, errors.New("target is neither unix:PATH nor tcp:HOST:PORT")
	}
	req, err := newRequest(cfg.Domain, cfg.Route)
	if err != nil {
		return nil, err
	}
	c := &Client{}
	for range max(cfg.Conns, 1) {
		var d net.Dialer
		nc, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		co, err := newConn(nc, req, cfg)
		if err == nil {
			err = co.handshake()
		}
		if err != nil {
			return nil, errors.Join(err, nc.Close(), c.Close())
		}
		c.conns = append(c.conns, co)
	}
	return c, nil
}

// Run drives the load and returns when every call that it started has ended, so that what the
// server spent between the moments before and after is the cost of exactly these calls. The error
// says why a connection could not go on; the result counts what it did until then. After an error
// the client can only be closed.
func (c *Client) Run(l Load) (*Result, error) {
	l.Streams, l.Keys = max(l.Streams, 1), max(l.Keys, 1)
	if l.Duration <= 0 && l.Calls <= 0 {
		return nil, errors.New("a load needs a duration or a number of calls")
	}
	if l.Keys > MaxKeys {
		return nil, fmt.Errorf("%d keys: at most %d", l.Keys, MaxKeys)
	}
	c.runs++
	errs := make([]error, len(c.conns))
	begin := time.Now()
	var wg sync.WaitGroup
	for i, co := range c.conns {
		wg.Go(func() { errs[i] = co.run(l, c.share(l, i)) })
	}
	wg.Wait()
	sum := &Result{Elapsed: time.Since(begin)}
	for _, co := range c.conns {
		sum.add(&co.res)
	}
	return sum, errors.Join(errs...)
}

// Close closes the connections without ceremony.
func (c *Client) Close() error {
	var errs []error
	for _, co := range c.conns {
		errs = append(errs, co.net.Close())
	}
	return errors.Join(errs...)
}

// A share is the part of a load that one connection does.
type share struct {
	rate  float64
	calls int64
	key   int    // the first one of a sequential load
	seed  uint64 // differs between connections and runs
}

func (c *Client) share(l Load, i int) share {
	n := len(c.conns)
	s := share{
		rate:  l.Rate / float64(n),
		calls: 1<<63 - 1,
		key:   l.Keys * i / n,
		seed:  c.runs<<16 + uint64(i),
	}
	if l.Calls > 0 {
		s.calls = l.Calls*int64(i+1)/int64(n) - l.Calls*int64(i)/int64(n)
	}
	return s
}

func (r *Result) add(o *Result) {
	r.OK += o.OK
	r.OverLimit += o.OverLimit
	r.Errors += o.Errors
	if r.FirstError == nil {
		r.FirstError = o.FirstError
	}
	r.Latency.Merge(&o.Latency)
}

func (r *Result) fail(err error) {
	r.Errors++
	if r.FirstError == nil {
		r.FirstError = err
	}
}
