package rule

import (
	"fmt"
	"math/big"
	"strings"
)

// maxValueBytes bounds the value of an exception.
const maxValueBytes = 1024

// exceptionDraft is an item of paramFlowItemList as written.
type exceptionDraft struct {
	at     spot
	object located[string]
	count  located[amount]
	class  located[int64]
}

var exceptionSchema = schema[exceptionDraft]{what: "an item of paramFlowItemList", fields: []field[exceptionDraft]{
	textField("object", "the value that it is for", maxValueBytes,
		func(d *exceptionDraft) *located[string] { return &d.object }).require().sentinel(alike),
	amountField("count", "what stands for the rule's count", "", "write 0 to block the value",
		func(d *exceptionDraft) *located[amount] { return &d.count }).require().in("requests").sentinel("a whole number").here("in the steps of the rule's own count"),
	enumField("classType", "how object is read: as the text of a Java type", classTypes, classString,
		func(d *exceptionDraft) *located[int64] { return &d.class }).sentinel("another type is read as a string").here("another type is refused"),
}}

// exceptionsField is the list of values with counts of their own.
func exceptionsField() field[limitDraft] {
	return customField("paramFlowItemList", "values of the parameter that have a count of their own", typeMappings, decodeExceptions).
		of(exceptionSchema.object, 0)
}

func decodeExceptions(f *fileLoad, at spot, n *node, d *limitDraft) {
	d.exceptions.invalid(at)
	if n.kind != listNode {
		f.fail(at, fmt.Sprintf("is %s, not a list of values with their counts", n.kind), "")
		return
	}
	items := make([]exceptionDraft, len(n.items))
	before := f.errors
	for i, in := range n.items {
		items[i].at = at.item(i, in)
		decodeMapping(f, &exceptionSchema, items[i].at, in, &items[i])
	}
	if f.errors == before {
		d.exceptions.set(at, items)
	}
}

// admitsSome says whether some exception limits its value to more than nothing, so that the rule's burst
// means something whatever its own count is.
func (d *limitDraft) admitsSome() bool {
	for i := range d.exceptions.v {
		if c := d.exceptions.v[i].count.v.exact; c.Sign() > 0 && !aboveMax(c) {
			return true
		}
	}
	return false
}

func aboveMax(count *big.Rat) bool { return count.Cmp(big.NewRat(MaxLimit, 1)) > 0 }

// checkExceptions fills in the values with counts of their own, once the rule itself is known.
func (f *fileLoad) checkExceptions(d *limitDraft, r *LimitRule) {
	if !d.exceptions.ok || len(d.exceptions.v) == 0 {
		return
	}
	if r.Param == nil {
		if r.Kind == LimitGateway && !d.param.given {
			f.fail(d.exceptions.at, "is for rules with a paramItem", "remove it, or add the paramItem")
		}
		return
	}
	seen := make(map[string]spot, len(d.exceptions.v))
	for i := range d.exceptions.v {
		e := &d.exceptions.v[i]
		values, reason, fix := classValues(e.class.v, e.object.v)
		if reason != "" {
			f.fail(e.object.at, reason, fix)
			continue
		}
		limit, ok := f.exceptionLimit(e, r)
		if !ok || !f.checkExceptionValue(e, r.Param) {
			continue
		}
		for _, v := range values {
			if first, twice := seen[v]; twice {
				f.fail(e.object.at, fmt.Sprintf("%q has an exception at %d:%d already", clip(v), first.line, first.column), "remove one of the two")
				break
			}
			seen[v] = e.object.at
			r.Exceptions = append(r.Exceptions, Exception{Value: v, Count: e.count.v.text, Limit: limit, Unlimited: aboveMax(e.count.v.exact)})
		}
	}
}

// exceptionLimit is an exception's count over the interval of the rule, which is that of all its values.
func (f *fileLoad) exceptionLimit(e *exceptionDraft, r *LimitRule) (limit int64, ok bool) {
	count := e.count.v
	if aboveMax(count.exact) {
		return MaxLimit, true
	}
	scaled := new(big.Rat).Mul(count.exact, big.NewRat(r.Scale, 1))
	if !scaled.IsInt() {
		below := new(big.Int).Quo(scaled.Num(), scaled.Denom())
		above := new(big.Int).Add(below, big.NewInt(1))
		part := func(n *big.Int) string { return decimal(new(big.Rat).SetFrac(n, big.NewInt(r.Scale))) }
		fix := fmt.Sprintf("write %s or %s", part(below), part(above))
		if below.Sign() == 0 {
			fix = fmt.Sprintf("write %s, or 0 to block the value", part(above))
		}
		f.fail(e.count.at, clip(count.text)+" is too fine: of all values the same interval is counted, and count says how fine", fix)
		return 0, false
	}
	if !scaled.Num().IsInt64() || scaled.Num().Int64() > MaxLimit-r.Burst {
		f.fail(e.count.at, fmt.Sprintf("%s is too large beside the rule's count and burst: it would be enforced as more than %d", clip(count.text), MaxLimit), "")
		return 0, false
	}
	limit = scaled.Num().Int64()
	if r.Window == WindowTokenBucket && limit > 0 && limit < r.Scale && r.Burst == 0 {
		f.fail(e.count.at, clip(count.text)+" makes a token bucket that never holds one request: nothing of the value would pass", "write 1 or more, or 0 to block the value, or add a burst")
		return 0, false
	}
	return limit, true
}

// checkExceptionValue reports a value that no request has where the rule applies.
func (f *fileLoad) checkExceptionValue(e *exceptionDraft, p *ParamItem) bool {
	before := f.errors
	at, value := e.object.at, e.object.v
	switch {
	case p.Source == SourceHost && strings.Contains(value, "*"):
		f.fail(at, fmt.Sprintf("%q is no host, and an exception is for one", clip(value)), "add an item for each host")
	case p.Source == SourceHeader && strings.Trim(value, " \t") != value:
		f.fail(at, fmt.Sprintf("%q never applies: the blanks around a header are no part of it", clip(value)), "remove the blanks")
	case p.Source == SourceAttribute && p.FieldName == "path" && value != "":
		f.checkPath(at, value, PathExact)
	case p.Source == SourceAttribute && p.FieldName == "method" && strings.ToUpper(value) != value:
		f.neverMatches(at, "methods", value, strings.ToUpper(value))
	default:
		f.checkSpelling(at, &ParamItem{Source: p.Source, Pattern: value, Match: MatchExact})
	}
	if p.Pattern != "" && p.Match != MatchRegex && !p.literally(value) {
		f.warn(at, fmt.Sprintf("%q is not limited by this rule at all: it does not match the pattern", clip(value)), "")
	}
	return f.errors == before
}

// literally says whether a value matches a pattern that is no expression.
func (p *ParamItem) literally(value string) bool {
	switch p.Match {
	case MatchPrefix:
		return strings.HasPrefix(value, p.Pattern)
	case MatchContains:
		return strings.Contains(value, p.Pattern)
	}
	return value == p.Pattern
}
