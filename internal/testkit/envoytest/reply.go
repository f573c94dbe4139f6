package envoytest

import (
	"net/http"
	"regexp"
	"slices"
	"time"
)

// Reply is what one request got: either Err, or a status.
type Reply struct {
	Sent, Done time.Time // just before it was sent, just after the answer was read
	Status     int
	Rule       string // the rule that decided, from the x-ratelimit-limit header; empty: none
	Err        error
}

// Passed says whether the request reached the application.
func (r Reply) Passed() bool { return r.Err == nil && r.Status == http.StatusOK }

// Limited says whether the request was refused by a limit.
func (r Reply) Limited() bool { return r.Err == nil && r.Status == http.StatusTooManyRequests }

var policyName = regexp.MustCompile(`name="([^"]*)"`)

// DecidingRule returns the rule named in an answer's x-ratelimit-limit header.
func DecidingRule(h http.Header) string {
	m := policyName.FindStringSubmatch(h.Get("X-Ratelimit-Limit"))
	if m == nil {
		return ""
	}
	return m[1]
}

// Tally sums up replies.
type Tally struct {
	Sent, Passed, Limited int
	Other                 int            // neither passed nor limited, errors included
	LimitedBy             map[string]int // refusals by the rule that decided
}

// Count tallies replies.
func Count(replies []Reply) Tally {
	t := Tally{Sent: len(replies), LimitedBy: make(map[string]int)}
	for _, r := range replies {
		switch {
		case r.Passed():
			t.Passed++
		case r.Limited():
			t.Limited++
			t.LimitedBy[r.Rule]++
		default:
			t.Other++
		}
	}
	return t
}

// MostWithin returns the largest number of passed requests whose whole spans, from sending to the
// answer, lie within one interval of the given length. Each was decided at some moment of its
// span, so a correct window of that length never shows more than its limit here, however the
// machine stalls.
func MostWithin(replies []Reply, interval time.Duration) int {
	var passed []Reply
	for _, r := range replies {
		if r.Passed() {
			passed = append(passed, r)
		}
	}
	slices.SortFunc(passed, func(a, b Reply) int { return a.Sent.Compare(b.Sent) })
	most := 0
	for i, first := range passed {
		end := first.Sent.Add(interval)
		n := 0
		for _, r := range passed[i:] {
			if r.Sent.After(end) {
				break
			}
			if !r.Done.After(end) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// Span returns the time from the first request sent to the last answer read.
func Span(replies []Reply) time.Duration {
	if len(replies) == 0 {
		return 0
	}
	first, last := replies[0].Sent, replies[0].Done
	for _, r := range replies {
		if r.Sent.Before(first) {
			first = r.Sent
		}
		if r.Done.After(last) {
			last = r.Done
		}
	}
	return last.Sub(first)
}
