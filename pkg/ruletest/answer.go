package ruletest

import (
	"strconv"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// The outcomes that an Answer may have.
const (
	outcomePass  = "pass"
	outcomeBlock = "block"
	outcomeWait  = "wait" // passed, but not at once
	outcomeOK    = "ok"   // of complete and reload
	outcomeLate  = "late" // of complete: the call had ended before
	outcomeError = "error"
)

// Answer is what an event is answered, or is expected to be. A field that is not set is not known, or not
// asked for.
type Answer struct {
	Outcome string  `json:"outcome,omitempty"` // pass, block or wait; ok, late or error; or the state of a breaker
	Rule    *string `json:"rule,omitempty"`    // the id of the rule that decides; of a wait, of the one that asks for it; empty: none
	Reason  *string `json:"reason,omitempty"`
	Limit   *int64  `json:"limit,omitempty"`
	// Remaining is what is left after the event.
	Remaining *int64 `json:"remaining,omitempty"`
	// RetryAfter is until when a refused request would have to wait; 0: for ever, or nobody knows.
	RetryAfter *Millis `json:"retryAfterMs,omitempty"`
	Wait       *Millis `json:"waitMs,omitempty"`
}

// Millis is a time in whole milliseconds.
type Millis int64

// millis rounds to the nearest millisecond, a half up.
func millis(d time.Duration) *Millis {
	m := Millis(d.Round(time.Millisecond) / time.Millisecond)
	return &m
}

// String formats the time with its unit.
func (m Millis) String() string { return (time.Duration(m) * time.Millisecond).String() }

// answerOf is the answer to one request of a call that is decided.
func answerOf(v *engine.Verdict, overall engine.Code) Answer {
	a := Answer{Outcome: outcomePass, Rule: new(string)}
	decided := v.Rule
	switch {
	case v.Code == engine.Block:
		a.Outcome = outcomeBlock
		reason := v.Reason.String()
		a.Reason, a.RetryAfter = &reason, millis(v.Reset)
		if v.Reset > 0 && *a.RetryAfter == 0 {
			*a.RetryAfter = 1 // 0 would say never
		}
	case overall == engine.Pass && v.Wait > 0:
		a.Outcome, a.Wait, decided = outcomeWait, millis(v.Wait), v.Queue
	}
	if decided == nil {
		return a
	}
	a.Rule = &decided.ID
	if v.Rule != nil && !v.Unlimited && v.Rule.HasLimit() && v.Rule == decided {
		limit, remaining := v.Limit, v.Remaining // the verdict is used again
		a.Limit, a.Remaining = &limit, &remaining
	}
	return a
}

// overallOf is the answer to a call of several requests.
func overallOf(c *engine.Call) Answer {
	switch {
	case c.Overall == engine.Block:
		return Answer{Outcome: outcomeBlock}
	case c.Wait > 0:
		return Answer{Outcome: outcomeWait, Wait: millis(c.Wait)}
	}
	return Answer{Outcome: outcomePass}
}

// meets tells whether what was got is what was expected, of all that was asked for. Of numbers it is asked
// only if last is set.
func (a *Answer) meets(got *Answer, last bool) bool {
	return (a.Outcome == "" || a.Outcome == got.Outcome) && same(a.Rule, got.Rule) && same(a.Reason, got.Reason) &&
		(!last || same(a.Limit, got.Limit) && same(a.Remaining, got.Remaining) &&
			same(a.RetryAfter, got.RetryAfter) && same(a.Wait, got.Wait))
}

func same[T comparable](want, got *T) bool {
	return want == nil || got != nil && *want == *got
}

// String lists what is known, as a case file words it.
func (a Answer) String() string {
	var parts []string
	add := func(words ...string) { parts = append(parts, strings.Join(words, " ")) }
	if a.Outcome != "" {
		add(a.Outcome)
	}
	if a.Rule != nil {
		if *a.Rule == "" {
			add("no rule")
		} else {
			add("rule", *a.Rule)
		}
	}
	if a.Reason != nil {
		add("reason", *a.Reason)
	}
	if a.Limit != nil {
		add("limit", strconv.FormatInt(*a.Limit, 10))
	}
	if a.Remaining != nil {
		add("remaining", strconv.FormatInt(*a.Remaining, 10))
	}
	if a.RetryAfter != nil {
		if *a.RetryAfter == 0 {
			add("retryAfter never")
		} else {
			add("retryAfter", a.RetryAfter.String())
		}
	}
	if a.Wait != nil {
		add("wait", a.Wait.String())
	}
	return strings.Join(parts, ", ")
}
