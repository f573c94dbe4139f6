//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sidecard/sidecard/internal/testkit/certtest"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// A raw connection does to the daemon what no gRPC client would.
type rawConn struct {
	net.Conn
	t      *testing.T
	frames *http2.Framer
	header bytes.Buffer
	encode *hpack.Encoder
}

// raw connects to the daemon's socket and says nothing.
func (d *daemon) raw() *rawConn {
	d.t.Helper()
	conn, err := net.Dial("unix", d.socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	c := &rawConn{Conn: conn, t: d.t, frames: http2.NewFramer(conn, conn)}
	c.encode = hpack.NewEncoder(&c.header)
	return c
}

// greeted connects and shakes hands; it returns the daemon's settings.
func (d *daemon) greeted() (*rawConn, *http2.SettingsFrame) {
	d.t.Helper()
	c := d.raw()
	c.send([]byte(http2.ClientPreface))
	if err := c.frames.WriteSettings(); err != nil {
		d.t.Fatal(err)
	}
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			d.t.Fatal(err)
		}
		if settings, ok := f.(*http2.SettingsFrame); ok && !settings.IsAck() {
			return c, settings
		}
	}
}

// send writes bytes while the daemon takes them.
func (c *rawConn) send(data []byte) {
	c.t.Helper()
	if _, err := c.Write(data); err != nil {
		c.t.Fatal(err)
	}
}

// block returns the header block of a call with further fields.
func (c *rawConn) block(fields ...hpack.HeaderField) []byte {
	c.header.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "sidecard"},
		{Name: ":path", Value: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
		{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	}, fields...) {
		_ = c.encode.WriteField(f) // to memory
	}
	return c.header.Bytes()
}

// call opens a call on a stream without its message.
func (c *rawConn) call(stream uint32) error {
	return c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.block(), EndHeaders: true})
}

// ended reads until the daemon ends the connection.
func ended(conn net.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, context.DeadlineExceeded) || isTimeout(err) {
		return fmt.Errorf("the connection is still open")
	}
	return nil // an end or a reset
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// trickle sends a byte every half second until the other end has had enough.
func trickle(t *testing.T, conn net.Conn, data []byte) {
	for i := range data {
		if _, err := conn.Write(data[i : i+1]); err != nil {
			return
		}
		if envoytest.Pause(t.Context(), time.Second/2) != nil {
			return
		}
	}
}

// Beyond limits.connections a connection is closed at once and counted; those that are open go on, and
// one that leaves makes room.
func TestConnectionBound(t *testing.T) {
	t.Parallel()
	const bound = 3
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, fmt.Sprintf("limits: {connections: %d}\n", bound))
	d := alone(t, 0, rules(t, rulesFile, closedOrders), "--config", config)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	held, _ := d.greeted()
	d.greeted()
	d.untilMetric(bound, "sidecard_connections", `listener="grpc"`)
	for n := range 5 {
		if err := ended(d.raw()); err != nil {
			t.Fatalf("connection %d too many: %v", n+1, err)
		}
		d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	}
	d.untilMetric(5, "sidecard_connections_refused_total", `listener="grpc"`, `reason="limit"`)
	held.Close()
	d.untilMetric(bound-1, "sidecard_connections", `listener="grpc"`)
	d.greeted()
	d.untilMetric(bound, "sidecard_connections", `listener="grpc"`)

	// The status port has as many places of its own.
	var status []net.Conn
	for range bound {
		c, err := net.Dial("tcp", d.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		status = append(status, c)
	}
	excess, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer excess.Close()
	if err := ended(excess); err != nil {
		t.Errorf("one too many at the status port: %v", err)
	}
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	for _, c := range status {
		c.Close()
	}
	d.until("the status port to have room", func(ctx context.Context) (bool, error) {
		_, body, err := envoytest.Fetch(ctx, d.page("/metrics"))
		if err != nil {
			return false, err
		}
		_, refused, err := envoytest.Sample(body, "sidecard_connections_refused_total", `listener="status"`, `reason="limit"`)
		return refused >= 1, err
	})
}

// Clients that are silent, slow or frozen lose their connections, and nobody else has to wait for them.
func TestSlowAndFrozenClients(t *testing.T) {
	t.Parallel()
	secure, local := tcp(t)
	d := alone(t, 0, rules(t, rulesFile, closedOrders), append(newSecret(t, certtest.New(t, "ca")).serve(), "--listen", secure)...)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	dial := func(network, address string) func() net.Conn {
		return func() net.Conn {
			c, err := net.Dial(network, address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return c
		}
	}
	status, api, encrypted := dial("tcp", d.address), dial("unix", d.http), dial("tcp", local)
	var clients sync.WaitGroup
	for name, client := range map[string]func() net.Conn{
		"says nothing": func() net.Conn { return d.raw() },
		"sends its preface byte by byte": func() net.Conn {
			c := d.raw()
			clients.Go(func() { trickle(t, c, bytes.Repeat([]byte(http2.ClientPreface), 10)) })
			return c
		},
		"falls silent": func() net.Conn {
			c, _ := d.greeted()
			return c
		},
		"falls silent in a call": func() net.Conn {
			c, _ := d.greeted()
			if err := c.call(1); err != nil {
				t.Fatal(err)
			}
			return c
		},
		"sends a frame byte by byte": func() net.Conn {
			c, _ := d.greeted()
			clients.Go(func() {
				trickle(t, c, append([]byte{0, 1, 0, byte(http2.FrameHeaders), 0, 0, 0, 0, 1}, make([]byte, 256)...))
			})
			return c
		},
		"says nothing to the status port": status,
		"sends a request to it byte by byte": func() net.Conn {
			c := status()
			clients.Go(func() { trickle(t, c, []byte("GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: "+fmt.Sprintf("%0200d", 0))) })
			return c
		},
		"says nothing to the local API": api,
		"sends a request to that byte by byte": func() net.Conn {
			c := api()
			clients.Go(func() {
				trickle(t, c, []byte("POST /v1/decide HTTP/1.1\r\nHost: x\r\nX-Slow: "+fmt.Sprintf("%0200d", 0)))
			})
			return c
		},
		"sends the body of a request to that byte by byte": func() net.Conn {
			c := api()
			if _, err := io.WriteString(c, "POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			clients.Go(func() { trickle(t, c, bytes.Repeat([]byte(" "), 1000)) })
			return c
		},
		"says nothing where TLS is spoken": encrypted,
		"sends a handshake byte by byte": func() net.Conn {
			c := encrypted()
			clients.Go(func() { trickle(t, c, append([]byte{22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3}, make([]byte, 245)...)) })
			return c
		},
		"keeps a connection to it without a request": func() net.Conn {
			c := status()
			if _, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\nGET /live"); err != nil {
				t.Fatal(err)
			}
			return c
		},
	} {
		c := client()
		clients.Go(func() {
			start := time.Now()
			if err := ended(c); err != nil {
				t.Errorf("a client that %s: %v", name, err)
			}
			t.Logf("a client that %s: closed after %v", name, time.Since(start).Round(100*time.Millisecond))
		})
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		clients.Wait()
	}()
	calls, most := 0, time.Duration(0)
	for waiting := true; waiting; calls++ {
		start := time.Now()
		d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
		most = max(most, time.Since(start))
		select {
		case <-all:
			waiting = false
		default:
			if err := envoytest.Pause(t.Context(), 20*time.Millisecond); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.untilMetric(1, "sidecard_connections", `listener="grpc"`)
	t.Logf("%d calls of another client meanwhile, none took longer than %v", calls, most.Round(10*time.Microsecond))
}
