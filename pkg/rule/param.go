package rule

import (
	"fmt"
	"strings"
)

// maxFieldNameBytes bounds the name of a header, URL parameter or cookie.
const maxFieldNameBytes = 256

// paramDraft is a paramItem as written.
type paramDraft struct {
	strategy           located[strategy]
	fieldName, pattern located[string]
	template           located[string]
	match              located[int64]
}

// strategy is a parseStrategy: its name and the number it was written as.
type strategy struct {
	name   string
	number int64 // -1: it was written by name
}

var paramSchema = schema[paramDraft]{what: "a parameter item", fields: append(
	[]field[paramDraft]{
		strategyField(),
		textField("fieldName", "the name of the header, URL parameter, cookie or path variable", maxFieldNameBytes,
			func(d *paramDraft) *located[string] { return &d.fieldName }).sentinel("the first value of that name").here("the same; a number of parseStrategy that makes no sense beside it is an error with both readings"),
		textField("template", "with path_param: the path, with the variable in braces; without it, the items of the API group say", maxPatternBytes,
			func(d *paramDraft) *located[string] { return &d.template }).extension(),
		textField("pattern", "limit only values that match this", maxPatternBytes,
			func(d *paramDraft) *located[string] { return &d.pattern }).
			sentinel("values that do not match share a limit of 10000000, which a client can get by sending `$NM`").here("values that do not match are not limited by the rule"),
		enumField("matchStrategy", "how pattern is compared", matchStrategies, int64(MatchExact),
			func(d *paramDraft) *located[int64] { return &d.match }).
			sentinel("prefix, and an expression that does not compile, limit every value").here("all four; an expression is RE2, for the whole value, and must compile"),
	},
	ignoredFields[paramDraft]("index")...,
)}

// The names of the sources, in the order of ParamSource.
var sourceNames = [...]string{
	SourceClientIP: "client_ip", SourceHost: "host", SourceHeader: "header", SourceURLParam: "url_param", SourceCookie: "cookie",
	SourcePathParam: pathParam, SourceAttribute: "attribute", SourceArgument: "argument", SourceOrigin: "origin", SourceRoute: "route",
}

const pathParam = "path_param"

// String returns the name that parseStrategy takes, and attribute, argument, origin and route for those that
// no gateway rule has.
func (s ParamSource) String() string {
	if int(s) < len(sourceNames) {
		return sourceNames[s]
	}
	return ""
}

// named tells whether parameters of a source, given by name, have names of their own.
func named(source string) bool { return source != "client_ip" && source != "host" }

// strategyTables hold the numbers of parseStrategy. A name without a number is known by name only.
var strategyTables = [...]enumeration{
	ParamCodesSentinel: {members: []enumMember{
		{name: "client_ip", number: 0}, {name: "host", number: 1}, {name: "header", number: 2}, {name: "url_param", number: 3}, {name: "cookie", number: 4},
		{name: pathParam, number: noNumber},
	}},
	ParamCodesURLFirst: {members: []enumMember{
		{name: "url_param", number: 0}, {name: pathParam, number: 1}, {name: "header", number: 2}, {name: "cookie", number: 3}, {name: "client_ip", number: 4},
		{name: "host", number: noNumber},
	}},
}

func strategyField() field[paramDraft] {
	fd := customField("parseStrategy", "where the parameter is", "", decodeStrategy).require().
		sentinel("its own numbers only; with an unknown one the rule never limits").here("names, and the numbers of the table that `paramCodes` names; an unknown one is refused")
	fd.enum = &strategyTables[ParamCodesSentinel] // which has all names, and numbers as many as the other
	return fd
}

func decodeStrategy(f *fileLoad, at spot, n *node, d *paramDraft) {
	d.strategy.invalid(at)
	m, reason := strategyTables[f.codes].find(n)
	if reason != "" {
		f.fail(at, reason, "")
		return
	}
	s := strategy{name: m.name, number: noNumber}
	if n.kind == numberNode {
		s.number = m.number
	}
	d.strategy.set(at, s)
}

