package rule

import (
	"fmt"
	"time"
)

// Bounds and defaults of warm-up.
const (
	defaultWarmUpSec  = 10
	maxWarmUpSec      = maxIntervalSec
	defaultColdFactor = 3
	maxColdFactor     = 100
)

// warmUpFields are those by which a warm-up is written. They mean nothing to rules that do not warm up;
// dashboards write them all the same.
func warmUpFields() []field[limitDraft] {
	return []field[limitDraft]{
		integerField("warmUpPeriodSec", "how long it takes until `count` is allowed; means nothing without warm-up", 1, maxWarmUpSec, defaultWarmUpSec,
			func(d *limitDraft) *located[int64] { return &d.warmUp }).in("s").sentinel("only in flow rules"),
		integerField("coldFactor", "after a quiet time `count`/`coldFactor` is allowed; means nothing without warm-up", 2, maxColdFactor, defaultColdFactor,
			func(d *limitDraft) *located[int64] { return &d.coldFactor }).sentinel("3, or a property of the process; a count below it blocks everything").here("one request an interval passes at least"),
	}
}

// checkWarmUp fills in how the limit of a rule climbs, and refuses what it does not go with. It is called
// when the rate is known.
func (f *fileLoad) checkWarmUp(d *limitDraft, r *LimitRule) {
	if d.param.given {
		f.fail(d.behavior.at, fmt.Sprintf("%s is for whole resources; values of a parameter do not warm up", r.Behavior), "remove paramItem, or write controlBehavior reject or queue")
	}
	if r.Window == WindowTokenBucket && d.window.given && d.window.ok {
		f.fail(d.window.at, "token-bucket is not for warm-up, whose limit climbs in a window", "write aligned or strict")
	}
	if d.burst.ok && d.burst.v > 0 && !r.queues() {
		f.fail(d.burst.at, "is not for warm-up, in which no more may pass at once than is allowed then", "write 0")
	}
	if !d.warmUp.ok || !d.coldFactor.ok {
		return
	}
	r.WarmUp, r.ColdFactor = time.Duration(d.warmUp.v)*time.Second, d.coldFactor.v
	if !d.count.ok || r.Limit == 0 || r.Unlimited || r.Interval == 0 {
		return
	}
	at := d.coldFactor.at
	if !d.coldFactor.given {
		at = d.count.at
	}
	if r.Limit < r.ColdFactor && !r.queues() {
		f.warn(at, fmt.Sprintf("%d per %d s divided by a coldFactor of %d is less than one request: one passes all the same, where Sentinel would never let any through", r.Limit, r.Interval/time.Second, r.ColdFactor),
			fmt.Sprintf("write a count of %d or more, or a smaller coldFactor", r.ColdFactor))
	}
	const longest = 36 * 365 * 24 * time.Hour
	if r.queues() && r.Interval > longest/time.Duration(r.ColdFactor) {
		f.fail(at, fmt.Sprintf("%d times an interval of %d s is beyond 36 years", r.ColdFactor, r.Interval/time.Second), "write a shorter interval")
	}
	f.checkWarmUpPeriod(d, r)
}

// checkWarmUpPeriod warns of a period in which so few requests pass that Sentinel's bucket, of as many
// tokens, has no part in which the limit climbs.
func (f *fileLoad) checkWarmUpPeriod(d *limitDraft, r *LimitRule) {
	need := max(r.ColdFactor-1, (r.ColdFactor+2)/2)
	enough := (need*int64(r.Interval/time.Second) + r.Limit - 1) / r.Limit
	if seconds := int64(r.WarmUp / time.Second); seconds < enough {
		at := d.warmUp.at
		if !d.warmUp.given {
			at = d.behavior.at
		}
		f.warn(at, fmt.Sprintf("fewer than %d requests pass in %d s, so there is no warm-up: count is allowed from the beginning", need, seconds),
			fmt.Sprintf("write warmUpPeriodSec %d or more, or another controlBehavior", enough))
	}
}
