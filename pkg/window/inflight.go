package window

import "sync/atomic"

// Inflight counts the calls that are under way, and admits no more than a limit at a time: exactly,
// however many callers come at once. It knows no time: what was admitted counts until it is released.
//
// The zero value has none under way and is ready to use. All methods are safe for concurrent use and
// allocate nothing. An Inflight takes a cache line of its own.
type Inflight struct {
	calls atomic.Int64 // never negative
	_     [cacheLine - 8]byte
}

// Peek answers what a TryAcquire would be answered, and changes nothing.
func (f *Inflight) Peek(n, limit int64) Result { return callsLeft(f.calls.Load(), n, limit) }

// TryAcquire admits n calls if no more than limit are under way then, and changes nothing otherwise.
// n below 1 is refused; limits above MaxLimit count as MaxLimit.
func (f *Inflight) TryAcquire(n, limit int64) Result {
	for {
		calls := f.calls.Load()
		r := callsLeft(calls, n, limit)
		if !r.OK {
			return r
		}
		if f.calls.CompareAndSwap(calls, calls+n) {
			r.Remaining -= n
			return r
		}
	}
}

// Release ends n calls, or as many as are under way if that is less.
func (f *Inflight) Release(n int64) {
	for {
		calls := f.calls.Load()
		next := max(calls-max(n, 0), 0)
		if f.calls.CompareAndSwap(calls, next) {
			return
		}
	}
}

// Current returns how many calls are under way.
func (f *Inflight) Current() int64 { return f.calls.Load() }

// callsLeft is the answer to n more calls while so many are under way.
func callsLeft(calls, n, limit int64) Result {
	left := max(min(limit, MaxLimit)-calls, 0)
	return Result{OK: n >= 1 && n <= left, Remaining: left}
}
