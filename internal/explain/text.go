package explain

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sidecard/sidecard/pkg/engine/attr"
)

// shownGroups bounds how many API groups that are far from matching are named.
const shownGroups = 5

// WriteText prints the view for people.
func (v *View) WriteText(w io.Writer) error {
	t := &table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	v.writeRequest(t)
	v.writeGroups(t)
	v.writeRules(t)
	v.writeAnswer(t)
	return t.Flush()
}

// table prints rows whose columns stand below each other within a block.
type table struct{ *tabwriter.Writer }

func (t *table) row(cells ...string) {
	fmt.Fprintln(t, "  "+strings.Join(cells, "\t"))
}

// head begins a block.
func (t *table) head(title string) { fmt.Fprintln(t, title) }

func (v *View) writeRequest(t *table) {
	r := &v.Request
	t.head("Request")
	given := func(name, value string) {
		if value != "" {
			t.row(name, plain(value))
		}
	}
	given("domain", v.Domain)
	given("resource", r.Resource)
	if r.PathTooLarge {
		given("path", "too large to be matched")
	}
	given("path", r.Path)
	given("method", r.Method)
	given("host", r.Host)
	given("client IP", r.ClientIP)
	given("origin", r.Origin)
	for _, list := range []struct {
		name  string
		pairs []attr.Pair
	}{{"header", r.Headers}, {"query", r.Query}, {"cookie", r.Cookies}, {"any of these", r.Named}, {"argument", r.Arguments}} {
		for _, p := range list.pairs {
			t.row(list.name, fmt.Sprintf("%s = %q", plain(p.Name), p.Value))
		}
	}
	t.row("hits", fmt.Sprint(r.Hits))
}

