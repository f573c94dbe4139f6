package rule

import (
	"fmt"
	"math/big"
	"time"
)

// Bounds and default of leaseMs.
const (
	minLeaseMs     = 1000
	maxLeaseMs     = 24 * 3600 * 1000
	defaultLeaseMs = 60 * 1000
)

// checkConcurrency fills in what a limit of calls under way needs, and refuses what only rules that
// count over time have. The interval means nothing to it, whether or not it is written: dashboards
// always write one.
func (f *fileLoad) checkConcurrency(d *limitDraft, r *LimitRule) {
	r.Grade, r.Window, r.Interval = GradeConcurrency, WindowNone, 0
	for _, field := range []*located[int64]{&d.window, &d.sampleCount} {
		if field.given && field.ok {
			f.fail(field.at, "is for rules that count in a window; concurrency has none", "remove it, or write grade qps")
		}
	}
	if d.burst.ok && d.burst.v > 0 {
		f.fail(d.burst.at, "is not for concurrency, which never admits more than count at a time", "write 0, or a larger count")
	}
	if d.behavior.ok && r.Behavior != BehaviorReject {
		f.fail(d.behavior.at, fmt.Sprintf("%s is not for concurrency, which refuses what is above count", r.Behavior), "write controlBehavior reject, or grade qps")
	}
	if d.lease.ok {
		r.Lease = time.Duration(d.lease.v) * time.Millisecond
	}
	if !d.count.ok {
		return
	}
	switch count := d.count.v; {
	case f.unlimited(d, r):
	case count.exact.IsInt():
		r.Limit = count.exact.Num().Int64()
	default:
		below := new(big.Int).Quo(count.exact.Num(), count.exact.Denom())
		fix := fmt.Sprintf("write %d or %d", below, new(big.Int).Add(below, big.NewInt(1)))
		if below.Sign() == 0 {
			fix = "write 1, or 0 to block everything"
		}
		f.fail(d.count.at, clip(count.text)+" is no whole number of calls under way", fix)
	}
}

// checkNoLease refuses a lease where nothing waits for the end of a call.
func (f *fileLoad) checkNoLease(d *limitDraft) {
	if d.lease.given && d.lease.ok {
		f.fail(d.lease.at, "is for rules that count calls under way", "remove it, or write grade concurrency")
	}
}
