package admin

import (
	"fmt"
	"time"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Rules is the answer of /api/v1/rules.
type Rules struct {
	RulesStatus
	Now   time.Time `json:"now"`   // by the clock that windows live by
	Rules []Rule    `json:"rules"` // in the order in which they are asked
}

// Rule is a rule in force, and what it does.
type Rule struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // gw-flow, flow, param-flow, degrade, system or authority
	Domain   string `json:"domain,omitempty"`
	Resource string `json:"resource,omitempty"` // absent of a system rule
	Mode     string `json:"mode,omitempty"`     // of the resource: route, api or regex
	Shadow   bool   `json:"shadow"`
	Source   Place  `json:"source"` // where it is written

	Limits string `json:"limits"`           // what it limits, in a few words
	Counts string `json:"counts,omitempty"` // how it counts, or which calls it judges
	AtMost string `json:"atMost,omitempty"` // the most that it lets pass
	Param  string `json:"param,omitempty"`  // whose values it limits one by one

	// Definition is the rule as `sidecard check --print -o json` has it.
	Definition any `json:"definition"`

	Passed      int64 `json:"passed"`      // requests, since the id came into force
	Blocked     int64 `json:"blocked"`     // refused by it
	Waited      int64 `json:"waited"`      // of those that passed: held back by it
	ShadowBlock int64 `json:"shadowBlock"` // that it would have refused if it were not in shadow
	Missing     int64 `json:"missing"`     // without its parameter or origin
	Untracked   int64 `json:"untracked"`   // whose value found no room

	Recent Recent `json:"recent"`

	InFlight *int64   `json:"inFlight,omitempty"` // calls under way; absent: it does not count them
	Keys     *Keys    `json:"keys,omitempty"`     // absent: it limits no parameter
	Breaker  *Breaker `json:"breaker,omitempty"`  // absent: it is no circuit breaker
	Hints    []string `json:"hints,omitempty"`    // what an operator should look at
}

// Place is a place in a rule file.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; absent: unknown
	Column int    `json:"column,omitempty"`
}

// String formats the place as file:line:column.
func (p Place) String() string {
	return rule.Position{File: p.File, Line: p.Line, Column: p.Column}.String()
}

// Keys is how full the table of a rule's parameter values is.
type Keys struct {
	Held      int64 `json:"held"`      // values, those that have expired in the last minute included
	Most      int64 `json:"most"`      // that the rule may hold
	Slots     int64 `json:"slots"`     // places, at the present size
	Bytes     int64 `json:"bytes"`     // memory, at the present size
	Overflows int64 `json:"overflows"` // requests that found no room
}

// Breaker is how a circuit breaker stands.
type Breaker struct {
	State       string    `json:"state"` // closed, half_open or open
	Since       time.Time `json:"since"`
	Transitions uint64    `json:"transitions"` // changes of state, ever
	Probes      int64     `json:"probes"`      // under way, half open
	// Calls are those that it judges by, or half open the probes that have ended.
	Calls  int64 `json:"calls"`
	Slow   int64 `json:"slow"`
	Errors int64 `json:"errors"`
}

// NoReports is the hint of a rule that waits for the ends of calls which nobody reports.
const NoReports = "no outcome reports: calls have ended and nobody told how, see docs/outcomes.md"

func (s *Server) rules() Rules {
	now, states := s.cfg.Now(), s.cfg.Engine.Rules()
	v := Rules{Now: at(now), RulesStatus: s.rulesStatus(s.cfg.Daemon().Loading), Rules: make([]Rule, len(states))}
	silent, recent := silences(s.cfg.Engine.Tokens().Domains, states), s.recent.of(now, states)
	for i := range states {
		v.Rules[i] = viewRule(now, states[i])
		v.Rules[i].Recent = recent[i]
		v.Rules[i].hint(states[i], silent)
	}
	return v
}

// viewRule shows a rule in force.
func viewRule(now int64, st engine.RuleState) Rule {
	r := st.Rule
	pos := r.Definition().Position()
	v := Rule{
		ID: r.ID, Domain: r.Domain, Resource: r.Resource, Shadow: r.Shadow,
		Source: Place{pos.File, pos.Line, pos.Column},
		Passed: r.Passed.Load(), Blocked: r.Blocked.Load(), Waited: r.Waited.Load(), ShadowBlock: r.ShadowBlock.Load(),
		Missing: r.Missing.Load(), Untracked: r.Untracked.Load(),
	}
	v.define(r.Definition())
	if st.Tracks {
		v.InFlight = &st.InFlight
	}
	if v.Param != "" {
		v.Keys = &Keys{Held: st.Keys.Keys, Most: st.Keys.MaxKeys, Slots: st.Keys.Slots, Bytes: st.Keys.Bytes, Overflows: st.Keys.Overflows}
	}
	if b, ok := st.Breaker(now); ok {
		v.Breaker = &Breaker{
			State: b.State.String(), Since: at(b.Since), Transitions: b.Transitions, Probes: b.Probes,
			Calls: b.Ended.Total, Slow: b.Ended.Slow, Errors: b.Ended.Errors,
		}
	}
	return v
}

// define says what the rule is.
func (v *Rule) define(d engine.Definition) {
	switch {
	case d.Limit != nil:
		l := ruleview.OfLimit(d.Limit)
		v.Kind, v.Mode, v.Param, v.Definition = l.Kind, l.Mode, l.Param, l
		v.Limits, v.Counts = l.LimitText(), l.WindowText()
		if l.Bound != nil {
			v.AtMost = l.Bound.String()
		}
	case d.Degrade != nil:
		b := ruleview.OfBreaker(d.Degrade)
		v.Kind, v.Mode, v.Definition = KindDegrade, b.Mode, b
		v.Limits, v.Counts = "opens "+b.OpensText(), b.JudgedText()
	case d.System != nil:
		y := ruleview.OfSystem(d.System)
		v.Kind, v.Definition, v.Limits = KindSystem, y, "refuses "+y.RefusesText()
	case d.Authority != nil:
		a := ruleview.OfAuthority(d.Authority)
		v.Kind, v.Mode, v.Definition, v.Limits = KindAuthority, a.Mode, a, "passes "+a.PassText()
	}
}

// The kinds of rules that limit by no count; rule.LimitKind has the others.
const (
	KindDegrade   = "degrade"
	KindSystem    = "system"
	KindAuthority = "authority"
)

// hint says what an operator should look at.
func (v *Rule) hint(st engine.RuleState, silent map[string]bool) {
	if st.Rule.WantsOutcomes() && silent[st.Rule.Domain] {
		v.Hints = append(v.Hints, NoReports)
	}
	if v.Keys != nil && v.Keys.Overflows > 0 {
		v.Hints = append(v.Hints, fmt.Sprintf("%d requests found no room for their value, see maxKeys", v.Keys.Overflows))
	}
}

// silences returns the domains, as rules have them, of which calls have ended and none by a report. That of the rules
// for every domain that no file claims is "", for which one of those is enough.
func silences(domains []engine.DomainOutcomes, states []engine.RuleState) map[string]bool {
	claimed := make(map[string]bool)
	for _, st := range states {
		claimed[st.Rule.Domain] = true
	}
	silent := make(map[string]bool)
	for _, d := range domains {
		name := d.Domain
		if !claimed[name] {
			name = ""
		}
		silent[name] = silent[name] || d.Silent()
	}
	return silent
}
