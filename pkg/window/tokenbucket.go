package window

import (
	"sync"
	"time"
)

// TokenBucket is the check that Sentinel makes of gateway and parameter rules, to the millisecond:
// a bucket that is filled lazily. It begins with r.Limit + burst tokens, and a call takes one for
// each hit. Tokens come back when a call finds that more than an Interval has passed since the last
// time they did, that time counted as Count/Denominator an Interval, up to what the bucket holds.
//
// So at most r.Limit + burst pass at once, and twice as many in any Interval: what the bucket holds
// before a refill, and what comes back with it. At the very end of an Interval nothing has come
// back yet, a millisecond later it has. Upstream drops the fraction of a token at each refill. Here
// tokens are counted in fractions of the denominator in lowest terms, so a whole count does as
// upstream does, and another keeps the fraction.
//
// Rate and burst are those of each call, so a changed rule acts at once: what was taken stays taken
// (rounded up where denominators differ), against what the bucket then holds, and the time since
// the last refill counts at the new rate.
//
// now is in nanoseconds since the Unix epoch and not negative; a caller whose clock lies behind
// the last refill finds no other. No method allocates. A TokenBucket is safe for concurrent use; the zero value is
// ready, and must not be copied after its first use.
type TokenBucket struct {
	mu    sync.Mutex
	state bucketState // guarded by mu
	_     [cacheLine - 32]byte
}

// NewTokenBucket returns a full bucket.
func NewTokenBucket() *TokenBucket { return &TokenBucket{} }

// BucketPermit is what a TryAcquire of a TokenBucket took: the proof that a Refund needs. The zero
// value is of a refusal, and refunds nothing. A permit is refunded at most once.
type BucketPermit struct {
	stamp int64 // of the refill before, in milliseconds
	n     int64
}

// Peek answers what TryAcquire would answer, and takes nothing.
func (b *TokenBucket) Peek(now, n int64, r Rate, burst int64) Result {
	b.mu.Lock()
	s := b.state
	b.mu.Unlock()
	return s.peek(now, n, r, burst)
}

// TryAcquire takes n tokens if there are as many, and says so; else it changes nothing. n below 1
// is refused, as is n above r.Limit + burst. A burst below 0 acts as 0, and a sum above MaxLimit as
// MaxLimit.
func (b *TokenBucket) TryAcquire(now, n int64, r Rate, burst int64) (BucketPermit, Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, p, res := b.state.acquire(now, n, r, burst)
	b.state = s
	return p, res
}

// Refund gives back what TryAcquire took, unless there has been a refill since: that may have given
// it back already.
func (b *TokenBucket) Refund(p BucketPermit) {
	b.mu.Lock()
	b.state = b.state.refund(p)
	b.mu.Unlock()
}

// Release gives n tokens back, whoever took them, and no more than are taken.
func (b *TokenBucket) Release(n int64) {
	b.mu.Lock()
	b.state = b.state.release(n)
	b.mu.Unlock()
}

// Until returns how long after now a call of n would pass if nobody else came: at that moment it
// does, a nanosecond earlier it does not. It is 0 if it passes now, and false if it never does (n
// above r.Limit + burst, or below 1) or not within 36 years.
func (b *TokenBucket) Until(now, n int64, r Rate, burst int64) (time.Duration, bool) {
	b.mu.Lock()
	s := b.state
	b.mu.Unlock()
	return s.until(now, n, r, burst)
}

// Reset returns how long after now a call would next find more tokens than now; 0 if the bucket is
// full, or if that takes more than 36 years.
func (b *TokenBucket) Reset(now int64, r Rate) time.Duration {
	b.mu.Lock()
	s := b.state
	b.mu.Unlock()
	return s.reset(now, r)
}
