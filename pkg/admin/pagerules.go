package admin

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
)

// ruleTable is the rules in force as the page shows them. There may be ten thousand, of which few are shown: only
// those are put into words.
type ruleTable struct {
	now    int64
	silent map[string]bool // domains without reports
	rows   []ruleRow       // in the order in which they are asked
}

// ruleRow is a rule as the page shows it.
type ruleRow struct {
	Rule            // but for Recent it is empty until it is described
	Place   int     // among all rules
	Refused float64 // requests a second, as the others
	Passing float64
	Shadows float64 // that it would refuse, were it not in shadow
	Hot     []Value // that most requests have

	state engine.RuleState
}

func (s *Server) ruleTable() *ruleTable {
	states := s.cfg.Engine.Rules()
	t := &ruleTable{now: s.cfg.Now(), silent: silences(s.cfg.Engine.Tokens().Domains, states), rows: make([]ruleRow, len(states))}
	for i, recent := range s.recent.of(t.now, states) {
		r := &t.rows[i]
		r.Place, r.state, r.Recent = i, states[i], recent
		if recent.Seconds > 0 {
			r.Refused, r.Passing = float64(recent.Blocked)/recent.Seconds, float64(recent.Passed)/recent.Seconds
			r.Shadows = float64(recent.ShadowBlock) / recent.Seconds
		}
	}
	return t
}

// describe puts rows into words, those that are not yet.
func (t *ruleTable) describe(rows []ruleRow) {
	for i := range rows {
		if r := &rows[i]; r.Kind == "" {
			recent := r.Recent
			r.Rule = viewRule(t.now, r.state)
			r.Recent = recent
			r.hint(r.state, t.silent)
		}
	}
}

func (r *ruleRow) key() ruleKey { return ruleKey{r.state.Rule.Domain, r.state.Rule.ID} }

// Why says in a few words what the rule limits.
func (r *ruleRow) Why() string {
	if r.Param == "" {
		return r.Limits
	}
	return r.Limits + ", for each " + r.Param
}

// Cause says the same of a rule that refuses.
func (r *ruleRow) Cause() string {
	switch r.Kind {
	case KindDegrade, KindSystem, KindAuthority: // they say what they do
		return r.Why()
	}
	return "limit " + r.Why()
}

// Filled is how much of the table of values is taken, of 1.
func (k *Keys) Filled() float64 {
	if k.Most == 0 {
		return 0
	}
	return float64(k.Held) / float64(k.Most)
}

// list shows the rules that are asked for.
func (t *ruleTable) list(q pageQuery) list[ruleRow] {
	rows := slices.Clone(t.rows)
	if q.Find != "" || q.Rules.By == "limits" {
		t.describe(rows)
	}
	if q.Find != "" {
		rows = slices.DeleteFunc(rows, func(r ruleRow) bool { return !r.has(q.Find) })
	}
	sortBy(rows, q.Rules, ruleColumns)
	shown := cut(rows, q.most(pageRules))
	t.describe(shown.Rows)
	for _, c := range []struct {
		by, title, note string
		figure          bool
	}{
		{"id", "Rule", "", false}, {"resource", "Resource", "", false}, {"limits", "Limits", "", false},
		{"refused", "Refused /s", "on average of the last seconds", true}, {"total", "Refused", "since the rule came into force", true},
		{"passed", "Passed", "since the rule came into force", true}, {"inflight", "Under way", "calls that have not ended, of a rule that counts them", true},
		{"keys", "Values held", "in its table of parameter values, and the most that it may hold", true},
		{"source", "Source", "where it is written", false},
	} {
		shown.Heads = append(shown.Heads, q.head(q.Rules, c.by, c.title, c.note, c.figure))
	}
	return shown
}

// has says whether the rule has the text, in whatever case, in what names it.
func (r *ruleRow) has(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{r.ID, r.Resource, r.Domain, r.Kind, r.Param, r.Source.File}, func(s string) bool {
		return strings.Contains(strings.ToLower(s), text)
	})
}

// ruleColumns compare what need not be put into words, but for limits.
var ruleColumns = map[string]func(a, b *ruleRow) int{
	"id":       by(func(r *ruleRow) string { return r.state.Rule.ID }),
	"resource": by(func(r *ruleRow) string { return r.state.Rule.Resource }),
	"limits":   by(func(r *ruleRow) string { return r.Kind + r.Limits }),
	"refused":  by(func(r *ruleRow) float64 { return r.Refused }),
	"total":    by(func(r *ruleRow) int64 { return r.state.Rule.Blocked.Load() }),
	"passed":   by(func(r *ruleRow) int64 { return r.state.Rule.Passed.Load() }),
	"inflight": by(func(r *ruleRow) int64 {
		if !r.state.Tracks {
			return -1
		}
		return r.state.InFlight
	}),
	"keys": by(func(r *ruleRow) int64 { return r.state.Keys.Keys }),
	"source": func(a, b *ruleRow) int {
		p, q := a.state.Rule.Definition().Position(), b.state.Rule.Definition().Position()
		return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
	},
}
