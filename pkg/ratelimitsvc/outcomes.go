package ratelimitsvc

import (
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/sidecard/sidecard/pkg/engine"
)

// OutcomeEntry is what Envoy's configuration needs for the ends of requests to be reported: an element
// of rate_limits, after the one that asks. Envoy sends it for the requests that were given a token.
const OutcomeEntry = `- apply_on_stream_done: true
  actions:
  - metadata: {descriptor_key: sidecard.token, metadata_key: {key: envoy.filters.http.ratelimit, path: [{key: token}]}}
  - remote_address_match:
      descriptor_key: sidecard.code
      descriptor_value: "%RESPONSE_CODE%"
      default_value: "0"
      address_matcher: {ranges: [{address_prefix: 0.0.0.0, prefix_len: 0}, {address_prefix: "::", prefix_len: 0}]}
  - remote_address_match:
      descriptor_key: sidecard.flags
      descriptor_value: "%RESPONSE_FLAGS%"
      default_value: "-"
      address_matcher: {ranges: [{address_prefix: 0.0.0.0, prefix_len: 0}, {address_prefix: "::", prefix_len: 0}]}
`

// complete ends the calls that the reports of c are about. A report of a call that has ended already, or
// never was one, changes nothing; the engine counts it.
func (s *Service) complete(now int64, c *call) {
	for i := range c.reports {
		r := &c.reports[i]
		token, _ := engine.ParseToken(r.Token) // what is no token stands for no call
		s.cfg.Engine.Complete(now, token, s.outcome(r.Code, r.Flags))
	}
}

// upstreamFlags are Envoy's response flags that say that the application failed to answer, or to go on
// answering: it could not be connected to (UF), ended or reset the connection (UC, UR), was too slow (UT),
// broke the protocol (UPE), has no healthy host (UH), as many connections as it may (UO), as many
// retries as may be (URX); or the connection was reset on this side (LR).
var upstreamFlags = map[string]bool{
	"UF": true, "UC": true, "UR": true, "UT": true, "UPE": true, "UH": true, "UO": true, "URX": true, "LR": true,
}

// outcome says how a request ended. It failed if its response has a code that counts as an error, or if the
// application did not get to its end. A client that left says nothing of the application unless it had failed
// before: the request was aborted. Without a response (code 0) it is the client who left, whatever else happened.
func (s *Service) outcome(code, flags string) engine.Outcome {
	switch {
	case s.cfg.Errors.Has(code), code != "0" && holdsFlag(flags, upstreamFlags):
		return engine.Outcome{Error: true}
	case code == "0", holdsFlag(flags, clientFlags):
		return engine.Outcome{Aborted: true}
	}
	return engine.Outcome{}
}

// clientFlags are those that say that the client has gone (DC) or wanted no more (DR).
var clientFlags = map[string]bool{"DC": true, "DR": true}

// holdsFlag says whether one of the flags, with commas between them, is among those of a set.
func holdsFlag(flags string, set map[string]bool) bool {
	for flags != "" {
		var flag string
		flag, flags, _ = strings.Cut(flags, ",")
		if set[flag] {
			return true
		}
	}
	return false
}

// peerOf returns the number of the process that makes a call, if the listener tells processes apart:
// the address of a connection then has a method Peer.
func peerOf(ctx context.Context) uint32 {
	if p, ok := peer.FromContext(ctx); ok {
		if a, ok := p.Addr.(interface{ Peer() uint32 }); ok {
			return a.Peer()
		}
	}
	return 0
}

// silentDomains are the domains of whose calls many have ended with their lease, and none by a report.
type silentDomains struct {
	mu    sync.Mutex
	known map[string]bool
}

// Expire ends the calls whose lease has ended, and tells the operator of a domain if that happens although no
// end of a call of that domain has ever been reported: Envoy then lacks the entry that reports it. It
// is to be called each second.
func (s *Service) Expire(now int64) {
	if s.cfg.Engine.Expire(now) == 0 {
		return
	}
	s.silent.mu.Lock()
	defer s.silent.mu.Unlock()
	for _, d := range s.cfg.Engine.Tokens().Domains {
		if !d.Silent() || s.silent.known[d.Domain] {
			continue
		}
		if s.silent.known == nil {
			s.silent.known = make(map[string]bool)
		}
		s.silent.known[d.Domain] = true
		s.cfg.Log.Error().Str("domain", d.Domain).Int64("expired", d.Expired).Str("entry", OutcomeEntry).
			Msg("no end of a request has ever been reported, so that limits of calls under way hold each place until its lease ends: add the entry to rate_limits of Envoy's filter")
	}
}
