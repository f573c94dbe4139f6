package engine_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/match"
	naive "github.com/sidecard/sidecard/internal/testkit/window"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
	"pgregory.net/rapid"
)

// start is a present-day time that is no slot boundary of any window.
const start = int64(1_796_000_000)*int64(time.Second) + 123_456_789

// params is a bag of parameters for tests, by source and name.
type params map[paramKey]string

type paramKey struct {
	source rule.ParamSource
	name   string
}

func (p params) Param(s rule.ParamSource, name string) (string, engine.Presence) {
	v, ok := p[paramKey{s, name}]
	if !ok {
		return "", engine.Absent
	}
	return v, engine.Present
}

// model decides calls the slow way: an unbounded map of naive windows, all groups tried, the call
// thought through as the design page words it.
type model struct {
	set     rule.Set
	budgets map[string]*naive.LeapArray
	nextID  int
}

// application is one rule applied to one request.
type application struct {
	r           *rule.LimitRule
	item, order int
	budget      *naive.LeapArray
	limit       int64
	n, ask      int64
	refused     bool
	reason      engine.Reason
	left        int64
	unspendable bool // unlimited, or refused without asking the budget
}

func (m *model) decide(now int64, c *engine.Call) []engine.Verdict {
	var all []*application
	for i := range c.Items {
		all = append(all, m.collect(now, c, i, all)...)
	}
	refused := slices.ContainsFunc(all, func(a *application) bool { return a.refused && !a.r.Shadow })
	for _, a := range all {
		if refused || a.refused || a.unspendable || c.Items[a.item].Kind != engine.Charge {
			continue
		}
		m.nextID++
		if ok, left := a.budget.TryAcquire(m.nextID, now, a.n, a.limit); ok {
			a.left = left
		} else if a.r.Shadow {
			a.refused = true
		}
	}
	for _, a := range all {
		if c.Items[a.item].Kind == engine.Refund && !a.unspendable {
			a.budget.Release(now, a.n)
			_, a.left = a.budget.Peek(now, 1, a.limit)
		}
	}
	out := make([]engine.Verdict, len(c.Items))
	for i := range out {
		out[i] = verdict(now, i, all)
	}
	return out
}

func (m *model) collect(now int64, c *engine.Call, i int, before []*application) []*application {
	q := &c.Items[i]
	domain := ""
	if slices.Contains(m.set.Claimed, c.Domain) {
		domain = c.Domain
	}
	groups := match.Groups(m.set.APIs, domain, q.Host, q.Method, q.Path)
	var out []*application
	apply := func(mode rule.ResourceMode, resource string) {
		for j := range m.set.Limits {
			r := &m.set.Limits[j]
			if r.Domain != domain || r.Mode != mode || r.Resource != resource {
				continue
			}
			if a := m.apply(now, q, r, slices.Concat(before, out)); a != nil {
				a.item, a.order = i, j
				out = append(out, a)
			}
		}
	}
	if q.Resource != "" {
		apply(rule.ModeRoute, q.Resource)
	}
	for _, g := range groups {
		apply(rule.ModeAPI, g)
	}
	return out
}

func (m *model) apply(now int64, q *engine.Request, r *rule.LimitRule, before []*application) *application {
	a := &application{r: r, limit: r.Limit, n: min(q.Hits, 1<<40), unspendable: r.Unlimited}
	key := "whole"
	if p := r.Param; p != nil {
		v, found := q.Attrs.Param(p.Source, strings.ToLower(p.FieldName))
		switch {
		case found == engine.Absent && r.OnMissing == rule.MissingSkip:
			return nil
		case found == engine.Absent && r.OnMissing == rule.MissingBlock:
			a.refused, a.reason, a.unspendable = q.Kind != engine.Refund, engine.ReasonMissingParam, true
			return a
		case found == engine.Absent:
			key = "missing"
		case !concerned(p, v):
			return nil
		default:
			key = "value " + v
			for _, e := range r.Exceptions {
				if e.Value == v {
					a.limit, a.unspendable = e.Limit, e.Unlimited
				}
			}
		}
	}
	if a.unspendable {
		return a
	}
	name := r.Domain + "|" + r.ID + "|" + key
	if m.budgets[name] == nil {
		m.budgets[name] = naive.NewLeapArray(now, r.SampleCount, r.Interval, r.Window == rule.WindowStrict)
	}
	a.budget = m.budgets[name]
	if q.Kind == engine.Refund {
		return a
	}
	a.ask = a.n
	for _, b := range before {
		if b.budget == a.budget && b.n > 0 && b.ask > 0 && !peeked(b) {
			a.ask += b.n
		}
	}
	ok, left := a.budget.Peek(now, a.ask, a.limit)
	a.left = left
	if !ok {
		a.refused, a.reason = true, engine.ReasonLimit
	}
	if q.Kind == engine.Peek {
		a.n = 0 // takes nothing from those behind it
	}
	return a
}

