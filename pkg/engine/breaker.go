package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// breaker is the circuit breaker of one degrade rule: closed it lets calls through and counts how
// they end, open it lets none through for a while, and half open it lets a few through that decide
// whether it closes or opens again.
//
// Its life is a sequence of periods, one for each stretch of one state. A call counts only in the
// period that let it through: what was sent before the breaker opened tells nothing of a probe, and
// the end of a probe that came too late closes nothing. At every transition the count starts anew.
//
// While it is closed a decision costs one atomic load, a refusal two. Everything else takes a short
// lock, so that thresholds, probes and transitions are exact under any concurrency: of calls
// that end at once, the one that reaches the threshold opens the breaker, and no more probes are
// under way than the rule allows.
//
// Nothing happens by itself: a probe that got lost is noticed by the next caller, and taken to have
// failed at the moment at which its time was up. The terms are those of each call, so a reload acts
// at once. now is in nanoseconds since the Unix epoch. No method allocates. A breaker is made by
// newBreaker and is safe for concurrent use.
type breaker struct {
	// Every core reads these at every decision; they are written under mu, by transitions and probes
	// only, and lie alone on their line. mark is when the breaker opened; half open, when the newest
	// probe was let through. It is stored before word, so that no breaker is seen open with the mark
	// of what was before. Seen with that of what follows, it refuses a call that comes at once with a
	// probe.
	word atomic.Uint64 // phase, see pack
	mark atomic.Int64
	_    [cacheLine - 16]byte

	mu      sync.Mutex // held for every change of what is above and below
	calls   outcomes
	trial   window.Tally // of the probes of this period that have ended
	since   int64        // when this period began
	history [breakerHistory]BreakerTransition

	// terms are those in force, by which calls are judged that were let through by others.
	terms atomic.Pointer[breakerTerms]
	told  uint64 // Sequence of the newest that Engine.Transitions has returned; guarded by Engine.mu
}

// cacheLine is the unit that cores pass each other.
const cacheLine = 64

// outcomes is what a closed breaker counts: the calls of a time, or the last ones.
type outcomes interface {
	Record(now int64, o window.Outcome) window.Tally
	Tally(now int64) window.Tally
	Reset()
}

// phase is the state of a breaker.
type phase struct {
	period uint32 // from 1
	state  BreakerState
	probes uint16 // let through in this period, and not given back
	ended  uint16 // of them
}

// pack is period 32 | probes 15 | ended 15 | state 2.
func (p phase) pack() uint64 {
	return uint64(p.period)<<32 | uint64(p.probes)<<17 | uint64(p.ended)<<2 | uint64(p.state)
}

func unpackPhase(w uint64) phase {
	const low15 = 1<<15 - 1
	return phase{
		period: uint32(w >> 32), probes: uint16(w >> 17 & low15), ended: uint16(w >> 2 & low15), state: BreakerState(w & 3),
	}
}

// breakerPermit is the period that let a call through: what its end is reported with. The zero value
// is of no call.
type breakerPermit uint32

// newBreaker returns a closed breaker that counts what the rule says.
func newBreaker(now int64, r *rule.DegradeRule) (*breaker, error) {
	b := &breaker{since: now}
	if r.Size > 0 {
		ring, err := window.NewOutcomeRing(r.Size)
		if err != nil {
			return nil, err
		}
		b.calls = ring
	} else {
		w, err := window.NewOutcomeWindow(now, r.SampleCount, r.StatInterval)
		if err != nil {
			return nil, err
		}
		b.calls = w
	}
	t := breakerTermsOf(r)
	b.terms.Store(&t)
	b.word.Store(phase{period: 1}.pack())
	return b, nil
}

// peek says whether acquire would let a call through.
func (b *breaker) peek(now int64, t *breakerTerms) bool {
	d, known := b.until(now, t)
	return known && d == 0
}

// until is how long after now a call would be let through if nobody else came; false if that is up
// to the probes that are under way.
func (b *breaker) until(now int64, t *breakerTerms) (d time.Duration, known bool) {
	p := b.load()
	if p.state == BreakerHalfOpen {
		if b.full(p, now, t) {
			return 0, false
		}
		b.mu.Lock()
		p = b.settle(now, t)
		b.mu.Unlock()
	}
	switch p.state {
	case BreakerOpen:
		return max(t.untilDue(b.mark.Load(), now), 0), true
	case BreakerHalfOpen:
		return 0, p.probes < t.probes
	}
	return 0, true
}

