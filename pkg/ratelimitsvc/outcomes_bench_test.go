package ratelimitsvc

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sidecard/sidecard/pkg/engine"
)

// costRules never refuse. What the first two decide costs the same but for the token.
const costRules = `[
	{"resource": "rate", "id": "rate", "count": 1000000000},
	{"resource": "calls", "id": "calls", "grade": 0, "count": 1000000000}
]`

// asks are the entries that envoy.yaml sends for a request to a route.
func asks(route string) *common.RateLimitDescriptor {
	return pairs("route", route, "path", "/orders/7?sku=12", "method", "GET", "host", "shop", "remote_address", "10.1.2.3")
}

// BenchmarkReports tells what it costs that the end of a request is reported by a call of its own: the
// processor time of a call and its report, as a multiple of that of a call without. Both are measured in
// turn, a little at a time, so that a machine that becomes slower meanwhile is slower for both.
func BenchmarkReports(b *testing.B) {
	b.Run("without gRPC", func(b *testing.B) {
		w := newWorld(b, nil)
		w.apply(b, costRules)
		ctx, text := context.Background(), make([]byte, 0, engine.TokenText)
		rate, calls := marshal(b, describe(asks("rate"))), marshal(b, describe(asks("calls")))
		ended := marshal(b, describe(report(strings.Repeat("?", engine.TokenText), "200", "-")))
		at := strings.Index(string(ended), "?")
		var c call
		var out response
		decide := func(wire []byte) {
			if err := w.decide(ctx, &c, wire, &out); err != nil {
				b.Fatal(err)
			}
		}
		compare(b, 256, func() { decide(rate) }, func() {
			decide(calls)
			text = c.engine.Token.AppendText(text[:0])
			copy(ended[at:], text)
			decide(ended)
		})
		wantAllReported(b, w)
	})
	b.Run("over a socket", func(b *testing.B) {
		w := newWorld(b, nil)
		w.apply(b, costRules)
		client := w.dial(b)
		ask := func(d *common.RateLimitDescriptor) string {
			reply, err := client.ShouldRateLimit(context.Background(), describe(d))
			if err != nil {
				b.Error(err)
			}
			return token(reply)
		}
		crowd := func(each func()) func() {
			return func() {
				var callers sync.WaitGroup
				for range 16 {
					callers.Go(func() {
						for range 16 {
							each()
						}
					})
				}
				callers.Wait()
			}
		}
		compare(b, 1, crowd(func() { ask(asks("rate")) }), crowd(func() { ask(report(ask(asks("calls")), "200", "-")) }))
		wantAllReported(b, w)
	})
}

// compare runs both so many times in turn, and reports the processor time of the second as a multiple of
// that of the first.
func compare(b *testing.B, times int, alone, reported func()) {
	b.Helper()
	var spent [2]int64
	for b.Loop() {
		for i, f := range []func(){alone, reported} {
			before := processorTime(b)
			for range times {
				f()
			}
			spent[i] += processorTime(b) - before
		}
	}
	b.ReportMetric(float64(spent[1])/float64(max(spent[0], 1)), "x-alone")
}

// processorTime returns how long this process has run, in microseconds.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return (used.Utime.Sec+used.Stime.Sec)*1e6 + used.Utime.Usec + used.Stime.Usec
}

func wantAllReported(b *testing.B, w *world) {
	b.Helper()
	if st := w.engine.Tokens(); st.Live > 0 || st.Foreign.Load() > 0 || st.Completed.Load() == 0 {
		b.Errorf("%d calls are under way, %d ended, %d reports ended nothing", st.Live, st.Completed.Load(), st.Foreign.Load())
	}
}

// dial serves w on a Unix socket and returns a client of it.
func (w *world) dial(b *testing.B) rls.RateLimitServiceClient {
	b.Helper()
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	server, _ := w.server()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		conn.Close()
		server.Stop()
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return rls.NewRateLimitServiceClient(conn)
}
