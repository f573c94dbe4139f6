package rule

import (
	"fmt"
	"strings"
)

// enumeration lists the values of a field, which users write by number or by name.
type enumeration struct {
	members []enumMember
	byName  bool // it has no numbers
}

type enumMember struct {
	name   string
	alias  string // another name for it; may be empty
	number int64
	known  bool // only to be refused with the reason, by what checks the rule
}

var (
	resourceModes = &enumeration{members: []enumMember{
		{name: "route", number: int64(ModeRoute)},
		{name: "api", number: int64(ModeAPI)},
	}}
	grades = &enumeration{members: []enumMember{
		{name: "concurrency", alias: "thread", number: gradeConcurrency},
		{name: "qps", number: gradeQPS},
	}}
	controlBehaviors = &enumeration{members: []enumMember{
		{name: "reject", number: int64(BehaviorReject)},
		{name: "warm_up", number: int64(BehaviorWarmUp)},
		{name: "queue", alias: "uniform_queueing", number: int64(BehaviorQueue)},
		{name: "warm_up_queue", number: int64(BehaviorWarmUpQueue)},
	}}
	relations = &enumeration{members: []enumMember{
		{name: "direct", number: relationDirect},
		{name: "relate", number: relationRelate},
		{name: "chain", number: relationChain, known: true},
	}}
	// Parameters have no warm-up.
	paramBehaviors = &enumeration{members: []enumMember{
		{name: "reject", number: int64(BehaviorReject)},
		{name: "warm_up", number: int64(BehaviorWarmUp), known: true},
		{name: "queue", alias: "uniform_queueing", number: int64(BehaviorQueue)},
		{name: "warm_up_queue", number: int64(BehaviorWarmUpQueue), known: true},
	}}
	matchStrategies = &enumeration{members: []enumMember{
		{name: "exact", number: int64(MatchExact)},
		{name: "prefix", number: int64(MatchPrefix)},
		{name: "regex", number: int64(MatchRegex)},
		{name: "contains", number: int64(MatchContains)},
	}}
	pathMatches = &enumeration{members: []enumMember{
		{name: "exact", number: int64(PathExact)},
		{name: "prefix", number: int64(PathPrefix)},
		{name: "regex", number: int64(PathRegex)},
	}}
	intervalUnits = &enumeration{members: []enumMember{
		{name: "second", number: 0},
		{name: "minute", number: 1},
		{name: "hour", number: 2},
		{name: "day", number: 3},
	}}
	windowModes = &enumeration{byName: true, members: []enumMember{
		{name: "aligned", number: int64(WindowAligned)},
		{name: "strict", number: int64(WindowStrict)},
		{name: "token-bucket", number: int64(WindowTokenBucket)},
	}}
	missingChoices = &enumeration{byName: true, members: []enumMember{
		{name: "skip", number: int64(MissingSkip)},
		{name: "limit", number: int64(MissingLimit)},
		{name: "block", number: int64(MissingBlock)},
	}}
	// Requests without an origin have none by which they could be limited together.
	originChoices = &enumeration{byName: true, members: []enumMember{
		{name: "skip", number: int64(MissingSkip)},
		{name: "limit", number: int64(MissingLimit), known: true},
		{name: "block", number: int64(MissingBlock)},
	}}
	overflowChoices = &enumeration{byName: true, members: []enumMember{
		{name: "sketch", number: int64(OverflowSketch)},
		{name: "allow", number: int64(OverflowAllow)},
		{name: "block", number: int64(OverflowBlock)},
	}}
	paramCodeTables = &enumeration{byName: true, members: []enumMember{
		{name: "sentinel", number: int64(ParamCodesSentinel)},
		{name: "url-first", number: int64(ParamCodesURLFirst)},
	}}
)

const (
	noNumber = -1 // of a value that is known by name only

	gradeConcurrency = 0
	gradeQPS         = 1

	relationDirect = 0
	relationRelate = 1
	relationChain  = 2
)

// find looks a value up as written. The reason says why there is none.
func (e *enumeration) find(n *node) (m enumMember, reason string) {
	switch n.kind {
	case numberNode:
		if e.byName {
			return m, fmt.Sprintf("is %s; there are %s", n.text, e.list())
		}
		number, reason := parseInteger(n.text)
		if reason != "" {
			return m, reason
		}
		for _, m := range e.members {
			if m.number == number && number != noNumber {
				return m, ""
			}
		}
		return m, fmt.Sprintf("unknown number %d; there are %s", number, e.list())
	case stringNode:
		for _, m := range e.members {
			if n.text == m.name || n.text == m.alias && m.alias != "" {
				return m, ""
			}
		}
		if number, reason := parseInteger(n.text); reason == "" && e.nameOf(number) != "" && number != noNumber && !e.byName {
			return m, fmt.Sprintf("unknown value %q; write %d without quotes, or %q", clip(n.text), number, e.nameOf(number))
		}
		if near := nearest(n.text, e.names()); near != "" {
			return m, fmt.Sprintf("unknown value %q; did you mean %q?", clip(n.text), near)
		}
		return m, fmt.Sprintf("unknown value %q; there are %s", clip(n.text), e.list())
	}
	return m, fmt.Sprintf("is %s; there are %s", n.kind, e.list())
}

// nameOf returns the name of a number; empty if it has none.
func (e *enumeration) nameOf(number int64) string {
	for _, m := range e.members {
		if m.number == number {
			return m.name
		}
	}
	return ""
}

// names lists the values worth suggesting.
func (e *enumeration) names() []string {
	var names []string
	for _, m := range e.members {
		if !m.known {
			names = append(names, m.name)
		}
	}
	return names
}

// list names every value that is taken, numbers first.
func (e *enumeration) list() string {
	var words []string
	for _, m := range e.members {
		if m.known {
			continue
		}
		word := m.name
		if m.number != noNumber && !e.byName {
			word = fmt.Sprintf("%d %s", m.number, m.name)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// clip shortens text of a file for a message.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