func peeked(a *application) bool { return a.n == 0 }

func concerned(p *rule.ParamItem, v string) bool {
	switch {
	case p.Pattern == "":
		return true
	case p.Match == rule.MatchExact:
		return v == p.Pattern
	case p.Match == rule.MatchPrefix:
		return strings.HasPrefix(v, p.Pattern)
	case p.Match == rule.MatchContains:
		return strings.Contains(v, p.Pattern)
	}
	return regexp.MustCompile(`\A(?:` + p.Pattern + `)\z`).MatchString(v)
}

// verdict fills what the test compares: code, matched, remaining, reset, and the deciding rule's
// limit.
func verdict(now int64, item int, all []*application) engine.Verdict {
	var v engine.Verdict
	var best *application
	var longest time.Duration
	const never = time.Duration(1<<63 - 1)
	for _, a := range all {
		if a.item != item {
			continue
		}
		v.Matched = true
		switch {
		case a.r.Shadow:
		case a.refused:
			wait := never
			if a.reason == engine.ReasonLimit {
				if d, ok := a.budget.Until(now, a.ask, a.limit); ok {
					wait = max(d, 1) // a refund of the same call may have made room since
				}
			}
			if v.Code == engine.Pass || wait > longest || wait == longest && a.order < best.order {
				v.Code, best, longest = engine.Block, a, wait
			}
		case v.Code == engine.Pass && !a.unspendable && (best == nil || a.left < best.left || a.left == best.left && a.order < best.order):
			best = a
		}
	}
	if best == nil {
		return v
	}
	v.Reason, v.Limit = best.reason, best.limit
	if best.r.Unlimited && best.reason == engine.ReasonMissingParam {
		v.Limit, v.Unlimited = 0, true
	}
	if v.Code == engine.Pass {
		v.Remaining, v.Reset = best.left, best.budget.Reset(now)
	} else if longest != never {
		v.Reset = longest
	}
	return v
}

func drawRule(t *rapid.T, i int) rule.LimitRule {
	r := rule.LimitRule{
		ID:          fmt.Sprint("r", i),
		Domain:      rapid.SampledFrom([]string{"", "", "claimed"}).Draw(t, "domain"),
		Mode:        rapid.SampledFrom([]rule.ResourceMode{rule.ModeRoute, rule.ModeAPI}).Draw(t, "mode"),
		Limit:       rapid.SampledFrom([]int64{0, 1, 3, 5, 9}).Draw(t, "limit"),
		Unlimited:   rapid.IntRange(0, 9).Draw(t, "unlimited") == 0,
		Interval:    rapid.SampledFrom([]time.Duration{time.Second, 3 * time.Second}).Draw(t, "interval"),
		SampleCount: rapid.SampledFrom([]int{1, 2, 5, 10}).Draw(t, "samples"),
		Window:      rapid.SampledFrom([]rule.WindowMode{rule.WindowAligned, rule.WindowStrict}).Draw(t, "window"),
		Shadow:      rapid.IntRange(0, 4).Draw(t, "shadow") == 0,
		MaxKeys:     1 << 10,
	}
	r.Resource = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "route")
	if r.Mode == rule.ModeAPI {
		r.Resource = rapid.SampledFrom([]string{"api0", "api1", "api2", "undefined"}).Draw(t, "group")
	}
	if rapid.Bool().Draw(t, "keyed") {
		r.Param = &rule.ParamItem{
			Source:    rapid.SampledFrom([]rule.ParamSource{rule.SourceHeader, rule.SourceURLParam, rule.SourceCookie}).Draw(t, "source"),
			FieldName: "x",
			Pattern:   rapid.SampledFrom([]string{"", "", "v1", "v"}).Draw(t, "pattern"),
			Match:     rapid.SampledFrom([]rule.MatchStrategy{rule.MatchExact, rule.MatchPrefix, rule.MatchRegex, rule.MatchContains}).Draw(t, "match"),
		}
		for _, value := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"", "v1", "v2"}), rapid.ID[string]).Draw(t, "exceptions") {
			r.Exceptions = append(r.Exceptions, rule.Exception{
				Value: value, Limit: rapid.SampledFrom([]int64{0, 1, 2, 7, 20}).Draw(t, "own"), Unlimited: rapid.IntRange(0, 5).Draw(t, "free") == 0,
			})
		}
		r.OnMissing = rapid.SampledFrom([]rule.OnMissing{rule.MissingSkip, rule.MissingLimit, rule.MissingBlock}).Draw(t, "missing")
	}
	return r
}

