//go:build e2e

package e2e

import (
	"strings"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What the daemon grants to one connection.
const (
	streams    = 4096
	headerList = 2 << 20
)

// A client that asks for more than its share gets an error on its own connection, and nobody else
// notices.
func TestClientsThatAskTooMuch(t *testing.T) {
	t.Parallel()
	d := alone(t, 0, rules(t, rulesFile, closedOrders))
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	conn := d.connect()
	for name, ask := range map[string]func(t *testing.T, c *rawConn){
		"more calls than the bound": func(t *testing.T, c *rawConn) {
			for n := range uint32(streams + 1) {
				if err := c.call(2*n + 1); err != nil {
					t.Fatal(err)
				}
			}
			f := c.until(t, http2.FrameRSTStream).(*http2.RSTStreamFrame)
			if f.StreamID != 2*streams+1 || f.ErrCode != http2.ErrCodeRefusedStream {
				t.Errorf("got %v, want call %d refused", f, streams+1)
			}
		},
		"headers without end": func(t *testing.T, c *rawConn) {
			large := hpack.HeaderField{Name: "x", Value: strings.Repeat("v", 1<<20), Sensitive: true}
			rest := c.block(large, large, large, large, large, large, large, large)
			for first := true; len(rest) > 0; first = false {
				n := min(len(rest), 16<<10)
				var err error
				if first {
					err = c.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: rest[:n], EndHeaders: n == len(rest)})
				} else {
					err = c.frames.WriteContinuation(1, n == len(rest), rest[:n])
				}
				if err != nil {
					break // it has had enough
				}
				rest = rest[n:]
			}
			c.refused(t)
		},
		"a message that is too long": func(t *testing.T, c *rawConn) {
			if err := c.call(1); err != nil {
				t.Fatal(err)
			}
			if err := c.frames.WriteData(1, false, []byte{0, 0, 0x40, 0, 1}); err != nil { // 4 MiB and a byte
				t.Fatal(err)
			}
			f := c.until(t, http2.FrameHeaders).(*http2.HeadersFrame)
			fields, err := hpack.NewDecoder(4096, nil).DecodeFull(f.HeaderBlockFragment())
			if err != nil {
				t.Fatal(err)
			}
			for _, field := range fields {
				if field.Name == "grpc-status" && field.Value == "8" {
					return
				}
			}
			t.Errorf("got %v, want RESOURCE_EXHAUSTED", fields)
		},
		"pings without end": func(t *testing.T, c *rawConn) {
			for range 100 {
				if c.frames.WritePing(false, [8]byte{}) != nil {
					break
				}
			}
			f := c.until(t, http2.FrameGoAway).(*http2.GoAwayFrame)
			if f.ErrCode != http2.ErrCodeEnhanceYourCalm {
				t.Errorf("got %v, want ENHANCE_YOUR_CALM", f)
			}
		},
		"calls that it takes back": func(t *testing.T, c *rawConn) {
			go func() {
				for n := range uint32(20_000) {
					if c.call(2*n+1) != nil || c.frames.WriteRSTStream(2*n+1, http2.ErrCodeCancel) != nil {
						return
					}
				}
				_ = c.frames.WritePing(false, [8]byte{}) // if it fails, so does what waits for the answer
			}()
			if f := c.until(t, http2.FramePing).(*http2.PingFrame); !f.IsAck() {
				t.Errorf("got %v, want the answer to a ping after 20 000 calls", f)
			}
		},
		"something else than HTTP/2": func(t *testing.T, c *rawConn) {
			c.send([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
			if err := ended(c); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, settings := d.greeted()
			for id, want := range map[http2.SettingID]uint32{http2.SettingMaxConcurrentStreams: streams, http2.SettingMaxHeaderListSize: headerList} {
				if got, ok := settings.Value(id); !ok || got != want {
					t.Errorf("%v: got %d, want %d", id, got, want)
				}
			}
			ask(t, c)
			d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
			c.Close()
		})
	}
	d.untilMetric(1, "sidecard_connections", `listener="grpc"`)
	t.Logf("resident afterwards: %.0f MiB", d.metric("process_resident_memory_bytes")/(1<<20))
}

// until reads until a frame of that kind comes.
func (c *rawConn) until(t *testing.T, kind http2.FrameType) http2.Frame {
	t.Helper()
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			t.Fatalf("waiting for %v: %v", kind, err)
		}
		if f.Header().Type == kind {
			return f
		}
	}
}

// refused reads until the daemon refuses: a call, or all of the connection.
func (c *rawConn) refused(t *testing.T) {
	t.Helper()
	for {
		f, err := c.frames.ReadFrame()
		if err != nil {
			return
		}
		switch f.Header().Type {
		case http2.FrameRSTStream, http2.FrameGoAway:
			t.Logf("refused by %v", f)
			return
		case http2.FrameHeaders:
			t.Fatalf("got %v, want no answer", f)
		}
	}
}
