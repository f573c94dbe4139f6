package ratelimitsvc

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/status"
)

// Two a second, so that a request costs half a second; those that would wait 5 s are refused.
const queueRules = `[
	{"resource": "queue", "id": "queue", "count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000},
	{"resource": "other", "id": "other", "count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000},
	{"resource": "users", "id": "users", "count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000,
	 "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
	{"resource": "window", "id": "window", "count": 2, "intervalSec": 60}
]`

// visit is one call and what came of it.
type visit struct {
	start, end time.Duration // since the beginning of the bubble
	answer     string        // brief, or the code of the error
	body       string
}

// visits makes calls in a bubble and notes when they end.
type visits struct {
	t     testing.TB
	w     *world
	began time.Time
	all   sync.WaitGroup
}

func newVisits(t testing.TB, most int) *visits {
	return &visits{t: t, w: newBubble(t, queueRules, most), began: time.Now()}
}

// start makes a call in a goroutine of its own and returns when it has ended or waits. What it
// returns must be read after done.
func (v *visits) start(ctx context.Context, m *rls.RateLimitRequest) *visit {
	out := &visit{start: time.Since(v.began)}
	wire := marshal(v.t, m)
	v.all.Go(func() {
		b, err := v.w.wire(ctx, wire)
		out.end = time.Since(v.began)
		if err != nil {
			out.answer = status.Code(err).String()
			return
		}
		m := decodeResponse(v.t, b)
		out.answer, out.body = brief(m), string(m.GetRawBody())
	})
	synctest.Wait()
	return out
}

// done waits for the end of all calls.
func (v *visits) done() { v.all.Wait() }

func (v *visits) waiting() int64 { return v.w.counters.Waiting.Load() }

func (o *visit) String() string { return fmt.Sprintf("%v-%v %s", o.start, o.end, o.answer) }

func TestWaits(t *testing.T) {
	t.Parallel()
	queue := describe(pairs("route", "queue"))
	window := describe(pairs("route", "window"))
	bob, eve := describe(pairs("route", "users", "header.x-user-id", "bob")), describe(pairs("route", "users", "header.x-user-id", "eve"))
	type step struct {
		after time.Duration // since the step before
		for_  time.Duration // the deadline; 0: none
		gone  time.Duration // when the caller gives up; 0: never
		ask   *rls.RateLimitRequest
		want  string
	}
	for name, c := range map[string]struct {
		most  int // calls that may wait; 0: the default
		steps []step
	}{
		"each at its time": {steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{ask: queue, want: "0s-500ms OK: OK 2/2 1s"},
			{ask: queue, want: "0s-1s OK: OK 2/2 1s"},
			{after: 700 * time.Millisecond, ask: queue, want: "700ms-1.5s OK: OK 2/2 1s"},
		}},
		"those that would wait the whole time are refused at once": {steps: []step{
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-0s OK: OK 2/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-1s OK: OK 2/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-2s OK: OK 2/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-3s OK: OK 2/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-4s OK: OK 1/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 2, false)), want: "0s-0s OVER_LIMIT: OVER_LIMIT 0/2 1s"},
			{ask: queue, want: "0s-4.5s OK: OK 0/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 3, false)), want: "0s-0s OVER_LIMIT: OVER_LIMIT 0/2"},
		}},
		"the deadline is compared before a place is taken": {steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{for_: 505*time.Millisecond - 1, ask: queue, want: "0s-0s OVER_LIMIT: OVER_LIMIT 0/2 1s"},
			{for_: time.Millisecond, ask: queue, want: "0s-0s OVER_LIMIT: OVER_LIMIT 0/2 1s"},
			{for_: 505 * time.Millisecond, ask: queue, want: "0s-500ms OK: OK 0/2 1s"},
			{for_: 10 * time.Second, ask: queue, want: "0s-1s OK: OK 2/2 1s"},
		}},
		"those who leave give back the newest place, and no other": {steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{gone: 100 * time.Millisecond, ask: queue, want: "0s-100ms Canceled"},
			{after: 200 * time.Millisecond, gone: 100 * time.Millisecond, ask: queue, want: "200ms-300ms Canceled"},
			{ask: queue, want: "200ms-1s OK: OK 2/2 1s"},
		}},
		"a peek never waits": {steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{ask: describe(withHits(pairs("route", "queue"), 0, false)), want: "0s-0s OK: OK 2/2 1s"},
			{ask: queue, want: "0s-500ms OK: OK 2/2 1s"},
		}},
		"a queue for each value": {steps: []step{
			{ask: bob, want: "0s-0s OK: OK 2/2 1s"},
			{ask: bob, want: "0s-500ms OK: OK 2/2 1s"},
			{gone: 100 * time.Millisecond, ask: bob, want: "0s-100ms Canceled"},
			{ask: eve, want: "0s-0s OK: OK 2/2 1s"},
			{ask: eve, want: "0s-500ms OK: OK 2/2 1s"},
			{after: 200 * time.Millisecond, ask: bob, want: "200ms-1s OK: OK 2/2 1s"},
		}},
		"the longest wait of all rules": {steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{ask: queue, want: "0s-500ms OK: OK 2/2 1s"},
			{ask: describe(pairs("route", "queue"), pairs("route", "other"), pairs()), want: "0s-1s OK: OK 2/2 1s, OK 2/2, OK"},
		}},
		"no more than may": {most: 2, steps: []step{
			{ask: queue, want: "0s-0s OK: OK 2/2 1s"},
			{ask: queue, want: "0s-500ms OK: OK 2/2 1s"},
			{ask: queue, want: "0s-1s OK: OK 2/2 1s"},
			{ask: queue, want: "0s-0s OVER_LIMIT: OVER_LIMIT 0/2 2s"},
			{ask: window, want: "0s-0s OK: OK 1/2 1m0s"},
			{after: 600 * time.Millisecond, ask: queue, want: "600ms-1.5s OK: OK 2/2 1s"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := newVisits(t, c.most)
				var got []*visit
				for _, s := range c.steps {
					time.Sleep(s.after)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if s.for_ > 0 {
						ctx, cancel = context.WithTimeout(ctx, s.for_)
						defer cancel()
					}
					if s.gone > 0 {
						defer time.AfterFunc(s.gone, cancel).Stop()
					}
					got = append(got, v.start(ctx, s.ask))
				}
				v.done()
				var waits uint64
				var waited time.Duration
				for i, s := range c.steps {
					if got[i].String() != s.want {
						t.Errorf("call %d: got %q, want %q", i, got[i], s.want)
					}
					if d := got[i].end - got[i].start; d > 0 {
						waits, waited = waits+1, waited+d
					}
				}
				if h := v.w.counters.Waits.Read(); h.Count != waits || h.Sum != waited {
					t.Errorf("%d waits of together %v were counted, want %d of %v", h.Count, h.Sum, waits, waited)
				}
				if n := v.waiting(); n != 0 {
					t.Errorf("%d wait when all have ended", n)
				}
			})
		})
	}
}

