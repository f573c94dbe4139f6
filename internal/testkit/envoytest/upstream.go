package envoytest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// DelayHeader is the request header that makes the application wait before it answers, for so long (a
// duration as Go writes it).
const DelayHeader = "X-Delay"

// StatusHeader is the request header that makes the application answer with that status.
const StatusHeader = "X-Status"

// NoteHeader is the request header whose value the application notes down with the time, as an Arrival.
const NoteHeader = "X-Note"

// Arrival is a request with a note that reached the application.
type Arrival struct {
	Note string
	At   time.Time
}

// Upstream is the application behind Envoy: it answers 200 unless asked for something else, and counts.
type Upstream struct {
	listener net.Listener
	server   *http.Server
	served   atomic.Int64
	now      atomic.Int64 // requests that are being served
	most     atomic.Int64
	mu       sync.Mutex // guards arrivals
	arrivals []Arrival
	hold     atomic.Pointer[chan struct{}] // nil: requests are answered at once
	stop     sync.Once
	ended    chan error
	err      error // set by stop
}

// StartUpstream listens on a free port of 127.0.0.1.
func StartUpstream() (*Upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &Upstream{listener: l, ended: make(chan error, 1)}
	u.server = &http.Server{Handler: http.HandlerFunc(u.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { u.ended <- u.server.Serve(l) }()
	return u, nil
}

func (u *Upstream) serve(w http.ResponseWriter, r *http.Request) {
	u.served.Add(1)
	if note := r.Header.Get(NoteHeader); note != "" {
		u.mu.Lock()
		u.arrivals = append(u.arrivals, Arrival{note, time.Now()})
		u.mu.Unlock()
	}
	now := u.now.Add(1)
	defer u.now.Add(-1)
	for most := u.most.Load(); now > most && !u.most.CompareAndSwap(most, now); most = u.most.Load() {
	}
	if !u.wait(r) {
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client left
	}
	w.Header().Set("Content-Type", "text/plain")
	if status, err := strconv.Atoi(r.Header.Get(StatusHeader)); err == nil && status >= 200 && status < 600 {
		w.WriteHeader(status)
	}
	_, _ = io.WriteString(w, "ok\n") // an error means that the client left
}

// wait returns when a request may be answered; false: the client has left.
func (u *Upstream) wait(r *http.Request) bool {
	if held := u.hold.Load(); held != nil {
		select {
		case <-*held:
		case <-r.Context().Done():
			return false
		}
	}
	if delay, err := time.ParseDuration(r.Header.Get(DelayHeader)); err == nil {
		return Pause(r.Context(), delay) == nil
	}
	return true
}

// Hold keeps every request that comes from now on unanswered until release is called.
func (u *Upstream) Hold() (release func()) {
	held := make(chan struct{})
	u.hold.Store(&held)
	return sync.OnceFunc(func() {
		u.hold.CompareAndSwap(&held, nil)
		close(held)
	})
}

// Most is the largest number of requests that the application ever served at a time.
func (u *Upstream) Most() int64 { return u.most.Load() }

// Port is where it listens.
func (u *Upstream) Port() int { return u.listener.Addr().(*net.TCPAddr).Port }

// Served is the number of requests that reached the application.
func (u *Upstream) Served() int64 { return u.served.Load() }

// Arrivals returns the requests with a note that have arrived so far, in that order.
func (u *Upstream) Arrivals() []Arrival {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.arrivals)
}

// Stop ends it, open connections too. It may be called again, to no effect.
func (u *Upstream) Stop() error {
	u.stop.Do(func() {
		u.err = u.server.Close()
		if serve := <-u.ended; !errors.Is(serve, http.ErrServerClosed) {
			u.err = errors.Join(u.err, serve)
		}
	})
	return u.err
}

// FreePort returns a TCP port of 127.0.0.1 that was free a moment ago.
func FreePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