// checkParam turns a paramItem into its meaning; nil if there is none or it is wrong.
func (f *fileLoad) checkParam(d *limitDraft) *ParamItem {
	if !d.param.given {
		for _, field := range []*located[int64]{&d.onMissing, &d.maxKeys, &d.overflow} {
			if field.given && field.ok {
				f.fail(field.at, "is for rules with a paramItem", "remove it, or add the paramItem")
			}
		}
		return nil
	}
	p := d.param.v
	if p == nil {
		return nil
	}
	item := &ParamItem{FieldName: p.fieldName.v, Pattern: p.pattern.v, Match: MatchStrategy(p.match.v)}
	f.checkPattern(p)
	if !p.strategy.ok || !p.fieldName.ok || !f.checkStrategy(p) {
		return item
	}
	for source, name := range sourceNames {
		if name == p.strategy.v.name {
			item.Source = ParamSource(source)
		}
	}
	if item.FieldName != "" {
		f.checkFieldName(p.fieldName.at, item)
	}
	f.checkPathParam(d, p, item)
	if item.Pattern != "" && p.pattern.ok && p.match.ok {
		f.checkSpelling(p.pattern.at, item)
	}
	return item
}

// checkStrategy compares parseStrategy with fieldName. Two tables of numbers are in use that agree
// on little, so a number that the table of this file gives no sense to is never guessed at.
func (f *fileLoad) checkStrategy(p *paramDraft) bool {
	s, at := p.strategy.v, p.strategy.at
	hasName := p.fieldName.v != ""
	fits := named(s.name) == hasName
	if fits {
		return true
	}
	with, fix := "with a fieldName", "remove the fieldName"
	if !hasName {
		with, fix = "without a fieldName", "add the fieldName"
	}
	other := ParamCodesURLFirst
	if f.codes == other {
		other = ParamCodesSentinel
	}
	reading := strategyTables[other].nameOf(s.number)
	if s.number == noNumber || reading == s.name {
		f.fail(at, fmt.Sprintf("%s %s makes no sense", s.name, with), fix)
		return false
	}
	fixes := []string{"write the name instead of the number", fix}
	if reading == "" {
		reading = "nothing"
	} else if named(reading) == hasName {
		fixes = append(fixes, fmt.Sprintf("say paramCodes %s", other))
	}
	f.fail(at, fmt.Sprintf("%d %s makes no sense: it means %s in the %s table and %s in the %s table", s.number, with, s.name, f.codes, reading, other),
		strings.Join(fixes, ", or "))
	return false
}

func (f *fileLoad) checkFieldName(at spot, item *ParamItem) {
	name := item.FieldName
	switch {
	case item.Source == SourcePathParam: // checkPathParam does
	case item.Source == SourceURLParam:
		if strings.IndexFunc(name, isControl) >= 0 {
			f.fail(at, "holds a control character", "")
		}
	case strings.HasPrefix(name, ":"):
		f.fail(at, fmt.Sprintf("%q is no header that can be limited by", clip(name)), "for the host, write parseStrategy host")
	case !isToken(name):
		f.fail(at, fmt.Sprintf("%q cannot be the name of a %s", clip(name), item.Source), "")
	}
}

// isToken tells whether s is a token of RFC 9110, as names of headers, cookies and methods are.
func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// checkPattern reports a pattern that cannot match what its author meant.
func (f *fileLoad) checkPattern(p *paramDraft) {
	if !p.pattern.ok || !p.match.ok {
		return
	}
	switch {
	case p.pattern.v == "" && p.match.v != int64(MatchExact):
		f.warn(p.match.at, "matchStrategy without a pattern means nothing: every value is limited", "")
	case p.pattern.v != "" && p.match.v == int64(MatchRegex):
		f.checkRegex(p.pattern.at, p.pattern.v)
	}
}
