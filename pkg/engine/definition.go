package engine

import "github.com/sidecard/sidecard/pkg/rule"

// Definition is what a rule in force was compiled from: one of its fields is set. What it points to is shared and does
// not change.
type Definition struct {
	Limit     *rule.LimitRule
	Degrade   *rule.DegradeRule
	System    *rule.SystemRule
	Authority *rule.AuthorityRule
}

// Definition returns what the rule was compiled from.
func (r *CompiledRule) Definition() Definition { return r.def }

// Position returns where the rule is written.
func (d Definition) Position() rule.Position {
	switch {
	case d.Limit != nil:
		return d.Limit.Pos
	case d.Degrade != nil:
		return d.Degrade.Pos
	case d.System != nil:
		return d.System.Pos
	case d.Authority != nil:
		return d.Authority.Pos
	}
	return rule.Position{}
}

// WantsOutcomes says whether the rule waits for the ends of calls, which somebody must report.
func (r *CompiledRule) WantsOutcomes() bool { return r.tracker != nil }
