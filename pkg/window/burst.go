package window

import (
	"sync"
	"time"
)

// Burst is a sliding window whose limit is count + burst, and beside it a bucket of as many tokens
// that count of come back to in an interval, continuously. A call needs room in both. So a client
// that was idle has count + burst at once, and one that keeps coming has count per interval:
//
//   - every sampleCount consecutive slots (one more in Strict) admit at most count + burst;
//   - every span of time t, however placed, admits at most count + burst + t*count/interval.
//
// Both are exact under any concurrency. A caller whose now lies behind is charged to the newest
// slot and finds no token that later callers did not find.
//
// Count and burst are those of each call, so a changed rule acts at once: what was admitted stays
// charged, to the fraction of a token, and comes back at the new count from the first call with it
// on. A count below 1 refuses everything, a burst below 0 acts as 0, and what takes count or the sum
// above MaxLimit is ignored. A bucket that would take longer than 36 years to fill holds only what
// comes back in that time.
//
// now is as for a LeapArray, and calls must come as often. No method allocates. A Burst is safe for
// concurrent use; make it with NewBurst, the zero value is not usable.
type Burst struct {
	window   *LeapArray
	interval int64

	mu     sync.Mutex // held for every call, so that window and bucket agree
	bucket gcraState  // guarded by mu
	_      [cacheLine - 40]byte
}

// NewBurst returns an empty window and a full bucket. The error is ErrShape, as of NewLeapArray.
func NewBurst(now int64, sampleCount int, interval time.Duration, mode Mode) (*Burst, error) {
	window, err := NewLeapArray(now, sampleCount, interval, mode)
	if err != nil {
		return nil, err
	}
	return &Burst{window: window, interval: int64(interval)}, nil
}

// BurstPermit is what a TryAcquire of a Burst charged: the proof that a Refund needs. The zero value
// is of a refusal, and refunds nothing. A permit is refunded at most once.
type BurstPermit struct {
	window        Permit
	before, after gcraState
}

// Peek answers what TryAcquire would answer, and charges nothing.
func (b *Burst) Peek(now, n, count, burst int64) Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answer(now, n, count, burst)
}

// TryAcquire charges n hits if the window then holds at most count + burst and the bucket has n
// tokens, and says so; else it charges neither. n below 1 is refused.
func (b *Burst) TryAcquire(now, n, count, burst int64) (BurstPermit, Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.answer(now, n, count, burst)
	if !r.OK {
		return BurstPermit{}, r
	}
	before := b.bucket
	b.bucket = before.take(now, n, min(count, MaxLimit), b.interval)
	// Nobody else charges the window, so there still is the room that was seen.
	p, _ := b.window.TryAcquire(now, n, MaxLimit)
	r.Remaining -= n
	return BurstPermit{window: p, before: before, after: b.bucket}, r
}

// Refund gives back what TryAcquire charged: to the window if the slot still counts, less if a
// Release has taken from it; to the bucket if nothing has been charged or given back since.
// Otherwise the tokens are left to come back by themselves: while others took tokens the bucket may
// have been full, and then giving them back would be more than there were.
func (b *Burst) Refund(now int64, p BurstPermit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.Refund(now, p.window)
	if p.after != (gcraState{}) && p.after == b.bucket {
		b.bucket = p.before
	}
}

// Release takes n hits out of the window, from the newest slot backwards, and gives the bucket n
// tokens back, whoever was charged for them, and no more than are there and were taken.
func (b *Burst) Release(now, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.Release(now, n)
	b.bucket = b.bucket.release(now, min(max(n, 0), MaxLimit), b.interval)
}

// Until returns how long after now a charge of n would fit if nobody else came: at that moment it
// does, a nanosecond earlier it does not. It is 0 if it fits now, and false if it never fits.
func (b *Burst) Until(now, n, count, burst int64) (time.Duration, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	count, burst = capacity(count, burst)
	inWindow, ok := b.window.Until(now, n, count+burst)
	if !ok {
		return 0, false
	}
	b.bucket = b.bucket.carry(now, count)
	inBucket, ok := b.bucket.until(now, n, count, burst, b.interval)
	return max(inWindow, inBucket), ok
}

// Reset returns how long after now the oldest slot that holds a charge leaves the window; 0 if the
// window is empty.
func (b *Burst) Reset(now int64) time.Duration { return b.window.Reset(now) }

// Maintain moves the window to now and nothing else, as LeapArray.Maintain does.
func (b *Burst) Maintain(now int64) { b.window.Maintain(now) }

// answer is the verdict on n more hits. The lock is held.
func (b *Burst) answer(now, n, count, burst int64) Result {
	count, burst = capacity(count, burst)
	r := b.window.Peek(now, n, count+burst)
	if count == 0 {
		return r
	}
	b.bucket = b.bucket.carry(now, count)
	r.Remaining = min(r.Remaining, b.bucket.room(now, count, burst, b.interval))
	r.OK = n >= 1 && n <= r.Remaining
	return r
}

// capacity returns count and burst in range, with a sum of at most MaxLimit; both are 0 if count is
// below 1.
func capacity(count, burst int64) (int64, int64) {
	if count < 1 {
		return 0, 0
	}
	count = min(count, MaxLimit)
	return count, min(max(burst, 0), MaxLimit-count)
}
