package window

import (
	"sync"
	"time"
)

// OutcomeWindow tells how the calls of the last interval ended. Time is cut as LeapArray cuts it in
// Aligned: sampleCount slots that start at multiples of their width since the Unix epoch, the
// current one and those before it. So what it tells reaches back by more than the interval less a
// slot, and by no more than the interval.
//
// Every Record is told exactly what the window then holds, under any concurrency. A caller whose now
// lies behind the newest slot is counted in the newest slot.
//
// now is in nanoseconds since the Unix epoch and not negative. No method allocates. An OutcomeWindow
// is safe for concurrent use, each method takes a short lock; make it with NewOutcomeWindow, the
// zero value is not usable.
type OutcomeWindow struct {
	width int64 // nanoseconds of a slot; never written after NewOutcomeWindow

	mu    sync.Mutex
	head  int64   // number of the newest slot since the epoch; guarded by mu
	place int64   // of the newest slot, head modulo their count; guarded by mu
	sum   Tally   // of all slots; guarded by mu
	slots []Tally // by number modulo their count; guarded by mu
	_     [2*cacheLine - 96]byte
}

// NewOutcomeWindow returns an empty window. The error is ErrShape under the same conditions as for
// NewLeapArray.
func NewOutcomeWindow(now int64, sampleCount int, interval time.Duration) (*OutcomeWindow, error) {
	if !shapely(sampleCount, interval) {
		return nil, ErrShape
	}
	w := &OutcomeWindow{
		width: int64(interval) / int64(sampleCount),
		slots: make([]Tally, sampleCount),
	}
	w.head = now / w.width
	w.place = w.head % int64(sampleCount)
	return w, nil
}

// Record counts a call that ended now, and returns what the window then holds.
func (w *OutcomeWindow) Record(now int64, o Outcome) Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now / w.width)
	w.slots[w.place] = w.slots[w.place].Plus(o)
	w.sum = w.sum.Plus(o)
	return w.sum
}

// Tally returns what the window holds.
func (w *OutcomeWindow) Tally(now int64) Tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now / w.width)
	return w.sum
}

// Reset empties the window.
func (w *OutcomeWindow) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.slots)
	w.sum = Tally{}
}

// advance makes number the newest slot, if it is newer. What stays is summed up anew instead of what
// leaves being subtracted, which would be wrong where a sum of times has reached its largest value.
func (w *OutcomeWindow) advance(number int64) {
	if number <= w.head {
		return
	}
	n := int64(len(w.slots))
	for i := max(w.head+1, number-n+1); i <= number; i++ {
		w.slots[i%n] = Tally{}
	}
	w.head, w.place, w.sum = number, number%n, Tally{}
	for i := range w.slots {
		w.sum.Total += w.slots[i].Total
		w.sum.Slow += w.slots[i].Slow
		w.sum.Errors += w.slots[i].Errors
		w.sum.RT = addRT(w.sum.RT, w.slots[i].RT)
	}
}
