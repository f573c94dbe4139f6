// Package admin lets an operator look into a running daemon: how it stands, the rules in force and what each of them
// does, what becomes of the requests for each resource, which parameter values are asked for most, and why a request
// would be limited. It is served on an address of its own, reads what others count, and changes nothing that a decision
// depends on.
package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/engine"
)

// Config says what a Server shows.
type Config struct {
	Engine *engine.Engine // required
	// Now is the time by which the engine lives, in Unix nanoseconds; required.
	Now func() int64
	// Daemon returns how the daemon stands; required. It is called for each request that shows some of it, by several
	// goroutines at a time.
	Daemon func() Daemon
	// Envoy foretells what becomes of a verdict that is explained; required.
	Envoy func(v *engine.Verdict) explain.Envoy
	// Hosts are the names, in lower case, that requests over TCP may have in their Host header beside localhost and
	// addresses. Any other name is refused, because that is how a web page of another origin would get in.
	Hosts []string
	// Pprof serves the profiles of the Go runtime below /debug/pprof/.
	Pprof bool
}

// Server answers the admin API. Make it with New. Its methods are safe for concurrent use.
type Server struct {
	cfg     Config
	history history
	recent  recent
	values  values
	page    *page
	slots   chan struct{} // one for each request that is being answered
}

// maxRequests is how many requests are answered at a time. What they read may be large, and decisions matter more.
const maxRequests = 8

// New returns a Server. Until Run is called it knows no history and no top values.
func New(cfg Config) *Server {
	s := &Server{cfg: cfg, slots: make(chan struct{}, maxRequests), page: newPage()}
	s.values.init(cfg.Engine)
	return s
}

// How often what is shown is gathered.
const (
	gatherHistory = 20 * time.Second // well within the minute that resources remember
	gatherRecent  = recentSpan
	gatherValues  = 200 * time.Millisecond // while somebody looks
)

// Run gathers what is shown over time until ctx is done. Call it once.
func (s *Server) Run(ctx context.Context) {
	slow := time.NewTicker(gatherHistory)
	defer slow.Stop()
	steady := time.NewTicker(gatherRecent)
	defer steady.Stop()
	quick := time.NewTicker(gatherValues)
	defer quick.Stop()
	defer s.values.stop()
	quick.Stop()
	running := false
	s.recent.gather(s.cfg.Now(), s.cfg.Engine.Rules())
	for {
		select {
		case <-ctx.Done():
			return
		case <-slow.C:
			s.history.gather(s.cfg.Engine, s.cfg.Now())
		case <-steady.C:
			s.recent.gather(s.cfg.Now(), s.cfg.Engine.Rules())
		case <-s.values.wanted:
			if !running {
				running = true
				quick.Reset(gatherValues)
			}
		case <-quick.C:
			if running = s.values.gather(s.cfg.Now()); !running {
				quick.Stop()
			}
		}
	}
}

// Handler serves the page at /, the API below /api/v1 and, if Config.Pprof says so, the profiles.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, e := range endpoints {
		mux.Handle(e.path, s.endpoint(e))
	}
	s.pages(mux)
	s.profiles(mux)
	mux.HandleFunc("/", unknown)
	return s.guard(mux)
}
