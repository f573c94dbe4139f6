package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// authority is who may use a resource.
type authority struct {
	origins []string // in order
	black   bool     // those who may not
	strict  bool     // what has no origin may not either
}

// judge returns why a request is refused. Blanks around its origin help nobody: they make it another one than those
// of a white list, and the same as that of a black list.
func (a *authority) judge(q *Request) Reason {
	origin := q.caller()
	if origin == "" {
		if a.strict {
			return ReasonMissingParam
		}
		return ReasonNone
	}
	if !a.black {
		origin = q.Origin
	}
	if _, listed := slices.BinarySearch(a.origins, origin); listed == a.black {
		return ReasonAuthority
	}
	return ReasonNone
}

// caller returns the origin without blanks around it, so that nobody gets a budget of his own for each way of
// writing it.
func (q *Request) caller() string { return strings.Trim(q.Origin, " \t") }

// authorityRule compiles an authority rule.
func (c *compiler) authorityRule(a *rule.AuthorityRule, counters map[ruleName]*Counters) *CompiledRule {
	r := &CompiledRule{
		ID: a.ID, Domain: a.Domain, Resource: a.Resource, Mode: a.Mode, Shadow: a.Shadow, Response: a.Response,
		authority: &authority{
			origins: slices.Sorted(slices.Values(a.Origins)),
			black:   a.Strategy == rule.AuthorityBlack,
			strict:  a.OnMissing == rule.MissingBlock,
		},
		allowance: allowance{ctl: openController{}},
	}
	c.count(r, counters)
	return r
}

// openController lets everything pass: it stands for the budget of a rule that has none.
type openController struct{ untimed }

func (openController) peek(int64, ask, time.Duration, window.Key) answer { return fed }

func (openController) acquire(int64, int64, time.Duration, window.Key, *grant) answer { return fed }

func (openController) refund(int64, *grant) bool { return true }

func (openController) release(int64, int64, window.Key) {}