// While a call waits, its receive buffer is back and nothing of the request is kept. Whether it is
// then answered, given up or refused, all that it charged is accounted for.
func TestWaitKeepsNothing(t *testing.T) {
	t.Parallel()
	both := describe(pairs("route", "window", "path", "/a/../b?x=%41"), pairs("route", "queue"), pairs("who", "knows"))
	for name, c := range map[string]struct {
		gone, drain time.Duration
		want        string
		left        string // of the window afterwards
	}{
		"answered":         {want: "0s-500ms OK: OK 0/2 59s, OK 2/2 1s, OK", left: "OVER_LIMIT: OVER_LIMIT 0/2 59s"},
		"given up":         {gone: 100 * time.Millisecond, want: "0s-100ms Canceled", left: "OK: OK 1/2 59s"},
		"refused at drain": {drain: 200 * time.Millisecond, want: "0s-200ms OVER_LIMIT: OK 0/2 59s, OVER_LIMIT 0/2 1s, OK", left: "OK: OK 1/2 59s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := newVisits(t, 0)
				time.Sleep(950 * time.Millisecond) // 59.05 s before the window forgets
				v.began = time.Now()
				v.start(t.Context(), describe(withHits(pairs("route", "window"), 1, false)))
				v.start(t.Context(), describe(pairs("route", "queue")))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var pool countingPool
				receive := pool.receive(marshal(t, both))
				got := ""
				v.all.Go(func() {
					reply, err := handle(v.w.svc, ctx, receive, nil)
					got = fmt.Sprintf("0s-%v ", time.Since(v.began))
					if err != nil {
						got += status.Code(err).String()
						return
					}
					got += brief(decodeResponse(t, *reply.(*response)))
				})
				synctest.Wait()
				if v.waiting() != 1 || pool.out.Load() != 0 {
					t.Errorf("%d wait, %d buffers are out", v.waiting(), pool.out.Load())
				}
				if c.gone > 0 {
					time.AfterFunc(c.gone, cancel)
				}
				if c.drain > 0 {
					v.w.room.Drain(c.drain)
				}
				v.done()
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if left := v.start(t.Context(), describe(withHits(pairs("route", "window"), 0, false))).answer; left != c.left {
					t.Errorf("of the window are left %q, want %q", left, c.left)
				}
				if n := v.waiting(); n != 0 {
					t.Errorf("%d wait when all have ended", n)
				}
			})
		})
	}
}