func drawAPI(t *rapid.T, i int) rule.APIDefinition {
	items := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rule.PredicateItem {
		if rapid.IntRange(0, 7).Draw(t, "other") == 0 {
			return rule.PredicateItem{Other: true}
		}
		it := rule.PredicateItem{
			Host:  rapid.SampledFrom([]string{"", "", "h.example.com", "*.example.com"}).Draw(t, "host"),
			Match: rapid.SampledFrom([]rule.PathMatch{rule.PathExact, rule.PathPrefix, rule.PathRegex}).Draw(t, "match"),
		}
		it.Pattern = rapid.SampledFrom([]string{"", "/p", "/p/**", "/*/q"}).Draw(t, "pattern")
		if it.Match == rule.PathRegex && it.Pattern != "" {
			it.Pattern = rapid.SampledFrom([]string{"/p.*", "^/.*q$", "/p|/p/q"}).Draw(t, "regex")
		}
		if rapid.Bool().Draw(t, "methods") {
			it.Methods = []string{"GET", "HEAD"}
		}
		return it
	}), 1, 3).Draw(t, "items")
	return rule.APIDefinition{
		Name: fmt.Sprint("api", i), Items: items,
		Domain: rapid.SampledFrom([]string{"", "", "claimed"}).Draw(t, "domain"),
	}
}

func drawRequest(t *rapid.T) engine.Request {
	p := params{}
	for _, s := range []rule.ParamSource{rule.SourceHeader, rule.SourceURLParam, rule.SourceCookie} {
		if v := rapid.SampledFrom([]string{"-", "", "v1", "v2"}).Draw(t, "value"); v != "-" {
			p[paramKey{s, "x"}] = v
		}
	}
	return engine.Request{
		Resource: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "resource"),
		Path:     rapid.SampledFrom([]string{"", "/p", "/p/q", "/z"}).Draw(t, "path"),
		Method:   rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "method"),
		Host:     rapid.SampledFrom([]string{"", "h.example.com", "i.h.example.com", "example.com"}).Draw(t, "host"),
		Attrs:    p,
		Hits:     rapid.SampledFrom([]int64{1, 1, 1, 2, 4, 1 << 40, 1<<63 - 1}).Draw(t, "hits"),
		Kind:     rapid.SampledFrom([]engine.Kind{engine.Charge, engine.Charge, engine.Charge, engine.Peek, engine.Refund}).Draw(t, "kind"),
	}
}

func TestDecideAgainstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := rule.Set{Claimed: []string{"claimed"}}
		for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
			set.Limits = append(set.Limits, drawRule(t, i))
		}
		for i := range 3 {
			set.APIs = append(set.APIs, drawAPI(t, i))
		}
		now := start
		e := engine.New(engine.Options{})
		if _, err := e.Apply(now, set); err != nil {
			t.Fatal(err)
		}
		m := &model{set: set, budgets: map[string]*naive.LeapArray{}}
		var c engine.Call
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 0, 1e6, 1e8, 5e8, 1e9, 7e9}).Draw(t, "step")
			c.Domain = rapid.SampledFrom([]string{"", "claimed", "free"}).Draw(t, "domain")
			c.Items = rapid.SliceOfN(rapid.Custom(drawRequest), 1, 3).Draw(t, "items")
			want := m.decide(now, &c)
			e.Decide(now, &c)
			for i, v := range c.Verdicts {
				w := want[i]
				if v.Code != w.Code || v.Matched != w.Matched || v.Reason != w.Reason ||
					v.Remaining != w.Remaining || v.Reset != w.Reset || v.Limit != w.Limit {
					t.Fatalf("item %d of %+v:\ngot  %+v\nwant %+v", i, c.Items, v, w)
				}
			}
		}
	})
}