// plain quotes a text that would not show as it is.
func plain(text string) string {
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func (v *View) writeGroups(t *table) {
	t.head("API groups")
	if len(v.Groups) == 0 {
		t.row("none has rules")
	}
	var far []string
	for i := range v.Groups {
		g := &v.Groups[i]
		switch {
		case g.Matched:
			t.row(g.Name, "matched", g.matching())
		case g.Unknown:
			t.row(g.Name, "unknown", "too large to be matched, so its rules refuse")
		case g.Nearly:
			t.row(g.Name, "nearly", g.missing())
		default:
			far = append(far, g.Name)
		}
	}
	if len(far) > shownGroups {
		t.row(fmt.Sprintf("not: %s and %d more", strings.Join(far[:shownGroups], ", "), len(far)-shownGroups))
	} else if len(far) > 0 {
		t.row("not: " + strings.Join(far, ", "))
	}
}

// matching is the first item that matches.
func (g *Group) matching() string {
	for i := range g.Items {
		if len(g.Items[i].Failed) == 0 {
			return g.Items[i].String()
		}
	}
	return ""
}

// missing says of each item that nearly matches what does not hold.
func (g *Group) missing() string {
	var out []string
	for i := range g.Items {
		if it := &g.Items[i]; len(it.Held) > 0 && len(it.Failed) > 0 {
			out = append(out, fmt.Sprintf("%s: not the %s", it, strings.Join(it.Failed, ", nor the ")))
		}
	}
	return strings.Join(out, "; ")
}

// String words an item.
func (it *Item) String() string {
	var parts []string
	if it.Other {
		parts = append(parts, "no other group matches")
	}
	if it.Pattern != "" {
		parts = append(parts, it.Match+" "+it.Pattern)
	}
	if it.Host != "" {
		parts = append(parts, "host "+it.Host)
	}
	if len(it.Methods) > 0 {
		parts = append(parts, strings.Join(it.Methods, " or "))
	}
	if len(parts) == 0 {
		return "everything"
	}
	return strings.Join(parts, ", ")
}

func (v *View) writeRules(t *table) {
	t.head("Rules, in the order in which they are asked")
	if len(v.Rules) == 0 {
		t.row("none: no rule is for this resource or for an API group that matches")
	}
	for i := range v.Rules {
		r := &v.Rules[i]
		verdict := r.Verdict
		if r.Shadow {
			verdict += " (shadow)"
		}
		if r.Decides {
			verdict += " *"
		}
		t.row(verdict, r.ID, r.Budget(), r.Why())
	}
}

// Budget words how the rule's budget stands before the request.
func (r *Rule) Budget() string {
	switch {
	case r.Breaker != "":
		return r.Breaker
	case r.Unlimited:
		return "unlimited"
	case r.Limit == nil:
		return r.Kind
	}
	limit := fmt.Sprintf("%d at a time", *r.Limit)
	if r.IntervalSec > 0 {
		limit = fmt.Sprintf("%d per %ds", *r.Limit, r.IntervalSec)
	}
	switch {
	case r.Used != nil:
		return fmt.Sprintf("%d of %s", *r.Used, limit)
	case r.Remaining != nil:
		return fmt.Sprintf("%s, warming up: %d left", limit, *r.Remaining)
	case r.Verdict == outcomeSkipped:
		return limit
	}
	return limit + ", one by one"
}

// Why words by what the rule came to its verdict.
func (r *Rule) Why() string {
	parts := []string{"all calls"}
	if r.Mode != "" {
		parts[0] = r.Mode + " " + r.Resource
	}
	if p := r.Param; p != nil {
		parts = append(parts, p.String())
	}
	if r.RefResource != "" {
		parts = append(parts, "by the use of "+r.RefResource)
	}
	switch r.Skipped {
	case "origin":
		parts = append(parts, "for the origin "+r.Origin)
	case "pattern":
		parts = append(parts, fmt.Sprintf("not %s %q", r.Param.Match, r.Param.Pattern))
	}
	if r.Reason != "" {
		parts = append(parts, "reason "+r.Reason)
	}
	if r.WaitMs > 0 {
		parts = append(parts, "wait "+ms(r.WaitMs))
	}
	if r.RetryAfterMs > 0 {
		parts = append(parts, "room after "+ms(r.RetryAfterMs))
	}
	return strings.Join(parts, "; ")
}

// String words what was found.
func (p *Param) String() string {
	name := p.Source
	if p.Name != "" {
		name += " " + p.Name
	}
	switch {
	case p.Special:
		return fmt.Sprintf("%s = %q, which has a limit of its own", name, p.Value)
	case p.Found == "present":
		return fmt.Sprintf("%s = %q", name, p.Value)
	case p.Found == "too-large":
		return name + " is in something too large to be searched"
	case p.Shared:
		return name + " is missing, which shares one budget"
	}
	return name + " is missing"
}

func ms(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

func (v *View) writeAnswer(t *table) {
	t.head("Answer")
	t.row(v.Answer.String())
	if v.Envoy.Status != 0 {
		t.row(fmt.Sprintf("status %d", v.Envoy.Status))
	}
	for _, h := range v.Envoy.Headers {
		t.row(h.Name + ": " + h.Value)
	}
	if v.Envoy.Body != "" {
		t.row(v.Envoy.Body)
	}
}

// String words what becomes of the request, by which rule and why.
func (a *Answer) String() string {
	line := a.Outcome
	switch {
	case a.Rule != "":
		line += " by " + a.Rule
	case !a.Matched:
		line += ", no rule applies"
	}
	if a.Reason != "" {
		line += ", reason " + a.Reason
	}
	if a.Remaining != nil && a.Allowed {
		line += fmt.Sprintf(", %d of %d remain", *a.Remaining, *a.Limit)
	}
	if a.WaitMs > 0 {
		line += ", answered after " + ms(a.WaitMs)
	}
	if a.RetryAfterMs > 0 {
		line += ", would fit after " + ms(a.RetryAfterMs)
	}
	if a.ShadowRule != "" {
		line += "; in shadow " + a.ShadowRule + " would refuse"
	}
	return line
}
