package window

import (
	"math/big"
	"time"
)

// WarmUpTerms are limit requests an interval once warm, limit/cold when cold, and about period between.
type WarmUpTerms struct {
	Limit    int64
	Period   time.Duration
	Cold     int64
	Interval time.Duration
}

// warning is the number of tokens up to which it is warm, most the number at which it is cold.
func (t WarmUpTerms) warning() int64 { return floor(t.inPeriod()) / (t.Cold - 1) }

func (t WarmUpTerms) most() int64 {
	return t.warning() + floor(new(big.Rat).Quo(new(big.Rat).Add(t.inPeriod(), t.inPeriod()), big.NewRat(1+t.Cold, 1)))
}

// inPeriod is how many requests pass in the period once warm.
func (t WarmUpTerms) inPeriod() *big.Rat {
	q := new(big.Rat).SetFrac(big.NewInt(int64(t.Period)), big.NewInt(int64(t.Interval)))
	return q.Mul(q, big.NewRat(t.Limit, 1))
}

// perRequest is the part of an interval that a request takes with so many tokens: Sentinel's
// (tokens - warning) * slope + 1/count.
func (t WarmUpTerms) perRequest(tokens int64) *big.Rat {
	sum := big.NewRat(1, t.Limit)
	if over := tokens - t.warning(); over > 0 {
		slope := big.NewRat(t.Cold-1, t.Limit)
		slope.Quo(slope, big.NewRat(t.most()-t.warning(), 1))
		sum.Add(sum, slope.Mul(slope, big.NewRat(over, 1)))
	}
	return sum
}

// warmth is the bucket of a warm-up, and the list of what passed.
type warmth struct {
	t      WarmUpTerms
	tokens int64
	at     int64 // interval
	passed []charge
}

func newWarmth(now int64, t WarmUpTerms) warmth {
	w := warmth{t: t, at: now / int64(t.Interval)}
	if t.warning() > 0 {
		w.tokens = t.most()
	}
	return w
}

// sync brings the tokens to now.
func (w *warmth) sync(now int64) {
	at := now / int64(w.t.Interval)
	if at <= w.at {
		return
	}
	passed := int64(0)
	for _, c := range w.passed {
		if c.slot == at-1 {
			passed += c.n
		}
	}
	fills := w.tokens < w.t.warning() || w.t.warning() > 0 && passed < max(w.t.Limit/w.t.Cold, 1)
	for i := w.at; i < at && fills && w.tokens < w.t.most(); i++ {
		w.tokens = min(w.tokens+w.t.Limit, w.t.most())
	}
	w.tokens = max(w.tokens-passed, 0)
	w.at = at
}

func (w *warmth) pass(id int, n int64) { w.passed = append(w.passed, charge{id, w.at, n}) }

func (w *warmth) unpass(id int) {
	for i := range w.passed {
		if c := &w.passed[i]; c.id == id && c.slot == w.at {
			c.n = 0
		}
	}
}

// WarmUp is the twin of window.WarmUp.
type WarmUp struct {
	warmth warmth
	leap   *LeapArray
}

// NewWarmUp returns an empty, cold window.
func NewWarmUp(now int64, sampleCount int, strict bool, t WarmUpTerms) *WarmUp {
	return &WarmUp{newWarmth(now, t), NewLeapArray(now, sampleCount, t.Interval, strict)}
}

// Allowed is how many requests the interval of now may have.
func (w *WarmUp) Allowed(now int64) int64 {
	w.warmth.sync(now)
	if w.warmth.t.Limit == 0 {
		return 0
	}
	return max(floor(new(big.Rat).Inv(w.warmth.t.perRequest(w.warmth.tokens))), 1)
}

// TryAcquire admits n under the name id, if so many are allowed.
func (w *WarmUp) TryAcquire(id int, now, n int64) (ok bool, remaining int64) {
	ok, remaining = w.leap.TryAcquire(id, now, n, w.Allowed(now))
	if ok {
		w.warmth.pass(id, n)
	}
	return ok, remaining
}

// Refund gives back what id was charged.
func (w *WarmUp) Refund(id int, now int64) {
	w.warmth.sync(now)
	w.leap.Refund(id, now)
	w.warmth.unpass(id)
}

// Maintain moves the window to now.
func (w *WarmUp) Maintain(now int64) { w.leap.newest = max(w.leap.newest, now) }

// Until tries every slot from now on, each on a copy to which nobody came in between.
func (w *WarmUp) Until(now, n int64) (time.Duration, bool) {
	w.warmth.sync(now)
	w.leap.newest = max(w.leap.newest, now)
	width := int64(w.leap.width)
	for t := now; t < w.leap.newest+3*w.leap.live*width; t = (t/width + 1) * width {
		c := *w
		leap := *w.leap
		c.leap = &leap
		if ok, _ := leap.Peek(t, n, c.Allowed(t)); ok {
			return time.Duration(t - now), true
		}
	}
	return 0, false
}

// WarmUpQueue is the twin of window.WarmUpQueue.
type WarmUpQueue struct {
	warmth   warmth
	throttle Throttle
}

// NewWarmUpQueue returns an empty, cold queue.
func NewWarmUpQueue(now int64, t WarmUpTerms) *WarmUpQueue {
	return &WarmUpQueue{warmth: newWarmth(now, t)}
}

// rate is the one of now: as many as once warm, in a longer interval, of whole nanoseconds.
func (q *WarmUpQueue) rate(now int64) Rate {
	q.warmth.sync(now)
	t := q.warmth.t
	long := t.perRequest(q.warmth.tokens)
	long.Mul(long, big.NewRat(t.Limit, 1))
	long.Mul(long, whole(int64(t.Interval)))
	return Rate{Count: t.Limit, Den: 1, Interval: time.Duration(ceil(long))}
}

// Acquire promises n requests a moment under the name id.
func (q *WarmUpQueue) Acquire(id int, now, n int64, b Bound) (ok bool, wait time.Duration) {
	ok, wait = q.throttle.Acquire(id, now, n, q.rate(now), b)
	if ok {
		q.warmth.pass(id, n)
	}
	return ok, wait
}

// Refund takes back a promise.
func (q *WarmUpQueue) Refund(id int, now int64) bool {
	q.warmth.sync(now)
	q.warmth.unpass(id)
	return q.throttle.Refund(id)
}
