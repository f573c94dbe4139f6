package window

import (
	"sync"
	"sync/atomic"
	"time"
)

// WarmUp is a window whose limit climbs while requests keep coming: after a quiet time it admits
// Limit/ColdFactor an interval, and once warm Limit (see WarmUpTerms). What it admits it admits as a
// LeapArray does: every sampleCount slots in a row hold at most the Limit of the terms, exactly, under
// any concurrency; and an interval no more than was allowed in it, but for what was admitted before it
// and still counts. At least one request an interval is admitted, however small the Limit.
//
// What may pass changes once an interval, at whole multiples of it since the epoch, when the first
// caller comes. Then it depends on what passed in the interval right before; a longer time without
// callers makes it colder. The rest of the time a caller loads one word more than a LeapArray's does,
// and an admission charges two windows.
//
// now is in nanoseconds since the Unix epoch and not negative. No method allocates. A WarmUp is safe for
// concurrent use; make it with NewWarmUp, the zero value is not usable.
type WarmUp struct {
	leap     *LeapArray
	passes   *LeapArray // of whole intervals
	interval int64
	samples  uint32 // slots of an interval
	_        [cacheLine - 28]byte

	word atomic.Uint64 // number of the interval 32 | what is allowed in it 32
	_    [cacheLine - 8]byte

	mu     sync.Mutex
	warmth warmth // guarded by mu
}

// WarmUpPermit is what a TryAcquire charged: the proof that a Refund needs. The zero value refunds
// nothing. A permit is refunded at most once.
type WarmUpPermit struct{ leap, passes Permit }

// NewWarmUp returns a window that is empty and cold. The error is that of NewLeapArray.
func NewWarmUp(now int64, sampleCount int, interval time.Duration, mode Mode, t WarmUpTerms) (*WarmUp, error) {
	leap, err := NewLeapArray(now, sampleCount, interval, mode)
	if err != nil {
		return nil, err
	}
	passes, err := NewLeapArray(now, 1, interval, Aligned)
	if err != nil {
		return nil, err
	}
	w := &WarmUp{leap: leap, passes: passes, interval: int64(interval), samples: uint32(sampleCount)}
	w.warmth = newWarmth(t.over(w.interval), now/w.interval)
	w.publish()
	return w, nil
}

// Adjust puts other terms in force, at once: it stays as cold or warm as it is.
func (w *WarmUp) Adjust(now int64, t WarmUpTerms) {
	w.limit(now)
	lock(&w.mu)
	defer w.mu.Unlock()
	if w.warmth.given != t {
		w.warmth = w.warmth.adjust(t.over(w.interval))
		w.publish()
	}
}

// publish shows what is allowed. The caller holds mu, or is alone.
func (w *WarmUp) publish() {
	step(&w.word)
	w.word.Store(pack(uint32(w.warmth.at), uint32(w.warmth.allowed())))
}

// limit is how many requests are allowed in the interval of now, or in a later one that is begun: in
// the one with the number head.
func (w *WarmUp) limit(now int64) (head uint32, limit int64) {
	at := now / w.interval
	for {
		step(&w.word)
		head, limit := unpack(w.word.Load())
		if int32(uint32(at)-head) <= 0 {
			return head, int64(limit)
		}
		w.begin(at)
	}
}

// begin brings the warmth to an interval, unless another caller has. The window is there first, so that
// what is allowed from now on is not charged to slots of before.
func (w *WarmUp) begin(at int64) {
	lock(&w.mu)
	defer w.mu.Unlock()
	if at <= w.warmth.at {
		return
	}
	start := at * w.interval
	w.leap.Maintain(start)
	w.warmth = w.warmth.next(at, w.passes.Previous(start))
	w.publish()
}

// Peek answers what TryAcquire would answer, and charges nothing. It writes nothing but what is due
// because time has passed.
func (w *WarmUp) Peek(now, n int64) Result {
	_, limit := w.limit(now)
	return w.leap.Peek(now, n, limit)
}

// TryAcquire charges n hits if the window then holds no more than is allowed now, and says so; else it
// writes nothing but what is due. n below 1 is refused, as is n above what is allowed.
func (w *WarmUp) TryAcquire(now, n int64) (WarmUpPermit, Result) {
	for {
		head, limit := w.limit(now)
		leap, r := w.leap.TryAcquire(now, n, limit)
		if !r.OK {
			return WarmUpPermit{}, r
		}
		if int32(leap.seq-(head+1)*w.samples) < 0 {
			return w.pass(now, n, leap), r
		}
		// Another caller has moved the window on, to an interval in which less may be allowed.
		w.leap.Refund(now, leap)
		w.begin(w.leap.whole(now, leap.seq) / int64(w.samples))
	}
}

// Charge charges n hits whatever is allowed, if they can be counted at all: those of somebody who is not
// limited by this window, but whose hits warm it and use it up.
func (w *WarmUp) Charge(now, n int64) WarmUpPermit {
	w.limit(now)
	leap, r := w.leap.TryAcquire(now, n, MaxLimit)
	if !r.OK {
		return WarmUpPermit{}
	}
	return w.pass(now, n, leap)
}

// pass counts what the window has admitted.
func (w *WarmUp) pass(now, n int64, leap Permit) WarmUpPermit {
	passes, _ := w.passes.TryAcquire(now, n, MaxLimit)
	return WarmUpPermit{leap, passes}
}

// Refund gives back what was charged, as far as it still counts.
func (w *WarmUp) Refund(now int64, p WarmUpPermit) {
	w.limit(now)
	w.leap.Refund(now, p.leap)
	w.passes.Refund(now, p.passes)
}

// Until returns how long after now n hits would be admitted if nobody else came: at that moment they
// are, a nanosecond earlier they are not. It is false if they never are, which does not say that they
// are not once others have warmed the window.
func (w *WarmUp) Until(now, n int64) (time.Duration, bool) {
	w.limit(now)
	lock(&w.mu)
	warm := w.warmth
	w.mu.Unlock()
	w.leap.Maintain(now)
	// In the interval after the next everything has left the window, and it only gets colder.
	passed := w.passes.total(now)
	for i := range int64(3) {
		then, begins := warm, now
		if i > 0 {
			then, begins = warm.next(warm.at+i, passed), (warm.at+i)*w.interval
			passed = 0
		}
		d, ok := w.leap.Until(now, n, then.allowed())
		d = max(d, time.Duration(begins-now))
		if ok && (i == 2 || now+int64(d) < (warm.at+i+1)*w.interval) {
			return d, true
		}
	}
	return 0, false
}

// Reset returns how long after now the oldest slot that holds a charge leaves the window; 0 if the
// window is empty.
func (w *WarmUp) Reset(now int64) time.Duration { return w.leap.Reset(now) }

// Maintain moves the window to now and nothing else; see LeapArray.Maintain.
func (w *WarmUp) Maintain(now int64) {
	w.leap.Maintain(now)
	w.passes.Maintain(now)
}
