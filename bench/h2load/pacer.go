package h2load

import (
	"math"
	"math/rand/v2"
)

// A pacer says when the calls of one connection start. Times are nanoseconds of the connection's
// clock.
//
// A closed loop starts a call whenever a stream is free. An open loop follows a Poisson process
// that does not know how the server is doing: an arrival that finds no free stream, or a client
// that was busy, is sent later but keeps its time, so that waiting counts as latency.
type pacer struct {
	end  int64   // nothing starts at or after it
	left int64   // calls still to start
	gap  float64 // mean nanoseconds between arrivals; 0: closed loop
	next float64 // the next arrival of an open loop
	rng  *rand.Rand
}

func newPacer(now int64, l Load, rate float64, calls int64, seed uint64) pacer {
	p := pacer{end: math.MaxInt64, left: calls, rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	if l.Duration > 0 {
		p.end = now + int64(l.Duration)
	}
	if rate > 0 {
		p.gap = 1e9 / rate
		p.next = float64(now) + p.rng.ExpFloat64()*p.gap
	}
	return p
}

// due takes the next call if its time has come and returns the time that its latency counts from.
func (p *pacer) due(now int64) (start int64, ok bool) {
	if p.done(now) {
		return 0, false
	}
	if p.gap == 0 {
		p.left--
		return now, true
	}
	start = int64(p.next)
	if start > now {
		return 0, false
	}
	p.left--
	p.next += p.rng.ExpFloat64() * p.gap
	return start, true
}

// done says that no call will ever be due again. Arrivals of an open loop that are overdue at the
// end are still to be sent.
func (p *pacer) done(now int64) bool {
	if p.left <= 0 {
		return true
	}
	if p.gap == 0 {
		return now >= p.end
	}
	return int64(p.next) >= p.end
}

// wake returns when the next call will be due; at once in a closed loop.
func (p *pacer) wake() int64 {
	if p.gap == 0 {
		return 0
	}
	return int64(p.next)
}
