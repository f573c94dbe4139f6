package main

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sidecard/sidecard/internal/listen"
)

// pipes is a listener whose connections are made in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) { return <-p, nil }
func (p pipes) Close() error              { return nil }
func (p pipes) Addr() net.Addr            { return &net.UnixAddr{} }

// connect opens one connection that c counts and returns its server's end.
func connect(t *testing.T, c *listen.Counter) net.Conn {
	t.Helper()
	p := make(pipes, 1)
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	p <- near
	conn, err := c.Listener(p).Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDrainEnds(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	for _, tc := range []struct {
		name    string
		clients int
		closed  time.Duration // when they close; 0: never
		killed  time.Duration // 0: never
		took    time.Duration
		left    int
	}{
		{name: "at once when nobody is connected"},
		{name: "when the last client has left", clients: 2, closed: 3 * time.Second, took: 3 * time.Second},
		{name: "at the limit when clients stay", clients: 2, took: limit, left: 2},
		{name: "with the second signal", clients: 1, killed: time.Second, took: time.Second, left: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var counter listen.Counter
				kill, cancel := context.WithCancel(t.Context())
				defer cancel()
				for range tc.clients {
					conn := connect(t, &counter)
					if tc.closed > 0 {
						time.AfterFunc(tc.closed, func() { conn.Close() })
					}
				}
				if tc.killed > 0 {
					time.AfterFunc(tc.killed, cancel)
				}
				start := time.Now()
				left := drain(kill, limit, &counter)
				if took := time.Since(start); took != tc.took || left != tc.left {
					t.Errorf("took %v and left %d, want %v and %d", took, left, tc.took, tc.left)
				}
			})
		})
	}
}

// server is a stoppable whose calls in flight need some time.
type server struct {
	calls   time.Duration
	stopped chan struct{}
}

func (s *server) GracefulStop() {
	select {
	case <-time.After(s.calls):
	case <-s.stopped:
	}
}

func (s *server) Stop() { close(s.stopped) }

func TestStopServerWaitsForCallsWithinBounds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                       string
		calls, limit, killed, want time.Duration
	}{
		{"calls that end", time.Second, 2 * time.Second, time.Hour, time.Second},
		{"a stream that does not", time.Hour, 2 * time.Second, 3 * time.Hour, 2 * time.Second},
		{"the second signal", time.Hour, 2 * time.Second, time.Second, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kill, cancel := context.WithCancel(t.Context())
				defer time.AfterFunc(tc.killed, cancel).Stop()
				defer cancel()
				start := time.Now()
				stopServer(kill, &server{calls: tc.calls, stopped: make(chan struct{})}, tc.limit)
				if took := time.Since(start); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
			})
		})
	}
}
