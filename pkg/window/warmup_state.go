package window

import "time"

// MaxColdFactor is the largest cold factor of a warm-up.
const MaxColdFactor = 1000

// WarmUpTerms say how a warm-up goes: from Limit/ColdFactor requests an interval up to Limit, in about
// Period if as many requests come as may pass, and back when fewer than Limit/ColdFactor pass. It is
// the arithmetic of Sentinel's WarmUpController, which is Guava's SmoothWarmingUp with a bucket that is
// brought up to date once an interval, in exact fractions. A Limit above MaxLimit acts as MaxLimit, one
// below 0 as 0; a ColdFactor is 2 to MaxColdFactor, or acts as the nearest of them. A Period in which
// fewer requests than ColdFactor - 1 pass is none: then Limit is allowed from the beginning.
type WarmUpTerms struct {
	Limit      int64
	Period     time.Duration // 0 to 36 years
	ColdFactor int64
}

// warmth is how warm a rule is: tokens are the requests that could have passed and did not. At most the
// bucket holds most of them, and then it is cold; with warning of them, or fewer, it is warm. Its methods
// change nothing but return the next state.
type warmth struct {
	warmUpTerms
	tokens int64
	at     int64 // the interval that tokens are of, by its number since the epoch
}

// warmUpTerms are the terms with what follows from them.
type warmUpTerms struct {
	given         WarmUpTerms
	limit, cold   int64
	warning, most int64 // tokens
}

func (t WarmUpTerms) over(interval int64) warmUpTerms {
	w := warmUpTerms{given: t, limit: enforced(t.Limit), cold: min(max(t.ColdFactor, 2), MaxColdFactor)}
	due := mul(uint64(min(max(t.Period, 0), maxInterval)), uint64(w.limit)) // what passes in Period, times interval
	whole, _ := due.div(uint64(interval))
	const enough = 1 << 60 / MaxColdFactor // tokens: more of them have the same effect, and products of less fit
	w.warning = whole.atMost(enough) / (w.cold - 1)
	twice, _ := due.times(2).div(uint64(interval))
	w.most = w.warning + twice.atMost(enough)/(w.cold+1)
	return w
}

// newWarmth is cold.
func newWarmth(t warmUpTerms, at int64) warmth {
	w := warmth{warmUpTerms: t, at: at}
	if t.warning > 0 { // Sentinel's bucket fills from below the warning only
		w.tokens = t.most
	}
	return w
}

// next is w in a later interval, if passed requests passed in the one right before that. What passed
// before is not asked for: the bucket is brought up to date only when somebody comes. Sentinel lets a bucket
// that holds exactly the warning stay so however long nobody comes, and one above it whose Limit is below the
// ColdFactor; here both fill again, or a quiet time would not make them cold.
func (w warmth) next(at, passed int64) warmth {
	if w.tokens < w.warning || w.warning > 0 && passed < max(w.limit/w.cold, 1) {
		room := w.most - w.tokens
		w.tokens += mul(uint64(at-w.at), uint64(w.limit)).atMost(room)
	}
	w.tokens = max(w.tokens-passed, 0)
	w.at = at
	return w
}

// slowness is by how much more than an interval limit requests take, as a fraction.
func (w warmth) slowness() (num, den uint64) {
	between := w.most - w.warning
	if w.tokens <= w.warning || between == 0 {
		return 1, 1
	}
	return uint64((w.tokens-w.warning)*(w.cold-1) + between), uint64(between)
}

// allowed is how many requests an interval may have: at least one, unless none may pass at all.
func (w warmth) allowed() int64 {
	num, den := w.slowness()
	whole, _ := mul(uint64(w.limit), den).div(num)
	return min(max(whole.atMost(MaxLimit), 1), w.limit)
}

// rate is how many requests an interval may have, without rounding them to whole ones.
func (w warmth) rate(interval int64) Rate {
	num, den := w.slowness()
	return Rate{Count: w.limit, Interval: time.Duration(mul(uint64(interval), num).divUp(den).atMost(maxCost))}
}

// adjust is w under other terms, as far from cold and warm as before; where that is no whole number of
// tokens, colder.
func (w warmth) adjust(t warmUpTerms) warmth {
	n := warmth{warmUpTerms: t, at: w.at}
	over, between := w.tokens-w.warning, w.most-w.warning
	switch {
	case over > 0:
		n.tokens = t.warning + mul(uint64(over), uint64(t.most-t.warning)).divUp(uint64(between)).atMost(t.most-t.warning)
	case w.warning > 0:
		n.tokens = mul(uint64(w.tokens), uint64(t.warning)).divUp(uint64(w.warning)).atMost(t.warning)
	}
	return n
}
