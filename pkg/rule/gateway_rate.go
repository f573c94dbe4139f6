package rule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// unitSeconds are the seconds of the numbers of intervalUnit.
var unitSeconds = [...]int64{1, 60, 3600, 24 * 3600}

// checkInterval finds the interval in seconds from intervalSec or from interval and intervalUnit,
// which the dashboard writes. Taking one second for granted where a dashboard wrote a minute would
// make a limit sixty times as large, so what is not clear is refused.
func (f *fileLoad) checkInterval(d *limitDraft) (seconds int64, ok bool) {
	switch {
	case !d.interval.ok || !d.intervalUnit.ok || !d.intervalSec.ok:
		return 0, false
	case d.interval.given && !d.intervalUnit.given:
		f.fail(d.interval.at, "interval without intervalUnit does not say of which unit", "write intervalSec, in seconds")
		return 0, false
	case d.intervalUnit.given && !d.interval.given:
		f.fail(d.intervalUnit.at, "intervalUnit without interval", "write intervalSec, in seconds")
		return 0, false
	}
	seconds = d.intervalSec.v
	if d.interval.given {
		unit := d.intervalUnit.v
		seconds = d.interval.v * unitSeconds[unit]
		if seconds > maxIntervalSec {
			f.fail(d.interval.at, fmt.Sprintf("is %d s; it must be from 1 s to %d s", seconds, maxIntervalSec), "")
			return 0, false
		}
		if d.intervalSec.given && d.intervalSec.v != seconds {
			f.fail(d.intervalSec.at, fmt.Sprintf("is %d s, but interval with intervalUnit says %d s", d.intervalSec.v, seconds), "remove interval and intervalUnit")
			return 0, false
		}
	}
	windowed := d.grade.v == gradeQPS && d.behavior.v != int64(BehaviorQueue) && d.behavior.v != int64(BehaviorWarmUpQueue)
	if seconds >= longIntervalSec && windowed {
		at := d.intervalSec.at
		if d.interval.given {
			at = d.interval.at
		}
		f.warn(at, "windows start empty after a restart, which matters for an interval of an hour or more", "")
	}
	return seconds, true
}

// checkRate turns count into whole requests over a whole number of seconds.
func (f *fileLoad) checkRate(d *limitDraft, seconds int64, r *LimitRule) {
	if !d.count.ok {
		return
	}
	count := d.count.v
	if f.unlimited(d, r) {
		return
	}
	bounds, why := windowScale, fmt.Sprintf("is no whole number of requests in up to %d intervals, so it cannot be counted exactly", windowScale.factor)
	byRate := r.Behavior == BehaviorQueue || r.Window == WindowTokenBucket
	if byRate {
		bounds, why = rateScale, "is too fine a fraction to be kept exactly"
	}
	whole, ok := bounds.wholeRate(count.exact, seconds)
	if !ok {
		f.fail(d.count.at, fmt.Sprintf("%s per %d s %s", clip(count.text), seconds, why), offer(nearestRates(count.exact, seconds), r.Kind))
		return
	}
	r.Limit, r.Interval, r.Scale = whole.limit, time.Duration(whole.seconds)*time.Second, whole.seconds/seconds
	if r.Scale > 1 && !byRate {
		f.warn(d.count.at, fmt.Sprintf("%s per %d s is enforced as %s", clip(count.text), seconds, whole), "")
	}
}

// unlimited says whether the count, which is valid, is above what is enforced.
func (f *fileLoad) unlimited(d *limitDraft, r *LimitRule) bool {
	if !aboveMax(d.count.v.exact) {
		return false
	}
	r.Limit, r.Unlimited = MaxLimit, true
	what := "the rule never refuses"
	if len(d.exceptions.v) > 0 {
		what = "only values that have a count of their own are refused"
	}
	f.warn(d.count.at, fmt.Sprintf("%s is above %d and means unlimited: %s", clip(d.count.v.text), MaxLimit, what), "")
	return true
}

// checkSampleCount fills in the number of slots, which must divide the interval.
func (f *fileLoad) checkSampleCount(d *limitDraft, r *LimitRule) {
	if !d.sampleCount.ok {
		return
	}
	r.SampleCount = int(d.sampleCount.v)
	if !d.sampleCount.given && d.param.given {
		r.SampleCount = keyedSampleCount
	}
	if ms := r.Interval.Milliseconds(); ms%int64(r.SampleCount) != 0 {
		f.fail(d.sampleCount.at, fmt.Sprintf("%d does not divide the interval of %d ms", r.SampleCount, ms), "write "+strings.Join(nearestDivisors(ms, r.SampleCount), " or "))
	}
}

// nearestDivisors returns the sample counts around n that divide ms.
func nearestDivisors(ms int64, n int) []string {
	var out []string
	for below := n - 1; below >= 1; below-- {
		if ms%int64(below) == 0 {
			out = append(out, strconv.Itoa(below))
			break
		}
	}
	for above := n + 1; above <= maxSampleCount; above++ {
		if ms%int64(above) == 0 {
			out = append(out, strconv.Itoa(above))
			break
		}
	}
	return out
}
