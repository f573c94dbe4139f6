//go:build e2e && linux

package chaos

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// get sends a request of its own through Envoy.
func (w *world) get(ctx context.Context, path string) (envoytest.Reply, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, *w.url.Load()+path, nil)
	if err != nil {
		return envoytest.Reply{}, err
	}
	r.Close = true
	reply := envoytest.Send(http.DefaultClient, r)
	return reply, reply.Err
}

// Clients that are silent, stop in the middle, or have closed their side, at the daemon's socket and at
// Envoy. The daemon ends its own by itself; in the short form they leave before.
func slowClients(t *testing.T) row {
	const each = 40
	w := begin(t, options(t))
	kinds := []struct {
		network, address, send string
		half                   bool // closes its side for writing
	}{
		{"unix", w.Socket, "", false},
		{"unix", w.Socket, http2.ClientPreface[:10], false},
		{"unix", w.Socket, callWithoutMessage(), false},
		{"unix", w.Socket, callWithoutMessage(), true},
		{"unix", w.HTTP, "POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", false},
		{"tcp", w.Address, "", false},
		{"tcp", w.Address, "GET /orders HTTP/1.1\r\nHost: x\r\nX-Slow: ", false},
		{"tcp", w.Address, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", true},
	}
	var held, own []net.Conn
	for _, k := range kinds {
		for range each {
			c, err := net.Dial(k.network, k.address)
			w.must(err)
			defer c.Close()
			_, err = io.WriteString(c, k.send)
			w.must(err)
			if k.half {
				w.must(c.(interface{ CloseWrite() error }).CloseWrite())
			}
			held = append(held, c)
			if k.network == "unix" {
				own = append(own, c)
			}
		}
	}
	w.untilAtLeast(3*each, "sidecard_connections", `listener="grpc"`)
	w.pause(2 * time.Second)
	if !testing.Short() {
		for _, c := range own {
			w.must(c.SetReadDeadline(time.Now().Add(patience)))
			if _, err := io.Copy(io.Discard, c); isTimeout(err) {
				t.Fatal("the daemon holds a connection that is of no use")
			}
		}
	}
	for _, c := range held {
		c.Close()
	}
	return w.finish()
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// callWithoutMessage is a handshake and the headers of a call whose message never comes.
func callWithoutMessage() string {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	frames, encode := http2.NewFramer(&out, nil), hpack.NewEncoder(&block)
	for _, f := range []hpack.HeaderField{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "sidecard"},
		{Name: ":path", Value: "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"},
		{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"},
	} {
		_ = encode.WriteField(f) // to memory, as what follows
	}
	_ = frames.WriteSettings()
	_ = frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true})
	return out.String()
}
