package ruletest

import (
	"fmt"
	"slices"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// eventDraft is an event as it is written, whatever it is one of. Its item is that of an event which is not
// written as a call.
type eventDraft struct {
	event
	itemDraft
}

// drafted makes the fields of a part of T of fields of T.
func drafted[T, P any](fields []field[P], part func(*T) *P) []field[T] {
	out := make([]field[T], len(fields))
	for i, fd := range fields {
		out[i] = field[T]{fd.name, func(r *reader, v rule.Value, into *T) { fd.read(r, v, part(into)) }}
	}
	return out
}

var eventFields = append(append([]field[eventDraft]{
	{"at", func(r *reader, v rule.Value, d *eventDraft) {
		if at, ok := r.time(v); ok {
			d.at = at
		}
	}},
}, drafted(itemFields, func(d *eventDraft) *itemDraft { return &d.itemDraft })...), []field[eventDraft]{
	{"call", func(r *reader, v rule.Value, d *eventDraft) { d.items, d.together = r.call(v), true }},
	{"domain", func(r *reader, v rule.Value, d *eventDraft) { d.domain, _ = r.text(v) }},
	{"times", func(r *reader, v rule.Value, d *eventDraft) { d.times = int(r.count(v, 1, maxTimes)) }},
	{"deadline", func(r *reader, v rule.Value, d *eventDraft) { d.deadline = r.duration(v) }},
	{"hold", func(r *reader, v rule.Value, d *eventDraft) { d.hold = r.name(v) }},
	{"complete", func(r *reader, v rule.Value, d *eventDraft) { d.complete = r.name(v) }},
	{"error", func(r *reader, v rule.Value, d *eventDraft) { d.outcome.Error = r.flag(v) }},
	{"aborted", func(r *reader, v rule.Value, d *eventDraft) { d.outcome.Aborted = r.flag(v) }},
	{"rt", func(r *reader, v rule.Value, d *eventDraft) { d.outcome.RT = r.duration(v) }},
	{"reload", func(r *reader, v rule.Value, d *eventDraft) { d.reload, _ = r.path(v) }},
	{"breaker", func(r *reader, v rule.Value, d *eventDraft) { d.breaker = r.name(v) }},
	{"system", func(r *reader, v rule.Value, d *eventDraft) { d.system = r.system(v) }},
}...)

// kindOfEvent is one kind of event, by the field that makes it one.
type kindOfEvent struct {
	action   action
	mark     string // empty: a single request
	fields   []string
	outcomes []string
}

var (
	decisionFields = []string{"domain", "times", "deadline", "hold", "expect", "wait"}
	kindsOfEvent   = []kindOfEvent{
		{actDecide, "call", decisionFields, []string{outcomePass, outcomeBlock, outcomeWait}},
		{actComplete, "complete", []string{"times", "error", "aborted", "rt", "expect"}, []string{outcomeOK, outcomeLate}},
		{actReload, "reload", []string{"expect", "reason"}, []string{outcomeOK, outcomeError}},
		{actBreaker, "breaker", []string{"expect", "domain"},
			[]string{engine.BreakerClosed.String(), engine.BreakerHalfOpen.String(), engine.BreakerOpen.String()}},
		{actSystem, "system", nil, nil},
	}
	singleRequest = kindOfEvent{actDecide, "", append(names(itemFields), decisionFields...),
		[]string{outcomePass, outcomeBlock, outcomeWait}}
)

// event reads one event. False means that it is of no use for checking what follows it.
func (r *reader) event(v rule.Value) (event, map[string]rule.Value, bool) {
	d := eventDraft{event: event{pos: r.doc.At(v), at: unread, times: 1, deadline: noDeadline}, itemDraft: itemDraft{item: item{pos: r.doc.At(v), hits: 1}}}
	given, ok := mapping(r, v, "an event", eventFields, &d)
	if !ok {
		return event{}, nil, false
	}
	if _, at := given["at"]; !at {
		r.doc.Fail(v.Missing("at"), "is missing: when it happens, such as 0ms", "")
	}
	k, ok := r.kind(v, given)
	if !ok {
		return event{}, nil, false
	}
	d.action = k.action
	r.expectation(&d.item.expect, given, k.outcomes)
	if k.action == actBreaker && given["expect"].Null() {
		r.doc.Fail(v.Missing("expect"), "is missing: the state of the breaker", "")
	}
	switch {
	case k.mark != "":
		d.event.expect = d.item.expect
	default:
		r.finish(v, given, &d.itemDraft)
		d.items = []item{d.item}
	}
	if d.hold != "" && !slices.ContainsFunc(d.items, func(it item) bool { return it.kind == engine.Charge }) {
		r.doc.Fail(given["hold"], "what takes nothing is not under way, and has no end", "")
	}
	if d.domain == "" {
		d.domain = defaultDomain
	}
	return d.event, given, true
}

var systemFields = []field[engine.SystemSample]{
	{"load", func(r *reader, v rule.Value, s *engine.SystemSample) { s.Load = r.measure(v) }},
	{"cpu", func(r *reader, v rule.Value, s *engine.SystemSample) { s.CPU = r.measure(v) }},
}

// system reads what is measured of the system. What is left out is unknown.
func (r *reader) system(v rule.Value) engine.SystemSample {
	s := engine.SystemSample{Load: -1, CPU: -1}
	mapping(r, v, "a mapping with load and cpu", systemFields, &s)
	return s
}

// kind finds what an event is, and reports the fields that have no meaning for it.
func (r *reader) kind(v rule.Value, given map[string]rule.Value) (k kindOfEvent, ok bool) {
	k = singleRequest
	for _, other := range kindsOfEvent {
		at, marked := given[other.mark]
		switch {
		case !marked:
		case k.mark != "":
			r.doc.Fail(at, fmt.Sprintf("beside %s", k.mark), "make two events of it")
			return k, false
		default:
			k = other
		}
	}
	if k.mark == "" && given["resource"].Null() && given["attrs"].Null() {
		if members, _ := v.Members(); len(members) == len(given) { // else it says what it does in words that are unknown
			r.doc.Fail(v, "does nothing", "give it a resource or attrs, or one of call, complete, reload, breaker and system")
		}
		return k, false
	}
	for _, name := range names(eventFields) {
		at, has := given[name]
		if !has || name == "at" || name == k.mark || slices.Contains(k.fields, name) {
			continue
		}
		what, fix := "of a single request", ""
		switch {
		case k.mark == "call":
			what, fix = "of a call", "move it into the requests of the call"
		case k.mark != "":
			what = "beside " + k.mark
		}
		r.doc.Fail(at, "has no meaning "+what, fix)
	}
	return k, true
}

// expectation checks that what is expected makes sense together.
func (r *reader) expectation(a *Answer, given map[string]rule.Value, outcomes []string) {
	if at, ok := given["expect"]; ok && a.Outcome != "" && !slices.Contains(outcomes, a.Outcome) {
		r.doc.Fail(at, fmt.Sprintf("unknown word %q%s", a.Outcome, rule.DidYouMean(a.Outcome, outcomes)), "")
	}
	for _, needs := range []struct{ field, outcome string }{
		{"reason", outcomeBlock}, {"retryAfter", outcomeBlock}, {"wait", outcomeWait},
	} {
		outcome := needs.outcome
		if slices.Contains(outcomes, outcomeError) { // a reload has a reason for its error
			outcome = outcomeError
		}
		if at, ok := given[needs.field]; ok && a.Outcome != outcome {
			r.doc.Fail(at, "is known only where the outcome is "+outcome, "write expect: "+outcome)
		}
	}
}
