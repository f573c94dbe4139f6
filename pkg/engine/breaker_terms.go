package engine

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// breakerTerms are what a degrade rule asks of its breaker and a reload may change.
type breakerTerms struct {
	grade   rule.DegradeGrade
	reached bool // rule.OpenReached

	limit  int64 // nanoseconds that a call may take, or take on average
	ratio  rule.Ratio
	errors int64

	minimum int64
	maxWait time.Duration // 0: no end to waiting for minimum

	wait    time.Duration // until the first probe
	probes  uint16        // at a time; at most rule.MaxHalfOpenRequests
	timeout time.Duration // of a probe
}

func breakerTermsOf(r *rule.DegradeRule) breakerTerms {
	return breakerTerms{
		grade: r.Grade, reached: r.OpenAt == rule.OpenReached,
		limit: int64(r.RTLimit), ratio: r.Ratio, errors: r.Errors,
		minimum: r.MinRequestAmount, maxWait: r.MaxWait,
		wait: r.TimeWindow, probes: uint16(min(max(r.HalfOpenRequests, 1), rule.MaxHalfOpenRequests)), timeout: r.HalfOpenTimeout,
	}
}

// outcome is how a call counts: only grades of time know slow calls.
func (t *breakerTerms) outcome(rt time.Duration, failed bool) window.Outcome {
	return window.Outcome{RT: rt, Slow: t.timed() && int64(rt) > t.limit, Error: failed}
}

func (t *breakerTerms) timed() bool {
	return t.grade == rule.GradeSlowRatio || t.grade == rule.GradeAverageRT
}

// trip says whether a closed breaker whose calls ended so opens.
func (t *breakerTerms) trip(now int64, ended window.Tally) bool {
	return (ended.Total >= t.minimum || t.overdue(now, ended)) && t.exceeded(ended, t.errors)
}

// overdue says whether calls are judged although they are fewer than minimum.
func (t *breakerTerms) overdue(now int64, ended window.Tally) bool {
	return t.maxWait > 0 && ended.Total > 0 && now-ended.Since >= int64(t.maxWait)
}

// exceeded compares calls with the threshold, exactly. Sentinel's comparison takes a share of all
// calls for exceeded, because none could be above it.
func (t *breakerTerms) exceeded(ended window.Tally, errors int64) bool {
	var c int
	switch t.grade {
	case rule.GradeSlowRatio:
		c = compareProducts(ended.Slow, t.ratio.Den, ended.Total, t.ratio.Num)
	case rule.GradeErrorRatio:
		c = compareProducts(ended.Errors, t.ratio.Den, ended.Total, t.ratio.Num)
	case rule.GradeErrorCount:
		c = cmp.Compare(ended.Errors, errors)
	default:
		c = compareProducts(int64(ended.RT), 1, ended.Total, t.limit)
	}
	all := t.ratio.Num > 0 && t.ratio.Num == t.ratio.Den
	return c > 0 || c == 0 && (t.reached || all)
}

// verdict judges the probes that have ended: whether they are enough, and whether they were good. Of
// a number of errors, probes may be fewer than it takes, so that all of them failing is enough.
func (t *breakerTerms) verdict(ended window.Tally) (decided, good bool) {
	if t.reached {
		return ended.Total >= t.enough(), !t.exceeded(ended, min(t.errors, ended.Total))
	}
	bad := ended.Errors
	if t.timed() {
		bad = ended.Slow
	}
	return bad > 0 || ended.Total >= t.enough(), bad == 0
}

// enough is how many probes decide.
func (t *breakerTerms) enough() int64 {
	if t.reached {
		return min(t.minimum, int64(t.probes))
	}
	return int64(t.probes)
}

// untilDue is how long after now a breaker that opened at a time lets the first probe through; 0 or
// less if it does already.
func (t *breakerTerms) untilDue(opened, now int64) time.Duration {
	d := time.Duration(opened-now) + t.wait
	if t.reached {
		d++ // it waits for longer than that
	}
	return d
}

// compareProducts compares a*b with c*d. None is negative.
func compareProducts(a, b, c, d int64) int {
	ah, al := bits.Mul64(uint64(a), uint64(b))
	ch, cl := bits.Mul64(uint64(c), uint64(d))
	return cmp.Or(cmp.Compare(ah, ch), cmp.Compare(al, cl))
}
