package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
	"github.com/sidecard/sidecard/pkg/rule"
)

// row is what came of the load on one rule.
type row struct {
	rule     rule.LimitRule
	values   []string
	bound    string // what may pass
	measured string // the most that did, of the value that got most
	tally    envoytest.Tally
	fault    string // why the row is bad; empty: it is good
}

// judge holds the replies of each value against the rule's published bound, and sees to it that
// the rule was at work at all: some requests passed, and it refused some.
func judge(r rule.LimitRule, values []string, replies [][]envoytest.Reply) row {
	out := row{rule: r, values: values, tally: envoytest.Count(slices.Concat(replies...))}
	most, bound := int64(-1), int64(0)
	for _, value := range replies {
		m, b, text := measure(r, value)
		if m > b {
			out.fault = fmt.Sprintf("%d passed, the bound is %d", m, b)
		}
		if m > most {
			most, bound, out.bound = m, b, text
		}
	}
	out.measured = fmt.Sprintf("%d of %d", most, bound)
	held := longestPass(slices.Concat(replies...))
	if r.Behavior == rule.BehaviorQueue {
		out.measured += fmt.Sprintf(", up to %s late", held.Round(time.Millisecond))
	}
	switch {
	case out.fault != "":
	case out.tally.Other > 0:
		out.fault = fmt.Sprintf("%d requests got neither 200 nor 429", out.tally.Other)
	case out.tally.LimitedBy[r.ID] == 0:
		out.fault = "it refused nothing"
	case r.Limit > 0 && out.tally.Passed == 0:
		out.fault = "nothing passed"
	case r.Behavior == rule.BehaviorQueue && held < r.Interval/time.Duration(r.Limit):
		out.fault = "nothing waited"
	}
	return out
}

// longestPass returns the longest time that a passed request took.
func longestPass(replies []envoytest.Reply) time.Duration {
	var longest time.Duration
	for _, r := range replies {
		if r.Passed() {
			longest = max(longest, r.Done.Sub(r.Sent))
		}
	}
	return longest
}

// measure returns how many requests passed where the rule's kind bounds them, and the bound: in
// every real interval if strict, else over the whole load.
func measure(r rule.LimitRule, replies []envoytest.Reply) (passed, bound int64, text string) {
	passed = int64(envoytest.Count(replies).Passed)
	span, seconds := envoytest.Span(replies), r.Interval/time.Second
	// What a client may start with, and then evenly at the rate.
	from := func(start int64) (int64, int64, string) {
		evenly := int64(span) * r.Limit / int64(r.Interval)
		return passed, start + evenly, fmt.Sprintf("%d+%d in %.1f s", start, evenly, span.Seconds())
	}
	switch {
	case r.Window == rule.WindowStrict || r.Limit == 0:
		return int64(envoytest.MostWithin(replies, r.Interval)), r.Limit + r.Burst, fmt.Sprintf("%d in any %d s", r.Limit+r.Burst, seconds)
	case r.Behavior == rule.BehaviorQueue:
		return from(1)
	case r.Burst > 0:
		return from(r.Limit + r.Burst)
	}
	intervals := int64((span + r.Interval - 1) / r.Interval)
	return passed, r.Limit * (intervals + 1), fmt.Sprintf("%d·(%d+1) in %d s", r.Limit, intervals, time.Duration(intervals)*seconds)
}

// print writes rows as a table.
func print(out io.Writer, rows []row) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nRESOURCE\tRULE\tMODE\tFOR EACH OF\tBOUND\tMEASURED\tSENT\tPASSED\tLIMITED\tLIMITED BY\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", resource(r.rule), r.rule.ID, mode(r.rule),
			strings.Join(r.values, ", "), r.bound, r.measured, r.tally.Sent, r.tally.Passed, r.tally.Limited, limitedBy(r.tally), mark(r))
	}
	w.Flush()
}

func resource(r rule.LimitRule) string {
	if r.Mode == rule.ModeAPI {
		return "group " + r.Resource
	}
	return "route " + r.Resource
}

func mode(r rule.LimitRule) string {
	switch {
	case r.Behavior == rule.BehaviorQueue:
		return r.Behavior.String()
	case r.Burst > 0:
		return fmt.Sprintf("%s, burst %d", r.Window, r.Burst)
	}
	return r.Window.String()
}

func mark(r row) string {
	if r.fault != "" {
		return "BAD: " + r.fault
	}
	return "ok"
}

// limitedBy lists the rules that refused, with their refusals where there are several.
func limitedBy(t envoytest.Tally) string {
	if len(t.LimitedBy) == 1 {
		for id := range t.LimitedBy {
			return id
		}
	}
	var parts []string
	for _, id := range slices.Sorted(maps.Keys(t.LimitedBy)) {
		parts = append(parts, fmt.Sprintf("%s (%d)", id, t.LimitedBy[id]))
	}
	return strings.Join(parts, ", ")
}
