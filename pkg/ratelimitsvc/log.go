package ratelimitsvc

import (
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// logEvery is the least time between two lines of the same kind.
const logEvery = 10 * time.Second

// sampler lets one line through per logEvery, the first one included, and counts the others. The
// zero value is ready; it is safe for concurrent use.
type sampler struct {
	next    atomic.Int64 // Unix nanoseconds
	skipped atomic.Int64
}

// take says whether to write a line now, and how many were left out since the last.
func (s *sampler) take(now int64) (skipped int64, ok bool) {
	next := s.next.Load()
	if now < next || !s.next.CompareAndSwap(next, now+int64(logEvery)) {
		s.skipped.Add(1)
		return 0, false
	}
	return s.skipped.Swap(0), true
}

// logInvalid writes what is wrong with a request. What is in it is not written, for most of it may
// come from clients.
func (s *Service) logInvalid(now int64, err error) {
	if skipped, ok := s.invalid.take(now); ok {
		s.cfg.Log.Warn().Err(err).Int64("skipped", skipped).Msg("malformed rate limit request, answered with INVALID_ARGUMENT")
	}
}

// logFull says that rules refuse because of the bound on waiting calls.
func (s *Service) logFull(now int64) {
	if skipped, ok := s.full.take(now); ok {
		s.cfg.Log.Warn().Int("waiting", s.cfg.Room.Max()).Int64("skipped", skipped).Msg("as many calls wait as may, rules that queue refuse more")
	}
}

// logUnmatched names the first descriptor that no rule applied to by its keys, which Envoy's
// configuration determines; values come from clients and are not written.
func (s *Service) logUnmatched(now int64, c *call) {
	skipped, ok := s.unmatched.take(now)
	if !ok {
		return
	}
	keys := zerolog.Arr()
	for i, item := range c.items {
		if item == noItem || c.engine.Verdicts[item].Matched {
			continue
		}
		d := c.req.descriptors[i]
		for _, e := range c.req.entries[d.first:d.end] {
			keys.Str(e.key)
		}
		break
	}
	s.cfg.Log.Info().Str("domain", c.req.domain).Array("keys", keys).Int64("skipped", skipped).Msg("no rule applies to a descriptor, it passes")
}
