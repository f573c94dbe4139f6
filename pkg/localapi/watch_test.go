package localapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

// flushed is a recorder that can be flushed.
type flushed struct{ recorder }

func (*flushed) Flush() {}

// events starts a watcher over HTTP and returns what it will have got when it ends.
func (w *world) events(ctx context.Context, target string) (got func() answer) {
	rec := &flushed{recorder{answer: answer{header: make(http.Header)}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
		w.handler.ServeHTTP(rec, req)
	}()
	synctest.Wait()
	return func() answer {
		<-done
		rec.body = rec.text.String()
		return rec.answer
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t) // at midnight, 2000-01-01
		all, one := w.events(t.Context(), "/v1/watch"), w.events(t.Context(), "/v1/watch?resource=at-once")
		time.Sleep(300 * time.Millisecond)
		for range 4 {
			w.post(t, "/v1/decide", `{"resource": "orders"}`)
		}
		w.post(t, "/v1/decide", `{"attributes": {"path": "/admin/"}}`)
		time.Sleep(time.Second)
		first := w.post(t, "/v1/acquire", `{"resource": "at-once"}`).body
		w.post(t, "/v1/acquire", `{"resource": "at-once"}`)
		time.Sleep(20 * time.Millisecond)
		_, rest, _ := strings.Cut(first, `"token":"`)
		w.post(t, "/v1/complete", `{"token": "`+rest[:32]+`", "error": true}`)
		time.Sleep(time.Second)
		w.room.Drain(0)
		const events = `data: {"second":946684800,"resources":[{"resource":"orders","pass":3,"block":1},{"resource":"admin","apiGroup":true,"pass":1,"block":0}]}

data: {"second":946684801,"resources":[{"resource":"at-once","pass":2,"block":0,"success":1,"exception":1,"avgRtMs":20,"minRtMs":20,"inFlight":1}]}

`
		got := all()
		if got.body != events || got.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("got %s\nwant %s", got.body, events)
		}
		const ofOne = `data: {"second":946684800,"resources":[]}

data: {"second":946684801,"resources":[{"resource":"at-once","pass":2,"block":0,"success":1,"exception":1,"avgRtMs":20,"minRtMs":20,"inFlight":1}]}

`
		if got := one().body; got != ofOne {
			t.Errorf("got %s\nwant %s", got, ofOne)
		}
	})
}

// A bounded number watches, whichever way, and whoever leaves makes room for another.
func TestWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		ctx, leave := context.WithCancel(t.Context())
		var all []func() answer
		for range maxWatchers {
			all = append(all, w.events(ctx, "/v1/watch"))
		}
		const full = `503 {"error":"as many as 16 watch already"}`
		if got := w.events(t.Context(), "/v1/watch")().String(); strings.TrimSpace(got) != full {
			t.Errorf("got %s", got)
		}
		if err := w.svc.watch(t.Context(), "", nil); !errors.Is(err, errWatched) {
			t.Errorf("got %v", err)
		}
		leave()
		for _, got := range all {
			if a := got(); strings.TrimSpace(a.String()) != gaveUp {
				t.Errorf("got %v", a)
			}
		}
		gone := errors.New("gone")
		if err := w.svc.watch(t.Context(), "", func(*sidecardv1.Statistics) error { return gone }); !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
		if n := w.svc.watchers.Load(); n != 0 {
			t.Errorf("%d watch when all have left", n)
		}
	})
}

// A slow reader is told of fewer seconds, each of them whole.
func TestSlowWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		var seconds []int64
		enough := errors.New("enough")
		err := w.svc.watch(t.Context(), "", func(s *sidecardv1.Statistics) error {
			seconds = append(seconds, s.Second-946684800)
			time.Sleep(2500 * time.Millisecond)
			if len(seconds) == 3 {
				return enough
			}
			return nil
		})
		if !errors.Is(err, enough) || len(seconds) != 3 || seconds[0] != 0 || seconds[1] != 3 || seconds[2] != 6 {
			t.Errorf("got %v, %v", seconds, err)
		}
	})
}

func TestWatchMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.send(t.Context(), http.MethodGet, "/v1/watch?domain=x", "").String(); got != `400 {"error":"unknown URL parameter \"domain\"; there is resource"}` {
		t.Errorf("got %s", got)
	}
	if got := w.post(t, "/v1/watch", ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET" {
		t.Errorf("got %v", got)
	}
}

func TestGRPCWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.dial(t)
	w.now.Add(int64(time.Second) - int64(time.Millisecond))
	w.post(t, "/v1/decide", `{"resource": "orders"}`)
	w.now.Add(int64(time.Second)) // a millisecond before the next is over
	stream, err := client.Watch(t.Context(), &sidecardv1.WatchRequest{Resource: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := stream.Recv()
	if err != nil || len(s.Resources) != 1 || s.Resources[0].Pass != 1 || s.Resources[0].Success != nil {
		t.Errorf("got %v, %v", s, err)
	}
	w.room.Drain(0)
	for err == nil {
		_, err = stream.Recv()
	}
	if err.Error() != "EOF" {
		t.Errorf("got %v", err)
	}
}