// A place that cannot be given back is counted.
func TestWaitUnusedPlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisits(t, 0)
		queue := describe(pairs("route", "queue"))
		ctx, cancel := context.WithCancel(t.Context())
		v.start(ctx, queue)
		v.start(ctx, queue)
		last := v.start(t.Context(), queue)
		cancel()
		v.done()
		if n := v.w.engine.Rules()[0].Rule.UnusedPlaces.Load(); n != 1 || v.w.counters.Cancelled.Load() != 1 {
			t.Errorf("got %d unused places, %d cancelled, want 1 and 1", n, v.w.counters.Cancelled.Load())
		}
		if last.String() != "0s-1s OK: OK 2/2 1s" {
			t.Errorf("the one behind: got %q", last)
		}
	})
}

// Those who find that as many wait as may are refused before they take a place in the queue.
func TestWaitFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisits(t, 1)
		for range 3 {
			v.start(t.Context(), describe(pairs("route", "queue")))
		}
		v.done()
		if n := strings.Count(v.w.log.String(), `"waiting":1,`); n != 1 {
			t.Errorf("got %d lines: %s", n, v.w.log.String())
		}
		r := v.w.engine.Rules()[0].Rule
		if r.Passed.Load() != 2 || r.Waited.Load() != 1 || r.Blocked.Load() != 1 || v.w.counters.WaitingRefused.Load() != 1 {
			t.Errorf("got %d passed, %d of them late, %d blocked, %d refused", r.Passed.Load(), r.Waited.Load(), r.Blocked.Load(), v.w.counters.WaitingRefused.Load())
		}
	})
}

// meanwhile is a context of whose deadline nobody can ask without something happening.
type meanwhile struct {
	context.Context
	happens func()
}

func (c meanwhile) Deadline() (time.Time, bool) {
	c.happens()
	return c.Context.Deadline()
}

// Those who had room to wait when they began and have none when they are to wait give their place
// back, and are refused.
func TestWaitFullMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVisits(t, 1)
		queue := describe(pairs("route", "queue"))
		v.start(t.Context(), queue)
		waiting := &v.w.counters.Waiting
		late := v.start(meanwhile{t.Context(), func() { waiting.Add(1) }}, queue)
		waiting.Add(-1)
		next := v.start(t.Context(), queue)
		v.done()
		if late.String() != "0s-0s OVER_LIMIT: OVER_LIMIT 0/2 1s" || next.String() != "0s-500ms OK: OK 2/2 1s" {
			t.Errorf("got %q, then %q", late, next)
		}
		if n := v.w.counters.WaitingRefused.Load(); n != 1 || v.waiting() != 0 {
			t.Errorf("%d are counted as refused, %d wait at the end", n, v.waiting())
		}
	})
}

// However many come at a time, no more than may do wait; the others are refused, counted, and
// take no place.
func TestWaitBound(t *testing.T) {
	t.Parallel()
	const most, callers = 3, 40
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			v := newVisits(t, most)
			wire := marshal(t, describe(pairs("route", "queue")))
			answers := make(chan string, callers)
			for range callers {
				v.all.Go(func() {
					b, err := v.w.wire(t.Context(), wire)
					if err != nil {
						answers <- err.Error()
						return
					}
					answers <- decodeResponse(t, b).GetOverallCode().String()
				})
			}
			synctest.Wait()
			if n := v.waiting(); n > most {
				t.Errorf("%d wait, want at most %d", n, most)
			}
			v.done()
			count := map[string]int64{}
			for range callers {
				count[<-answers]++
			}
			if len(count) != 2 || count["OK"] > most+1 || count["OVER_LIMIT"] != v.w.counters.WaitingRefused.Load() {
				t.Errorf("got %v, %d counted", count, v.w.counters.WaitingRefused.Load())
			}
			if n := v.waiting(); n != 0 {
				t.Errorf("%d wait when all have ended", n)
			}
		})
	}
}
