package engine

import (
	"slices"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Explanation is how a request would be decided now, and why. It shares nothing with the engine but the rules,
// which do not change; values of parameters are the request's.
type Explanation struct {
	Verdict Verdict
	// Groups are the API groups that requests of the domain are matched against, in the order of their
	// definition. A group without rules is not.
	Groups []GroupMatch
	// Rules are the system rules, and all rules of the resources that the request enters, in the order in which
	// they are asked.
	Rules []RuleMatch
}

// GroupMatch says whether a request enters an API group.
type GroupMatch struct {
	Name    string
	Matched bool
	Unknown bool // it may or may not, which cannot be found out within bounds; its rules refuse
	Items   []ItemMatch
}

// ItemMatch says of one item of an API group which of its fields hold for a request, and which do not: path, host,
// methods, or other.
type ItemMatch struct {
	Item         rule.PredicateItem
	Held, Failed []string
}

// Skip says why a rule does not apply to a request.
type Skip string

// The reasons. That of a rule which applies is empty.
const (
	SkipOrigin  Skip = "origin"  // it is for other callers, or for those that are known
	SkipMissing Skip = "missing" // the request lacks the rule's parameter
	SkipPattern Skip = "pattern" // the parameter's value is none that the rule limits
)

// RuleKind is what a rule goes by.
type RuleKind string

// The kinds.
const (
	KindLimit     RuleKind = "limit" // a count: that of a gateway flow, flow or hot-parameter rule
	KindBreaker   RuleKind = "breaker"
	KindSystem    RuleKind = "system" // all calls together; it has no resource
	KindAuthority RuleKind = "authority"
)

// RuleMatch says what a rule makes of a request.
type RuleMatch struct {
	Rule    *CompiledRule
	Kind    RuleKind
	Skip    Skip        // empty: the rule applies
	Origin  string      // the caller that the rule is for; empty: any
	Param   *ParamMatch // nil: the rule has none
	Refuses bool        // in shadow it would
	Reason  Reason      // of a refusal
	// Limit, Used and Remaining are those of the budget that the request belongs to, before it; all are 0 of
	// what has none: a rule without HasLimit, one that is skipped, and what is Unlimited.
	Limit, Used, Remaining int64
	Unlimited              bool
	Queues                 bool          // requests wait for their turn: of the budget only Limit is known
	WarmsUp                bool          // less than Limit may be admitted yet: Used is 0
	Wait                   time.Duration // how long the request would be held back
	// Retry is how long until the request would fit if nobody else came; 0: never, or unknown, or it does.
	Retry   time.Duration
	Breaker *BreakerStatus // nil: the rule is no circuit breaker
}

// ParamMatch is what a rule found of its parameter.
type ParamMatch struct {
	Source  rule.ParamSource
	Name    string // empty where the source says it all; of a header in lower case
	Value   string
	Found   Presence
	Pattern string // empty: any value
	Match   rule.MatchStrategy
	Shared  bool // the parameter is missing, and all requests without it share a budget
	Special bool // the rule has a limit of its own for this value
}

// explaining is what Decide notes for an explanation.
type explaining struct{ entries []listed }

// Explain says how a call of one request would be decided if it were made now with the given patience, and why.
// It decides as Decide does of a peek, by the same code, and changes as little. It is not meant for the path of
// requests: its cost is that of all API groups.
func (e *Engine) Explain(now int64, domain string, q Request, patience time.Duration) Explanation {
	q.Kind = Peek
	s := e.snapshot.Load()
	c := Call{Domain: domain, Items: []Request{q}, MaxWait: patience}
	c.explaining = new(explaining)
	e.decide(s, now, &c)
	d := s.domain(domain)
	x := Explanation{Verdict: c.Verdicts[0], Groups: d.explainGroups(&c)}
	seen := make(map[*CompiledRule]bool)
	add := func(rules []*CompiledRule) {
		for _, r := range rules {
			if !r.feeds && !seen[r] {
				seen[r] = true
				x.Rules = append(x.Rules, c.explainRule(now, r))
			}
		}
	}
	add(s.system)
	for _, entry := range c.explaining.entries {
		add(entry.rules.each())
	}
	return x
}

// each returns all rules of a list, those for everybody first.
func (l *ruleList) each() []*CompiledRule {
	rules := slices.Clone(l.all)
	for _, named := range l.named {
		rules = append(rules, named...)
	}
	rules = append(rules, l.others...)
	slices.SortStableFunc(rules[len(l.all):], func(a, b *CompiledRule) int { return a.order - b.order })
	return rules
}

// explainRule says what has become of a rule in a call that was decided.
func (c *Call) explainRule(now int64, r *CompiledRule) RuleMatch {
	m := RuleMatch{Rule: r, Kind: r.kind(), Origin: r.origin}
	limited := true
	if r.param != nil {
		m.Param = c.explainParam(r)
		limited, _ = r.param.concerns(m.Param.Value, &work{left: maxWork})
	}
	if b, ok := (RuleState{Rule: r}).Breaker(now); ok {
		m.Breaker = &b
	}
	i := slices.IndexFunc(c.uses, func(u use) bool { return u.rule == r })
	if i < 0 {
		switch {
		case m.Param != nil && m.Param.Found == Absent && !m.Param.Shared:
			m.Skip = SkipMissing
		case m.Param != nil && !limited:
			m.Skip = SkipPattern
		default:
			m.Skip = SkipOrigin
		}
		return m
	}
	u := &c.uses[i]
	m.Refuses, m.Reason, m.Wait = u.refused, u.reason, u.wait
	if u.refused {
		if d := u.retryAfter(now, c.MaxWait); d != never {
			m.Retry = d
		}
	}
	switch {
	case !r.HasLimit():
	case u.own.ctl == nil:
		m.Unlimited = true
	case r.turn == turnQueue:
		m.Limit, m.Queues = u.own.limit, true
	case u.refused && u.reason != ReasonLimit: // its budget was not asked
		m.Limit = u.own.limit
	default:
		m.Limit, m.Remaining = u.own.limit, u.left
		if _, m.WarmsUp = u.own.ctl.(*warmUpController); !m.WarmsUp {
			m.Used = max(m.Limit-m.Remaining, 0)
		}
	}
	return m
}

func (r *CompiledRule) kind() RuleKind {
	switch {
	case r.Breaker:
		return KindBreaker
	case r.system:
		return KindSystem
	case r.authority != nil:
		return KindAuthority
	}
	return KindLimit
}

// explainParam says what a rule finds of its parameter in the request of a call that was decided.
func (c *Call) explainParam(r *CompiledRule) *ParamMatch {
	m := &ParamMatch{Source: r.param.source, Name: r.param.name, Pattern: r.param.pattern, Match: r.param.match}
	m.Value, m.Found = r.param.value(&c.Items[0], &c.api, &work{left: maxWork})
	m.Shared = m.Found == Absent && r.onMissing == rule.MissingLimit
	m.Special = m.Found == Present && r.special[m.Value] != nil
	return m
}
