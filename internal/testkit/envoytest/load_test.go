package envoytest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

func TestLoadRepliesInOrderOfSending(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		n, err := strconv.Atoi(r.URL.Query().Get("n"))
		if err != nil {
			t.Error(err)
		}
		if n%2 == 1 {
			w.Header().Set("X-Ratelimit-Limit", `1, 1;w=1;name="odd"`)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer server.Close()
	load := Load{Every: 200 * time.Microsecond, Total: 200, Request: func(n int) *http.Request {
		return get(t, server.URL+"?n="+strconv.Itoa(n))
	}}
	client := NewClient("127.0.0.3")
	defer client.CloseIdleConnections()
	replies := load.Run(t.Context(), client)
	if len(replies) != 200 || seen.Load() != 200 {
		t.Fatalf("got %d replies to %d requests, want 200", len(replies), seen.Load())
	}
	for n, r := range replies {
		if r.Err != nil || r.Limited() != (n%2 == 1) || r.Limited() != (r.Rule == "odd") {
			t.Fatalf("reply %d: %+v", n, r)
		}
	}
}

func TestLoadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	load := Load{Every: time.Millisecond, Total: 1 << 20, Request: func(n int) *http.Request {
		if n == 3 {
			cancel()
		}
		return get(t, "http://127.0.0.1:1")
	}}
	client := NewClient("")
	defer client.CloseIdleConnections()
	if got := len(load.Run(ctx, client)); got < 4 || got > 1000 {
		t.Errorf("sent %d", got)
	}
}

func get(t *testing.T, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoadThatIsEndedAnswersWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	upstream, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := upstream.Stop(); err != nil {
			t.Error(err)
		}
	})
	release := upstream.Hold()
	until := make(chan struct{})
	load := Load{Total: 1 << 20, Until: until, Request: func(n int) *http.Request {
		if n == 7 {
			close(until)
			release()
		}
		r := get(t, "http://127.0.0.1:"+strconv.Itoa(upstream.Port()))
		r.Header.Set(NoteHeader, strconv.Itoa(n))
		return r
	}}
	client := NewClient("")
	defer client.CloseIdleConnections()
	replies := load.Run(t.Context(), client)
	if got := Count(replies); got.Passed != got.Sent || got.Sent < 8 || got.Sent == load.Total {
		t.Errorf("got %+v, want all that were sent to pass", got)
	}
	arrived := make(map[string]bool)
	for _, a := range upstream.Arrivals() {
		arrived[a.Note] = true
	}
	if len(arrived) != len(replies) || !arrived["0"] {
		t.Errorf("%d arrivals are noted of %d requests", len(arrived), len(replies))
	}
}
