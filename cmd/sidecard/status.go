package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

// statusServer answers probes and scrapes. Its handlers read what others count and decide nothing.
type statusServer struct {
	metrics  http.Handler
	engine   *engine.Engine
	rules    *ruleswatch.Watcher
	log      zerolog.Logger
	draining atomic.Bool
}

// server returns an HTTP server that no slow or silent client can hold resources of for long.
func (s *statusServer) server() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.readyz)
	return &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          newServerLog(s.log, "status server"),
	}
}

// readyz says whether decisions are made by rules: from the first good rule set on, until the
// daemon is told to stop. A later bad rule file changes nothing here, because taking pods out of
// service for it would turn a typing error into an outage; ?verbose and the metrics show it.
func (s *statusServer) readyz(w http.ResponseWriter, r *http.Request) {
	code, line := http.StatusOK, "ready"
	switch {
	case s.draining.Load():
		code, line = http.StatusServiceUnavailable, "not ready: stopping"
	case !s.engine.Ready():
		code, line = http.StatusServiceUnavailable, "not ready: no good rule set has been loaded yet"
	}
	var b strings.Builder
	fmt.Fprintln(&b, line)
	if r.URL.Query().Has("verbose") {
		describeRules(&b, s.rules.Status(), len(s.engine.Rules()))
	}
	text(w, code, b.String())
}

func text(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	io.WriteString(w, body) // the client may be gone; there is nobody else to tell
}
