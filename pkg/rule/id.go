package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Bounds on rule ids, which end in headers, metric labels and logs.
const (
	maxIDBytes        = 128
	maxDerivedIDBytes = 256
)

// idField is the name that a user gives a rule: a string. A number is the row number that Sentinel's
// dashboard keeps rules under.
func idField[T any](into func(*T) *located[string]) field[T] {
	fd := customField("id", "a name for the rule, kept when the rule changes; by default what it limits, in words", typeText, func(f *fileLoad, at spot, n *node, t *T) {
		if n.kind == numberNode {
			f.ignore("id", at)
			return
		}
		id := into(t)
		f.text(at, n, maxIDBytes, id)
		if id.ok {
			id.ok = f.checkID(at, id.v)
		}
	}).atMost(maxIDBytes).sentinel("the number of a row in its dashboard").here("a number is ignored")
	fd.numberID = true
	return fd
}

// checkID reports an id that could not stand in a header as it is.
func (f *fileLoad) checkID(at spot, id string) bool {
	for i := range len(id) {
		if c := id[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			f.fail(at, fmt.Sprintf("%q holds %q; an id is printable ASCII without \" and \\", clip(id), id[i:i+1]), "")
			return false
		}
	}
	if id == "" || id != strings.TrimSpace(id) {
		f.fail(at, fmt.Sprintf("%q is blank, or begins or ends with a space", id), "")
		return false
	}
	return true
}

// deriveID names a rule by what it limits, without count, so that the name stays when the limit
// changes: [domain/]kind/mode/resource[/origin][/relate:ref]/grade/behaviour/interval/window[/param[/match:pattern]].
// The interval is the one written, in seconds; concurrency has neither interval nor window.
func deriveID(r *LimitRule, seconds int64) string {
	var b strings.Builder
	if r.Domain != "" {
		b.WriteString(escapeID(r.Domain) + "/")
	}
	b.WriteString(r.Kind.String() + "/" + r.Mode.String() + "/" + escapeID(r.Resource))
	if r.Origin != "" {
		b.WriteString("/" + escapeID(r.Origin))
	}
	if r.RefResource != "" {
		b.WriteString("/relate:" + escapeID(r.RefResource))
	}
	b.WriteString("/" + r.Grade.String() + "/" + r.Behavior.String())
	if r.Grade != GradeConcurrency {
		b.WriteString("/" + strconv.FormatInt(seconds, 10) + "s/" + r.Window.String())
	}
	if p := r.Param; p != nil && r.Kind != LimitFlow {
		b.WriteString("/" + p.Source.String())
		if p.FieldName != "" {
			b.WriteString(":" + escapeID(p.name()))
		}
		if p.Template != "" {
			b.WriteString("/in:" + escapeID(p.Template))
		}
		if p.Pattern != "" {
			b.WriteString("/" + p.Match.String() + ":" + escapeID(p.Pattern))
		}
	}
	return fitID(b.String())
}

// fitID shortens a derived id that is too long for a header; a digest keeps it unique.
func fitID(id string) string {
	if len(id) <= maxDerivedIDBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	digest := "~" + hex.EncodeToString(sum[:8])
	return id[:maxDerivedIDBytes-len(digest)] + digest
}

// claimID takes an id for the rule at a place, written or derived, unless another rule of the domain
// has it. What the rule does is said of a derived id, by which both do it to the same.
func (f *fileLoad) claimID(at spot, written *located[string], id, does string) bool {
	key := idKey{domain: f.domain, name: id}
	if first, taken := f.ids[key]; taken {
		message, fix := "", "give one of the two an id of its own, or remove one"
		switch {
		case written.given:
			at = written.at
			message, fix = "the rule at "+first.at.String()+" has this id", "give one of the two another id"
		case first.written:
			message, fix = "its id would be "+id+", which is written at the rule at "+first.at.String(), "give one of the two another id"
		default:
			message = does + " the same as the rule at " + first.at.String() + ", whose id is " + id + " as well"
		}
		f.fail(at, message, fix)
		return false
	}
	f.ids[key] = claim{at: f.position(at), written: written.given}
	return true
}

// name returns the name by which the parameter is looked up: headers have no case.
func (p *ParamItem) name() string {
	if p.Source == SourceHeader {
		return strings.ToLower(p.FieldName)
	}
	return p.FieldName
}

// escapeID percent-escapes what separates the parts of an id, and what must not stand in a header.
func escapeID(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c > '~' || strings.IndexByte(`/%"\`, c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// StateKey identifies the state that the rule counts in: a rule that keeps its key over a reload keeps
// its counters, and a changed count acts on them at once. It holds all that gives the counters their
// meaning but the layout of the state, which the engine adds. It is not for showing.
func (r *LimitRule) StateKey() string {
	parts := []string{
		r.Kind.String(), r.Domain, r.ID,
		strconv.Itoa(int(r.Mode)), r.Resource,
		r.Grade.String(), r.Behavior.String(),
		r.Interval.String(), strconv.Itoa(int(r.Window)), strconv.Itoa(r.SampleCount),
	}
	if r.Kind == LimitFlow {
		parts = append(parts, r.Origin, r.RefResource)
	}
	if r.Window == WindowTokenBucket {
		parts = append(parts, strconv.FormatInt(r.Scale, 10)) // its interval is the one written
	}
	if p := r.Param; p != nil {
		parts = append(parts, p.Source.String(), p.name(), strconv.Itoa(int(p.Match)), p.Pattern, p.Template)
	}
	return joinKey(parts)
}

// joinKey joins the parts of a state key, each with its length, so that none can reach into the next.
func joinKey(parts []string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)))
		b.WriteByte(':')
		b.WriteString(part)
	}
	return b.String()
}