// acquire lets a call through, or does not.
func (b *breaker) acquire(now int64, t *breakerTerms) (breakerPermit, bool) {
	p := b.load()
	switch {
	case p.state == BreakerClosed:
		return breakerPermit(p.period), true
	case p.state == BreakerOpen && t.untilDue(b.mark.Load(), now) > 0, p.state == BreakerHalfOpen && b.full(p, now, t):
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p = b.settle(now, t)
	if p.state == BreakerOpen && t.untilDue(b.mark.Load(), now) <= 0 {
		p = b.enter(BreakerHalfOpen, now, window.Tally{})
	}
	switch {
	case p.state == BreakerClosed:
		return breakerPermit(p.period), true
	case p.state == BreakerOpen || p.probes >= t.probes:
		return 0, false
	}
	p.probes++
	b.mark.Store(max(now, b.mark.Load()))
	b.word.Store(p.pack())
	return breakerPermit(p.period), true
}

// refund takes a call back that was not made after all, or of whose end nothing is to be learnt.
// The next caller gets the place of a probe.
func (b *breaker) refund(permit breakerPermit) {
	if !b.probing(permit) {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.load(); p.state == BreakerHalfOpen && breakerPermit(p.period) == permit && p.probes > p.ended {
		p.probes--
		b.word.Store(p.pack())
	}
}

// complete reports the end of a call. It returns false, and changes nothing but what time alone has
// changed, if the period that let the call through is over.
func (b *breaker) complete(now int64, permit breakerPermit, o window.Outcome, t *breakerTerms) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.settle(now, t)
	if breakerPermit(p.period) != permit {
		return false
	}
	if p.state == BreakerClosed {
		if ended := b.calls.Record(now, o); t.trip(now, ended) {
			b.enter(BreakerOpen, now, ended)
		}
		return true
	}
	if p.ended >= p.probes {
		return false
	}
	b.trial = b.trial.Plus(o)
	p.ended++
	b.word.Store(p.pack())
	b.conclude(now, t)
	return true
}

// probing says whether a call is a probe that the breaker waits for.
func (b *breaker) probing(permit breakerPermit) bool {
	p := b.load()
	return p.state == BreakerHalfOpen && breakerPermit(p.period) == permit
}

func (b *breaker) load() phase { return unpackPhase(b.word.Load()) }

// full says, without the lock, that a breaker which was seen half open has let all its probes
// through, and that nothing is due.
func (b *breaker) full(p phase, now int64, t *breakerTerms) bool {
	return p.probes >= t.probes && int64(p.ended) < min(int64(p.probes), t.enough()) && now-b.mark.Load() < int64(t.timeout)
}

// settle makes the transitions that time alone has made due, or a change of terms. The caller holds
// mu. Probes of which nothing is heard for their timeout, counted from the newest of them, have
// failed.
func (b *breaker) settle(now int64, t *breakerTerms) phase {
	p := b.load()
	if p.state != BreakerHalfOpen {
		return p
	}
	if lost := b.mark.Load() + int64(t.timeout); p.ended < p.probes && now >= lost {
		return b.enter(BreakerOpen, lost, b.trial)
	}
	if p.ended > 0 {
		b.conclude(now, t)
	}
	return b.load()
}

// conclude ends being half open if the probes that have ended decide it. The caller holds mu.
func (b *breaker) conclude(now int64, t *breakerTerms) {
	switch decided, good := t.verdict(b.trial); {
	case !decided:
	case good:
		b.enter(BreakerClosed, now, b.trial)
	default:
		b.enter(BreakerOpen, now, b.trial)
	}
}

// enter begins a period. The caller holds mu; why is what the transition was decided by.
func (b *breaker) enter(state BreakerState, now int64, why window.Tally) phase {
	p := b.load()
	now = max(now, b.since) // the caller's clock may lie behind
	b.history[p.period%breakerHistory] = BreakerTransition{
		Sequence: uint64(p.period), At: now, From: p.state, To: state, Ended: why,
	}
	b.calls.Reset()
	b.trial, b.since = window.Tally{}, now
	b.mark.Store(now)
	p = phase{period: p.period + 1, state: state}
	b.word.Store(p.pack())
	return p
}
