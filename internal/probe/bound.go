package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/internal/ruleview"
)

// Rule is a rule that limits a probe's calls. Make it with RuleOf.
type Rule struct {
	id       string
	limit    int64
	interval time.Duration // 0: calls under way
	bound    ruleview.Bound
	// within is the time in which no more than the bound may pass: of calls under way, of which the probe ends none,
	// their lease.
	within time.Duration
	// once: a call takes one, whatever its hits are.
	once bool
}

// RuleOf returns what a rule promises of a request, by its definition; false if it limits nothing.
func RuleOf(r *explain.Rule, definition json.RawMessage) (Rule, bool) {
	var d ruleview.Limit
	if r.Kind != "limit" || r.Shadow || r.Skipped != "" || json.Unmarshal(definition, &d) != nil {
		return Rule{}, false
	}
	limit, bound := d.Limit, d.Bound
	if r.Param != nil && r.Param.Special {
		i := slices.IndexFunc(d.Exceptions, func(e ruleview.Exception) bool { return e.Value == r.Param.Value })
		if i < 0 {
			return Rule{}, false // the rules have changed since they were asked
		}
		limit, bound = d.Exceptions[i].Limit, d.Exceptions[i].Bound
	}
	if limit == nil || bound == nil {
		return Rule{}, false
	}
	p := Rule{id: r.ID, limit: *limit, interval: time.Duration(d.IntervalSec) * time.Second, bound: *bound}
	p.within = time.Duration(bound.IntervalSec) * time.Second
	if p.interval == 0 {
		p.within, p.once = time.Duration(d.LeaseMs)*time.Millisecond, d.Param != ""
	}
	return p, true
}

func (r *Rule) limits() string {
	if r.interval == 0 {
		return fmt.Sprintf("%d at a time", r.limit)
	}
	return fmt.Sprintf("%d per %v", r.limit, r.interval)
}

// PerSecond is the limit a second; of calls under way, as many a second.
func (r *Rule) PerSecond() float64 {
	if r.interval == 0 {
		return float64(r.limit)
	}
	return float64(r.limit) / r.interval.Seconds()
}

// shot is a call that passed. The daemon decided it at some time between the two, or let it go then if it was queued.
type shot struct{ sent, answered time.Duration }

// judge says whether the bound held.
func (r *Rule) judge(passed []shot, hits int64) RuleResult {
	most := int64(mostWithin(passed, r.within))
	if !r.once {
		most *= hits
	}
	return RuleResult{
		Rule: r.id, Limit: r.limit, IntervalSec: int64(r.interval / time.Second), Bound: r.bound.String(), Most: r.bound.Most,
		Passed: most, Held: most <= r.bound.Most,
	}
}

// mostWithin returns the most calls that were surely decided within one stretch of time of that length: sent after its
// beginning and answered before its end. So slow answers make it smaller, never larger, and what is above a bound is a
// fault of the daemon. It counts from the call that was sent last to the first, with a Fenwick tree over the times of
// answers.
func mostWithin(passed []shot, length time.Duration) int {
	bySent := slices.SortedFunc(slices.Values(passed), func(a, b shot) int { return -cmp.Compare(a.sent, b.sent) })
	answers := make([]time.Duration, len(passed))
	for i, s := range passed {
		answers[i] = s.answered
	}
	slices.Sort(answers)
	tree := make([]int, len(answers)+1)
	upTo := func(t time.Duration) int { // how many answers are not after t
		return sort.Search(len(answers), func(i int) bool { return answers[i] > t })
	}
	most := 0
	for i := 0; i < len(bySent); {
		from := bySent[i].sent
		for ; i < len(bySent) && bySent[i].sent == from; i++ {
			for at := upTo(bySent[i].answered-1) + 1; at < len(tree); at += at & -at {
				tree[at]++
			}
		}
		n := 0
		for at := upTo(from + length); at > 0; at -= at & -at {
			n += tree[at]
		}
		most = max(most, n)
	}
	return most
}
