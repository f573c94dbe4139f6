package admin

import (
	"cmp"
	"slices"

	"github.com/sidecard/sidecard/pkg/engine"
)

const (
	pageHot    = 6 // rules whose values are shown
	pageValues = 5 // of each of them
	rowValues  = 3 // of these beside the rule, but for the first only those with
	rowShare   = .02
)

// viewLimits shows which rules refuse requests now, by what and for whom.
func (s *Server) viewLimits(v *pageView, t *ruleTable) {
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(a, b ruleRow) int {
		return cmp.Or(-cmp.Compare(a.Refused, b.Refused), -cmp.Compare(a.Shadows, b.Shadows), -cmp.Compare(a.Passing, b.Passing))
	})
	var limited, shadow []ruleRow
	for i := range rows {
		r := &rows[i]
		if len(v.Hot) < pageHot && r.Refused+r.Shadows+r.Passing > 0 {
			if top, ok := s.hotOf(r.state.Rule); ok {
				v.Hot = append(v.Hot, top)
				for _, value := range top.Values[:min(rowValues, len(top.Values))] {
					if len(r.Hot) == 0 || value.Share >= rowShare {
						r.Hot = append(r.Hot, value)
					}
				}
			}
		}
		if at := r.Recent.BlockedAt; at != nil && (v.Last == nil || at.After(*v.Last.Recent.BlockedAt)) {
			v.Last = r
		}
		open := r.notClosed(t.now)
		if open {
			v.Open++
		}
		switch {
		case r.Refused > 0 || open:
			limited = append(limited, *r)
		case r.Shadows > 0:
			shadow = append(shadow, *r)
		}
	}
	v.Limited, v.Shadow = cut(limited, v.Query.most(pageLimited)), cut(shadow, v.Query.most(pageLimited))
	t.describe(v.Limited.Rows)
	t.describe(v.Shadow.Rows)
	if v.Last != nil {
		last := []ruleRow{*v.Last}
		t.describe(last)
		v.Last = &last[0]
	}
}

// notClosed says whether the rule is a circuit breaker that lets nothing pass, or only probes.
func (r *ruleRow) notClosed(now int64) bool {
	b, ok := r.state.Breaker(now)
	return ok && b.State != engine.BreakerClosed && !r.state.Rule.Shadow
}

// hotOf returns the values that most requests to a rule have; false if it limits no parameter, or too many rules are
// looked at.
func (s *Server) hotOf(r *engine.CompiledRule) (Top, bool) {
	def := r.Definition().Limit
	if def == nil || def.Param == nil {
		return Top{}, false
	}
	return s.topOf(r, def, pageValues)
}
