package rule

import (
	"fmt"
	"math/big"
	"time"
)

// Enumerations of degrade rules.
var (
	degradeGrades = &enumeration{members: []enumMember{
		{name: "slow_ratio", number: int64(GradeSlowRatio)},
		{name: "error_ratio", alias: "exception_ratio", number: int64(GradeErrorRatio)},
		{name: "error_count", alias: "exception_count", number: int64(GradeErrorCount)},
		{name: "avg_rt", number: noNumber}, // Sentinel's 0 before 1.8
	}}
	openAtChoices = &enumeration{byName: true, members: []enumMember{
		{name: "above", number: int64(OpenAbove)},
		{name: "reached", number: int64(OpenReached)},
	}}
	slidingTypes = &enumeration{byName: true, members: []enumMember{
		{name: "time", number: slidingTime},
		{name: "count", number: slidingCount},
	}}
)

// The types of slidingWindow.
const (
	slidingTime  = 0
	slidingCount = 1
)

const (
	// maxRTMs bounds what a call may be expected to take; none is measured for longer.
	maxRTMs = 3600 * 1000
	// maxShareDecimals keeps the product of a share's denominator and a number of calls small.
	maxShareDecimals = 9
)

// checkThreshold turns count and slowRatioThreshold into what the grade compares with.
func (f *fileLoad) checkThreshold(d *degradeDraft, r *DegradeRule) {
	if r.Grade != GradeSlowRatio && d.slowRatio.given && d.slowRatio.ok && d.slowRatio.v.exact.Cmp(big.NewRat(1, 1)) != 0 {
		f.warn(d.slowRatio.at, "means nothing with grade "+r.Grade.String(), "remove it")
	}
	if r.Grade == GradeSlowRatio && d.slowRatio.ok {
		f.checkSlowRatio(d, r)
	}
	if !d.count.ok {
		return
	}
	switch r.Grade {
	case GradeErrorRatio:
		f.checkErrorRatio(d, r)
	case GradeErrorCount:
		f.checkErrorCount(d, r)
	default:
		f.checkRTLimit(d, r)
	}
}

// checkSlowRatio takes slowRatioThreshold. Rules that were written for Sentinel before 1.8 lack it,
// and would act by something else than the average that they meant.
func (f *fileLoad) checkSlowRatio(d *degradeDraft, r *DegradeRule) {
	if !d.slowRatio.given && d.count.ok {
		at := d.grade.at
		if !d.grade.given {
			at = d.count.at
		}
		f.warn(at, "grade slow_ratio without slowRatioThreshold opens the breaker only when all calls are slow; before Sentinel 1.8 grade 0 was the average RT",
			"write slowRatioThreshold, or grade avg_rt")
	}
	if r.Ratio = f.share(d.slowRatio.at, d.slowRatio.v, "is above 1, the share of all calls"); r.Ratio.Num == 0 && r.Ratio.Den != 0 {
		f.checkReached(d, d.slowRatio.at, "without a single slow call")
	}
}

func (f *fileLoad) checkErrorRatio(d *degradeDraft, r *DegradeRule) {
	if r.Ratio = f.share(d.count.at, d.count.v, "is above 1, but grade error_ratio takes the share of calls that failed"); r.Ratio.Num == 0 && r.Ratio.Den != 0 {
		f.checkReached(d, d.count.at, "without a single error")
	}
}

// share takes a share of calls; the zero Ratio if it is none.
func (f *fileLoad) share(at spot, a amount, above string) Ratio {
	switch percent := new(big.Rat).Mul(a.exact, big.NewRat(1, 100)); {
	case a.exact.Cmp(big.NewRat(1, 1)) > 0 && percent.Cmp(big.NewRat(1, 1)) <= 0:
		f.fail(at, clip(a.text)+" "+above, fmt.Sprintf("write %s for %s %%", decimal(percent), clip(a.text)))
		return Ratio{}
	case a.exact.Cmp(big.NewRat(1, 1)) > 0:
		f.fail(at, clip(a.text)+" "+above, "write a number from 0 to 1")
		return Ratio{}
	}
	if !a.exact.Denom().IsInt64() || a.exact.Denom().Int64() > 1e9 {
		f.fail(at, fmt.Sprintf("%s has more than %d decimals", clip(a.text), maxShareDecimals), "")
		return Ratio{}
	}
	return Ratio{Num: a.exact.Num().Int64(), Den: a.exact.Denom().Int64()}
}

func (f *fileLoad) checkErrorCount(d *degradeDraft, r *DegradeRule) {
	count := d.count.v
	switch {
	case !count.exact.IsInt() && count.exact.Cmp(big.NewRat(1, 1)) < 0:
		f.fail(d.count.at, clip(count.text)+" is not a whole number of errors", "write grade error_ratio if the share of calls that failed is meant")
		return
	case !count.exact.IsInt():
		f.fail(d.count.at, clip(count.text)+" is not a whole number of errors", "")
		return
	case count.exact.Cmp(big.NewRat(MaxLimit, 1)) > 0:
		f.fail(d.count.at, fmt.Sprintf("%s is above %d: the breaker would never open", clip(count.text), MaxLimit), "")
		return
	}
	r.Errors = count.exact.Num().Int64()
	if r.Errors == 0 {
		f.checkReached(d, d.count.at, "without a single error")
	}
	if most := int64(r.Size); most > 0 && (r.Errors > most || r.Errors == most && r.OpenAt == OpenAbove) {
		f.warn(d.count.at, fmt.Sprintf("%d calls do not have so many errors: the breaker never opens", most), "write a greater size")
	}
}

// checkRTLimit takes a time in milliseconds.
func (f *fileLoad) checkRTLimit(d *degradeDraft, r *DegradeRule) {
	count := d.count.v
	ns := new(big.Rat).Mul(count.exact, big.NewRat(int64(time.Millisecond), 1))
	switch {
	case count.exact.Cmp(big.NewRat(maxRTMs, 1)) > 0:
		f.fail(d.count.at, fmt.Sprintf("%s ms is more than an hour, for which no call is measured", clip(count.text)), "")
		return
	case !ns.IsInt():
		f.fail(d.count.at, clip(count.text)+" ms is no whole number of nanoseconds", "")
		return
	}
	r.RTLimit = time.Duration(ns.Num().Int64())
	switch {
	case r.RTLimit == 0 && r.Grade == GradeAverageRT && r.OpenAt == OpenReached:
		f.checkReached(d, d.count.at, "however fast calls are")
	case r.RTLimit == 0:
		f.warn(d.count.at, "every call takes more than 0 ms", "write how many milliseconds are too many")
	case d.lease.ok && r.RTLimit >= r.Lease:
		f.warn(d.count.at, fmt.Sprintf("nothing is heard of calls that take longer than leaseMs, %d: the breaker never opens", d.lease.v), "write a leaseMs above the longest call")
	}
}

// checkReached refuses openAt reached where the threshold is nothing.
func (f *fileLoad) checkReached(d *degradeDraft, at spot, how string) {
	if d.openAt.ok && OpenAt(d.openAt.v) == OpenReached {
		f.fail(at, "is reached "+how+": the breaker would open always", "write openAt above, or a greater threshold")
	}
}
