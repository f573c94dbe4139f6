package admin

import (
	"net/http"
	"net/http/pprof"
)

// profiles serves the profiles of the Go runtime, if they are asked for. The package of the standard library also
// registers them with the server that nobody here uses.
func (s *Server) profiles(mux *http.ServeMux) {
	if !s.cfg.Pprof {
		mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, _ *http.Request) {
			fail(w, http.StatusNotFound, "profiles are served with --pprof only")
		})
		return
	}
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}
