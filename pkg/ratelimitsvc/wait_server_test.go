package ratelimitsvc

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"pgregory.net/rapid"
)

// A real server, told to end while calls wait: every one is answered.
func TestServerDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, queueRules, 0)
		l := bufconn.Listen(1 << 16)
		server, _ := w.server()
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		conn, err := grpc.NewClient("passthrough:///bufconn", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		client := rls.NewRateLimitServiceClient(conn)
		began := time.Now()
		answers := make(chan string, 8)
		ask := func(ctx context.Context) {
			m, err := client.ShouldRateLimit(ctx, describe(pairs("route", "queue")))
			answers <- fmt.Sprintf("%v %v %v", time.Since(began), m.GetOverallCode(), status.Code(err))
		}
		for range 6 {
			go ask(t.Context())
			synctest.Wait()
		}
		deadline, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go ask(deadline)
		leaving, leave := context.WithCancel(t.Context())
		go ask(leaving)
		synctest.Wait()
		leave()
		synctest.Wait()
		w.room.Drain(1200 * time.Millisecond)
		server.GracefulStop()
		if n := w.counters.Waiting.Load(); n != 0 {
			t.Errorf("%d wait when the server has ended", n)
		}
		var got []string
		for range cap(answers) {
			got = append(got, <-answers)
		}
		slices.Sort(got)
		want := []string{"0s OK OK", "0s OVER_LIMIT OK", "0s UNKNOWN Canceled", "1.2s OVER_LIMIT OK", "1.2s OVER_LIMIT OK", "1.2s OVER_LIMIT OK", "1s OK OK", "500ms OK OK"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		conn.Close()
	})
}

// Callers that come, leave and run out of time as they like, and a drain at any moment: what passes
// is spaced, nothing fails but what its caller gave up, nothing outlives the drain, and all that was
// borrowed goes back.
func TestWaitProperties(t *testing.T) {
	t.Parallel()
	type caller struct{ at, deadline, gone time.Duration }
	type end struct {
		at   time.Duration
		code string
	}
	rapid.Check(t, func(rt *rapid.T) {
		ms := func(most int, name string) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Millisecond
		}
		callers := make([]caller, rapid.IntRange(1, 25).Draw(rt, "callers"))
		for i := range callers {
			callers[i] = caller{at: ms(3000, "at"), deadline: ms(4000, "deadline"), gone: ms(4000, "gone")}
		}
		most := rapid.IntRange(1, 12).Draw(rt, "most")
		drainAt, limit := ms(6000, "drain"), ms(3000, "limit")
		var ends []end
		var problem string
		synctest.Test(t, func(t *testing.T) {
			v := newVisits(t, most)
			var pool countingPool
			receive := pool.receive(marshal(t, describe(pairs("route", "queue"))))
			results := make(chan end, len(callers))
			for _, c := range callers {
				v.all.Go(func() {
					time.Sleep(c.at)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if c.deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, c.deadline)
						defer cancel()
					}
					if c.gone > 0 {
						defer time.AfterFunc(c.gone, cancel).Stop()
					}
					reply, err := handle(v.w.svc, ctx, receive, nil)
					e := end{time.Since(v.began), status.Code(err).String()}
					if err == nil {
						e.code = decodeResponse(t, *reply.(*response)).GetOverallCode().String()
					} else if ctx.Err() == nil {
						e.code += " although nobody left"
					}
					results <- e
				})
			}
			time.AfterFunc(drainAt, func() { v.w.room.Drain(limit) })
			v.done()
			close(results)
			for e := range results {
				ends = append(ends, e)
			}
			if v.waiting() != 0 || pool.out.Load() != 0 {
				problem = fmt.Sprintf("at the end %d wait, %d buffers are out", v.waiting(), pool.out.Load())
			}
			time.Sleep(drainAt) // so that the timer of Drain is gone
		})
		if problem != "" {
			rt.Fatal(problem)
		}
		slices.SortFunc(ends, func(a, b end) int { return int(a.at - b.at) })
		last := time.Duration(-time.Hour)
		for _, e := range ends {
			switch e.code {
			case "OK":
				if e.at-last < 500*time.Millisecond {
					rt.Fatalf("one passed at %v and one at %v: %v", last, e.at, ends)
				}
				last = e.at
			case "OVER_LIMIT", codes.Canceled.String(), codes.DeadlineExceeded.String():
			default:
				rt.Fatalf("got %q: %v", e.code, ends)
			}
			if e.at > max(drainAt+limit, 3*time.Second) {
				rt.Fatalf("an answer at %v, drained from %v for %v: %v", e.at, drainAt, limit, ends)
			}
		}
	})
}
