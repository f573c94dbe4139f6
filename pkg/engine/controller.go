package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// controller is how one control behaviour spends a rule's budget. The key is that of the parameter
// value, and 0 for a rule that limits its whole resource. A controller belongs to one snapshot and
// holds what a reload may change, the limit above all; the memory behind it may outlive the
// snapshot.
type controller interface {
	// peek answers what the last of the asked requests would be answered if all were charged now.
	peek(now int64, a ask, max time.Duration, k window.Key) answer
	// acquire charges n, and if it does so leaves in g what refund needs. A controller that makes
	// callers wait promises at most max.
	acquire(now, n int64, max time.Duration, k window.Key, g *grant) answer
	// refund gives a grant back, and returns false if that is no longer possible.
	refund(now int64, g *grant) bool
	// release gives back n hits, whoever took them.
	release(now, n int64, k window.Key)
	// until is how long until n would be admitted if nobody else came; false: never.
	until(now, n int64, max time.Duration, k window.Key) (time.Duration, bool)
	// reset is how long until the oldest charge is forgotten, or until nobody would wait.
	reset(now int64, k window.Key) time.Duration
}

// adjustable is a controller whose memory goes by terms that a reload may change, and learns of them
// when they come into force.
type adjustable interface {
	adjust(now int64)
}

// ask is what the requests of one call ask of one budget, up to one of them: the first of them, and
// all together.
type ask struct{ first, total int64 }

// answer is what a controller says to a peek or an acquire.
type answer struct {
	ok        bool
	untracked bool   // no room for the key: ok is the rule's overflow policy
	late      bool   // refused, but only because of max
	reason    Reason // why refused, of a controller that has several; else ReasonNone
	remaining int64
	wait      time.Duration
}

// grant is what an acquire charged, in the form of whichever memory the controller keeps. It is
// large, so it is passed by pointer and neither copied nor cleared between calls.
type grant struct {
	leap         window.Permit
	keyed        window.KeyPermit
	promise      window.Promise
	bucket       window.BucketPermit
	burst        window.BurstPermit
	warmUp       window.WarmUpPermit
	warmUpQueue  window.WarmUpPromise
	keyedPromise window.KeyPromise
	keyedBucket  window.KeyBucketPermit
	keyedBurst   window.KeyBurstPermit
	held         hold // of a tracker
}

func fromResult(r window.Result) answer {
	return answer{ok: r.OK, untracked: r.Untracked, remaining: r.Remaining}
}
