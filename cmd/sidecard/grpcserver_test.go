package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/sidecard/sidecard/internal/listen"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/localapi"
	"github.com/sidecard/sidecard/pkg/ratelimitsvc"
)

// inMemory is a listener of net.Pipe connections.
type inMemory struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *inMemory) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *inMemory) Addr() net.Addr { return &net.UnixAddr{Name: "@memory"} }

// rawClient is the client's end of one connection; writes end with the connection.
type rawClient struct {
	net.Conn
	frames *http2.Framer
	start  time.Time
}

// preface sends what every HTTP/2 client sends first.
func (c *rawClient) preface() {
	io.WriteString(c, http2.ClientPreface)
	c.frames.WriteSettings()
}

// headers returns the header block of a call that says nothing of its deadline.
func headers() []byte { return callTo("/"+rateLimitService+"/ShouldRateLimit", "") }

// trickle sends a byte each second until the connection ends or n bytes are sent.
func (c *rawClient) trickle(data []byte) {
	for i := range data {
		if _, err := c.Write(data[i : i+1]); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// A connection that is of no use is closed after a bounded time, whatever its client does to keep it.
func TestUselessConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		send func(c *rawClient)
		ack  bool          // answers pings
		want time.Duration // when it is closed
	}{
		{name: "says nothing", send: func(*rawClient) {}, want: handshake},
		{name: "sends its preface a byte a second", send: func(c *rawClient) { c.trickle([]byte(http2.ClientPreface)) }, want: handshake},
		{name: "does not end its preface", send: func(c *rawClient) { io.WriteString(c, http2.ClientPreface) }, want: handshake},
		{name: "speaks something else", send: func(c *rawClient) { io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") }, want: 0},
		{name: "falls silent", send: (*rawClient).preface, want: silence + pingTimeout},
		{name: "sends a frame a byte a second", send: func(c *rawClient) {
			c.preface()
			c.trickle(append([]byte{0, 1, 0, byte(http2.FrameHeaders), 0, 0, 0, 0, 1}, make([]byte, 256)...))
		}, want: silence + pingTimeout},
		{name: "falls silent in a call", send: func(c *rawClient) {
			c.preface()
			c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: headers(), EndHeaders: true})
		}, want: silence + pingTimeout},
		{name: "never calls", send: (*rawClient).preface, ack: true, want: unused},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var counter listen.Counter
				l := &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
				server, _ := newGRPCServer(ratelimitsvc.Config{Engine: engine.New(engine.Options{}), Now: func() int64 { return 1 }}, localapi.New(localapi.Config{}), newHealth())
				served := make(chan error)
				go func() { served <- server.Serve(counter.Listener(l)) }()

				near, far := net.Pipe()
				l.conns <- far
				c := &rawClient{Conn: near, start: time.Now(), frames: http2.NewFramer(near, near)}
				sent, pings := make(chan struct{}), make(chan [8]byte, 64)
				go func() { // the one writer of frames
					defer close(sent)
					tc.send(c)
					for data := range pings {
						c.frames.WritePing(true, data)
					}
				}()
				var closed time.Duration
				for {
					f, err := c.frames.ReadFrame()
					if ce := (http2.ConnectionError(0)); errors.As(err, &ce) {
						t.Fatal(err)
					}
					if err != nil {
						closed = time.Since(c.start)
						break
					}
					if ping, ok := f.(*http2.PingFrame); ok && tc.ack && !ping.IsAck() {
						pings <- ping.Data
					}
				}
				near.Close()
				close(pings)
				<-sent
				// A frame that comes late puts off the ping by as much, hence the second.
				if closed < tc.want || closed > tc.want+time.Second {
					t.Errorf("closed after %v, want %v", closed, tc.want)
				}
				server.Stop()
				if err := <-served; err != nil {
					t.Error(err)
				}
				if counter.Open() != 0 {
					t.Errorf("%d connections are counted as open", counter.Open())
				}
			})
		})
	}
}

// Calls cost a client no frames but their own. In particular none is followed by a ping, which would
// wake Envoy up to answer it and the daemon up to read that.
func TestCallsBringNoPings(t *testing.T) {
	t.Parallel()
	l := &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
	server, _ := newGRPCServer(ratelimitsvc.Config{Engine: engine.New(engine.Options{}), Now: func() int64 { return 1 }}, localapi.New(localapi.Config{}), newHealth())
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	near, far := net.Pipe()
	l.conns <- far
	c := &rawClient{Conn: near, frames: http2.NewFramer(near, near)}
	sent, next := make(chan struct{}), make(chan uint32, 1)
	go func() { // the one writer of frames
		defer close(sent)
		c.preface()
		for id := range next {
			c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: headers(), EndHeaders: true})
			c.frames.WriteData(id, true, make([]byte, 5)) // an empty message
		}
	}()
	const calls = 5
	next <- 1
	for ended := 0; ended < calls; {
		f, err := c.frames.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.PingFrame:
			t.Errorf("a ping after %d calls", ended)
		case *http2.WindowUpdateFrame:
			if ended > 0 {
				t.Errorf("a window of %d for stream %d after %d calls", f.Increment, f.StreamID, ended)
			}
		case *http2.HeadersFrame:
			if f.StreamEnded() {
				if ended++; ended < calls {
					next <- uint32(2*ended + 1)
				}
			}
		}
	}
	near.Close()
	close(next)
	<-sent
	server.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
