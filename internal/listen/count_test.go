package listen

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"
)

// accept returns both ends of n connections made through ln.
func accept(t *testing.T, ln net.Listener, n int) (clients, servers []net.Conn) {
	t.Helper()
	for range n {
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		clients, servers = append(clients, client), append(servers, server)
	}
	return clients, servers
}

func TestCounter(t *testing.T) {
	t.Parallel()
	var c Counter
	if err := c.Wait(t.Context()); err != nil || c.Open() != 0 {
		t.Fatalf("new: %v, %d open", err, c.Open())
	}
	// Two listeners share one counter.
	one := c.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{}))
	two := c.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{}))
	clients1, servers1 := accept(t, one, 2)
	clients2, servers2 := accept(t, two, 1)
	defer func() {
		for _, conn := range append(clients1, clients2...) {
			conn.Close()
		}
	}()
	if c.Open() != 3 {
		t.Fatalf("got %d open, want 3", c.Open())
	}
	one.Close()
	two.Close()
	if c.Open() != 3 {
		t.Fatalf("closing the listeners changed the count to %d", c.Open())
	}

	cause := errors.New("drained long enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := c.Wait(ctx); !errors.Is(err, cause) {
		t.Fatalf("got %v, want the cause of the context", err)
	}

	waits := make(chan error, 2)
	for range 2 {
		go func() { waits <- c.Wait(within(t)) }()
	}
	servers1[0].Close()
	servers1[0].Close() // counted once
	if c.Open() != 2 {
		t.Fatalf("got %d open after one connection was closed twice, want 2", c.Open())
	}
	select {
	case err := <-waits:
		t.Fatalf("Wait returned %v with 2 open", err)
	default:
	}
	servers1[1].Close()
	servers2[0].Close()
	for range 2 {
		if err := <-waits; err != nil {
			t.Fatal(err)
		}
	}
}

func TestCounterConcurrent(t *testing.T) {
	t.Parallel()
	var c Counter
	ln := c.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{}))
	clients, servers := accept(t, ln, 32)
	var wg sync.WaitGroup
	for i := range servers {
		for range 4 {
			wg.Go(func() { servers[i].Close() })
		}
		wg.Go(func() { clients[i].Close() })
	}
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if c.Open() != 0 {
		t.Errorf("got %d open, want 0", c.Open())
	}
}

// Beyond the bound, whichever listener it comes through, a connection is closed at once; those that are
// open are left alone, and each that leaves makes room for another.
func TestCounterBound(t *testing.T) {
	t.Parallel()
	c := Counter{Max: 2}
	listeners := []net.Listener{
		c.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{})),
		c.Listener(mustListen(t, sockAddr(t), Options{})),
	}
	accepted := make(chan net.Conn)
	for _, ln := range listeners {
		go func() {
			for {
				conn, err := ln.Accept()
				if err != nil {
					accepted <- nil
					return
				}
				accepted <- conn
			}
		}()
	}
	dial := func(ln net.Listener) net.Conn {
		t.Helper()
		conn, err := net.Dial(ln.Addr().Network(), ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	var open []net.Conn
	for _, ln := range listeners {
		dial(ln)
		open = append(open, <-accepted)
	}
	for round := range 3 {
		for _, ln := range listeners {
			if _, err := dial(ln).Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("a connection too many: got %v, want it closed", err)
			}
		}
		if got, want := c.Refused(), int64(2*(round+1)); got != want || c.Open() != 2 {
			t.Errorf("got %d refused and %d open, want %d and 2", got, c.Open(), want)
		}
		open[0].Close()
		dial(listeners[round%2])
		open = append(open[1:], <-accepted)
	}
	for i, ln := range listeners {
		open[i].Close()
		ln.Close()
		<-accepted
	}
	if err := c.Wait(within(t)); err != nil {
		t.Error(err)
	}
}

// A counted connection still gives its socket away: peer credentials and socket options need it.
func TestCounterKeepsSocket(t *testing.T) {
	t.Parallel()
	var c Counter
	ln := c.Listener(mustListen(t, mustParse(t, "tcp:127.0.0.1:0"), Options{}))
	clients, servers := accept(t, ln, 1)
	defer clients[0].Close()
	defer servers[0].Close()
	sc, ok := servers[0].(syscall.Conn)
	if !ok {
		t.Fatal("the counted connection hides its socket")
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {}); err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	defer b.Close()
	piped := &countedConn{Conn: a, counter: new(Counter)}
	defer a.Close()
	if _, err := piped.SyscallConn(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a pipe has no socket, got %v", err)
	}
}
