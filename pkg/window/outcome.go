package window

import (
	"math"
	"time"
)

// MaxRT is the longest time that a call is counted with.
const MaxRT = time.Hour

// Outcome is how one call ended. It may have been slow and failed at once.
type Outcome struct {
	RT    time.Duration // below 0 counts as 0, above MaxRT as MaxRT
	Slow  bool
	Error bool
}

// Tally is a number of calls that ended, and how. The zero value is of none.
type Tally struct {
	Total  int64
	Slow   int64
	Errors int64
	RT     time.Duration // of all of them together; stays at its largest value where it would overflow
	Since  int64         // OutcomeRing only: when the first call since its Reset ended; 0 while there is none
}

// Plus returns the tally with one call more.
func (t Tally) Plus(o Outcome) Tally {
	t.Total++
	if o.Slow {
		t.Slow++
	}
	if o.Error {
		t.Errors++
	}
	t.RT = addRT(t.RT, clipRT(o.RT))
	return t
}

func clipRT(rt time.Duration) time.Duration { return min(max(rt, 0), MaxRT) }

func addRT(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
