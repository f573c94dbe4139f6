package engine

import "github.com/sidecard/sidecard/pkg/window"

// BreakerState is the state of a circuit breaker. The numbers are those of the metric
// sidecard_breaker_state.
type BreakerState uint8

// The states.
const (
	BreakerClosed   BreakerState = 0
	BreakerHalfOpen BreakerState = 1
	BreakerOpen     BreakerState = 2
)

// String returns the state as it is written in views, logs and answers.
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerHalfOpen:
		return "half_open"
	case BreakerOpen:
		return "open"
	}
	return ""
}

// BreakerStatus is a circuit breaker at one moment.
type BreakerStatus struct {
	State       BreakerState
	Since       int64        // when it got into the state, nanoseconds since the Unix epoch
	Transitions uint64       // that it has made, which is the Sequence of the last
	Probes      int64        // half open: calls let through that have not ended
	Ended       window.Tally // closed: the calls that it judges by; half open: the probes that have ended
}

// BreakerTransition is one change of state.
type BreakerTransition struct {
	Sequence uint64 // from 1, without gaps
	At       int64  // nanoseconds since the Unix epoch
	From, To BreakerState
	Ended    window.Tally // the calls that decided it; none where time did
}

// breakerHistory is how many transitions are kept for whoever logs them. A breaker that opens and
// closes as fast as rules can ask for makes three in a second.
const breakerHistory = 16

// status returns the state after what time alone has changed.
func (b *breaker) status(now int64, t *breakerTerms) BreakerStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.settle(now, t)
	s := BreakerStatus{State: p.state, Since: b.since, Transitions: uint64(p.period - 1)}
	switch p.state {
	case BreakerClosed:
		s.Ended = b.calls.Tally(now)
	case BreakerHalfOpen:
		s.Probes, s.Ended = int64(p.probes)-int64(p.ended), b.trial
	}
	return s
}

// transitions appends those after a sequence number that are still known, the oldest first: all of
// them, unless there were more than breakerHistory, which shows as a gap.
func (b *breaker) transitions(after uint64, into []BreakerTransition) []BreakerTransition {
	b.mu.Lock()
	defer b.mu.Unlock()
	made := uint64(b.load().period - 1)
	if made > breakerHistory {
		after = max(after, made-breakerHistory)
	}
	for n := after + 1; n <= made; n++ {
		into = append(into, b.history[n%breakerHistory])
	}
	return into
}
