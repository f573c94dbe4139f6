package ruleview

import (
	"fmt"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Bound is the most that a rule lets pass in any stretch of time of so many seconds, its ends
// included: docs/semantics.md has the same bounds, and the patterns of arrivals that reach them. That of
// a rule of calls under way is how many there are at any moment.
type Bound struct {
	Most        int64 `json:"most"`
	IntervalSec int64 `json:"intervalSec,omitempty"` // 0: of calls under way
}

// boundOf returns the bound of a rule that limits.
func boundOf(r *rule.LimitRule) *Bound {
	b := &Bound{IntervalSec: int64(r.Interval / time.Second)}
	switch {
	case r.Limit == 0:
	case r.Grade == rule.GradeConcurrency:
		b.Most = r.Limit
	case r.Behavior == rule.BehaviorQueue, r.Behavior == rule.BehaviorWarmUpQueue:
		// One at the end as well as at the beginning, or a whole call if calls have several hits.
		b.Most = r.Limit + 1
	case r.Window == rule.WindowStrict:
		b.Most = r.Limit + r.Burst
	case r.Window == rule.WindowTokenBucket:
		scale := max(r.Scale, 1) // the bucket keeps the interval as it was written
		b.IntervalSec /= scale
		// What is left of a full bucket after the request that brought its tokens, and then what comes
		// back at one stroke: that of two intervals, if the bucket holds so much.
		full := (r.Limit+scale-1)/scale + r.Burst
		b.Most = full - 1 + min(full, 2*r.Limit/scale)
	default:
		// A full window's worth right before and right after a slot begins; of a burst only once,
		// because the bucket beside the window has not been refilled by then.
		b.Most = 2*r.Limit + r.Burst
	}
	return b
}

// String formats the bound for the table; nil is that of a rule without one.
func (b *Bound) String() string {
	if b == nil {
		return "-"
	}
	if b.IntervalSec == 0 {
		return fmt.Sprintf("%d at a time", b.Most)
	}
	return fmt.Sprintf("%d in any %ds", b.Most, b.IntervalSec)
}
