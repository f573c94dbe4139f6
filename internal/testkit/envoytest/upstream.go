package envoytest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Upstream is the application behind Envoy: it answers 200 to everything and counts.
type Upstream struct {
	listener net.Listener
	server   *http.Server
	served   atomic.Int64
	ended    chan error
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
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client left
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, "ok\n") // an error means that the client left
}

// Port is where it listens.
func (u *Upstream) Port() int { return u.listener.Addr().(*net.TCPAddr).Port }

// Served is the number of requests that reached the application.
func (u *Upstream) Served() int64 { return u.served.Load() }

// Stop ends it, open connections too.
func (u *Upstream) Stop() error {
	err := u.server.Close()
	if serve := <-u.ended; !errors.Is(serve, http.ErrServerClosed) {
		err = errors.Join(err, serve)
	}
	return err
}

// FreePort returns a TCP port of 127.0.0.1 that was free a moment ago.
func FreePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
