// Package breaker holds the naive twin of the engine's circuit breaker: the same answers computed
// the slow and obvious way, for tests to compare with. It knows nothing of the real one, and is not
// safe for concurrent use.
package breaker

import (
	"math/big"
	"slices"
	"time"

	naive "github.com/sidecard/sidecard/internal/testkit/window"
)

// Terms are what a breaker acts by.
type Terms struct {
	Measure   string   // slow or errors, as a share; count, of errors; average, of milliseconds
	Threshold *big.Rat // in that measure
	Slow      time.Duration
	Reached   bool // the threshold itself opens; else only what is above it
	Minimum   int64
	MaxWait   time.Duration // 0: none
	Wait      time.Duration
	Probes    int
	Timeout   time.Duration
}

// Calls are what a closed breaker counts: an OutcomeWindow or an OutcomeRing.
type Calls interface {
	Record(now int64, o naive.Outcome) naive.Tally
	Tally(now int64) naive.Tally
	Reset()
}

// Breaker is the twin: the probes one by one, and in which period every call was let through.
type Breaker struct {
	State       string // closed, open, half_open
	Transitions int

	calls  Calls
	began  int64 // the state
	probes []probe
	newest int64       // when the newest probe was let through, be it given back or not
	period map[int]int // in which each call was let through
}

type probe struct {
	id    int
	ended *naive.Outcome
}

// New returns a closed breaker.
func New(now int64, calls Calls) *Breaker {
	return &Breaker{State: "closed", calls: calls, began: now, period: map[int]int{}}
}

// Acquire lets the call id through, or does not.
func (b *Breaker) Acquire(id int, now int64, t Terms) bool {
	if !b.Admits(now, t) {
		return false
	}
	if b.State == "open" {
		b.enter("half_open", now)
	}
	b.period[id] = b.Transitions
	if b.State == "half_open" {
		b.probes = append(b.probes, probe{id: id})
		b.newest = max(b.newest, now)
	}
	return true
}

// Admits tells whether a call would be let through.
func (b *Breaker) Admits(now int64, t Terms) bool {
	b.Expire(now, t)
	switch b.State {
	case "open":
		waited := time.Duration(now - b.began)
		return waited > t.Wait || waited == t.Wait && !t.Reached
	case "half_open":
		return len(b.probes) < t.Probes
	}
	return true
}

// Refund forgets that the call id was let through.
func (b *Breaker) Refund(id int) {
	b.probes = slices.DeleteFunc(b.probes, func(p probe) bool { return p.id == id && p.ended == nil })
}

// Complete ends the call id, and tells whether that counted.
func (b *Breaker) Complete(id int, now int64, t Terms, rt time.Duration, failed bool) bool {
	b.Expire(now, t)
	if b.period[id] != b.Transitions {
		return false
	}
	o := naive.Outcome{RT: rt, Error: failed, Slow: (t.Measure == "slow" || t.Measure == "average") && rt > t.Slow}
	if b.State == "closed" {
		tally := b.calls.Record(now, o)
		overdue := t.MaxWait > 0 && now-tally.Since >= int64(t.MaxWait)
		if (tally.Total >= t.Minimum || overdue) && t.exceeds(tally, t.Threshold) {
			b.enter("open", now)
		}
		return true
	}
	for i := range b.probes {
		if b.probes[i].id == id {
			b.probes[i].ended = &o
		}
	}
	b.judge(now, t)
	return true
}

// Expire does what time alone has made due.
func (b *Breaker) Expire(now int64, t Terms) {
	if b.State != "half_open" {
		return
	}
	under := slices.ContainsFunc(b.probes, func(p probe) bool { return p.ended == nil })
	if lost := b.newest + int64(t.Timeout); under && lost <= now {
		b.enter("open", lost)
		return
	}
	b.judge(now, t)
}

// judge ends being half open when enough probes have ended.
func (b *Breaker) judge(now int64, t Terms) {
	ring := naive.NewOutcomeRing(len(b.probes) + 1)
	bad := false
	for _, p := range b.probes {
		if p.ended == nil {
			continue
		}
		ring.Record(now, *p.ended)
		bad = bad || p.ended.Slow || p.ended.Error && (t.Measure == "errors" || t.Measure == "count")
	}
	tally := ring.Tally(now)
	enough := int64(t.Probes)
	if t.Reached {
		enough = min(t.Minimum, enough)
		threshold := t.Threshold
		if all := new(big.Rat).SetInt64(tally.Total); t.Measure == "count" && all.Cmp(threshold) < 0 {
			threshold = all
		}
		bad = tally.Total >= enough && t.exceeds(tally, threshold)
	}
	switch {
	case tally.Total == 0:
	case bad:
		b.enter("open", now)
	case tally.Total >= enough:
		b.enter("closed", now)
	}
}

func (b *Breaker) enter(state string, now int64) {
	b.began = max(now, b.began)
	b.State, b.newest, b.probes = state, b.began, nil
	b.Transitions++
	b.calls.Reset()
}

// exceeds compares calls with a threshold.
func (t Terms) exceeds(tally naive.Tally, threshold *big.Rat) bool {
	var got *big.Rat
	switch t.Measure {
	case "slow":
		got = big.NewRat(tally.Slow, tally.Total)
	case "errors":
		got = big.NewRat(tally.Errors, tally.Total)
	case "count":
		got = big.NewRat(tally.Errors, 1)
	case "average":
		got = big.NewRat(int64(tally.RT), tally.Total*int64(time.Millisecond))
	}
	share := t.Measure == "slow" || t.Measure == "errors"
	c := got.Cmp(threshold)
	return c > 0 || c == 0 && (t.Reached || share && threshold.Cmp(big.NewRat(1, 1)) == 0)
}
