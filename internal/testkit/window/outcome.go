package window

import (
	"math/big"
	"time"
)

// Outcome is how a call ended.
type Outcome struct {
	RT    time.Duration
	Slow  bool
	Error bool
}

// Tally is what a twin tells of several calls.
type Tally struct {
	Total  int64
	Slow   int64
	Errors int64
	RT     time.Duration
	Since  int64
}

// outcomes is a list of calls in the order in which they were recorded.
type outcomes []ended

type ended struct {
	at, slot int64
	Outcome
}

// OutcomeWindow is the twin of window.OutcomeWindow: the list of all calls.
type OutcomeWindow struct {
	width  time.Duration
	live   int64
	newest int64 // latest time that any call came with
	all    outcomes
}

// NewOutcomeWindow returns an empty window of sampleCount slots.
func NewOutcomeWindow(now int64, sampleCount int, interval time.Duration) *OutcomeWindow {
	return &OutcomeWindow{width: interval / time.Duration(sampleCount), live: int64(sampleCount), newest: now}
}

// Record enters a call and tells what counts then.
func (w *OutcomeWindow) Record(now int64, o Outcome) Tally {
	w.newest = max(w.newest, now)
	w.all = append(w.all, ended{slot: w.newest / int64(w.width), Outcome: o})
	return w.Tally(now)
}

// Tally tells what counts.
func (w *OutcomeWindow) Tally(now int64) Tally {
	w.newest = max(w.newest, now)
	var live outcomes
	for _, e := range w.all {
		if e.slot > w.newest/int64(w.width)-w.live {
			live = append(live, e)
		}
	}
	return live.tally()
}

// Reset forgets all calls.
func (w *OutcomeWindow) Reset() { w.all = nil }

// OutcomeRing is the twin of window.OutcomeRing: the list of all calls.
type OutcomeRing struct {
	size int
	all  outcomes
}

// NewOutcomeRing returns a ring of size calls.
func NewOutcomeRing(size int) *OutcomeRing { return &OutcomeRing{size: size} }

// Record enters a call and tells of the last ones.
func (r *OutcomeRing) Record(now int64, o Outcome) Tally {
	r.all = append(r.all, ended{at: now, Outcome: o})
	return r.Tally(now)
}

// Tally tells of the last calls.
func (r *OutcomeRing) Tally(int64) Tally {
	t := r.all[max(0, len(r.all)-r.size):].tally()
	if len(r.all) > 0 {
		t.Since = r.all[0].at
	}
	return t
}

// Reset forgets all calls.
func (r *OutcomeRing) Reset() { r.all = nil }

// tally counts a list of calls. Each counts with an hour at most.
func (l outcomes) tally() Tally {
	var t Tally
	rt := new(big.Int)
	for _, e := range l {
		t.Total++
		if e.Slow {
			t.Slow++
		}
		if e.Error {
			t.Errors++
		}
		rt.Add(rt, big.NewInt(int64(min(max(e.RT, 0), time.Hour))))
	}
	t.RT = 1<<63 - 1
	if rt.IsInt64() {
		t.RT = time.Duration(rt.Int64())
	}
	return t
}
