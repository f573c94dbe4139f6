package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// ruleList holds the rules of one resource by whose calls they are for, so that a request looks only
// at those of its own origin. The zero value holds none.
type ruleList struct {
	resource *resource // nil: the rules are those of an expression
	all      []*CompiledRule
	named    map[string][]*CompiledRule // by the origin that they are for
	others   []*CompiledRule            // for origins that no rule of the resource names
	strict   []*CompiledRule            // those of named and others that refuse what has no origin
}

func (l *ruleList) add(r *CompiledRule) {
	switch r.origin {
	case "":
		l.all = append(l.all, r)
		return
	case rule.OriginOther:
		l.others = append(l.others, r)
	default:
		if l.named == nil {
			l.named = make(map[string][]*CompiledRule)
		}
		l.named[r.origin] = append(l.named[r.origin], r)
	}
	if r.onMissing == rule.MissingBlock {
		l.strict = append(l.strict, r)
	}
}

// join tells the rules whose parameter stands in the path of which group they are. None of them is for an
// origin.
func (l *ruleList) join(group int, def *rule.APIDefinition) error {
	for _, r := range l.all {
		if r.param == nil || r.param.path == nil || r.param.path.template != nil {
			continue
		}
		if err := r.param.path.join(group, def); err != nil {
			return fmt.Errorf("%s: API group %q: %w", def.Pos, def.Name, err)
		}
	}
	return nil
}

// listed is a list of rules that a request comes under.
type listed struct {
	rules *ruleList
	// unknown says that it may or may not, which could not be found out within bounds.
	unknown bool
}

func (l listed) reason() Reason {
	if l.unknown {
		return ReasonInputTooLarge
	}
	return ReasonNone
}

// routePattern is the rules of all routes whose id an expression matches.
type routePattern struct {
	prefix string // every match begins with it
	re     *regexp.Regexp
	rules  *ruleList
}

// addPattern files a rule under its expression over route ids. Known are the lists of those that the domain has.
func (d *domain) addPattern(r *CompiledRule, known map[string]*ruleList) error {
	l := known[r.Resource]
	if l == nil {
		re, err := compileFull(r.Resource)
		if err != nil {
			return fmt.Errorf("rule %q: resource: %w", r.ID, err)
		}
		l = &ruleList{}
		known[r.Resource] = l
		d.patterns = append(d.patterns, routePattern{prefix: literalPrefix(r.Resource), re: re, rules: l})
	}
	l.add(r)
	return nil
}

// matchedPatterns are the expressions that match a route, by their place in its domain. It does not hold
// them, so that a rule set that has left can go.
type matchedPatterns struct {
	generation uint64 // of the rule set
	places     []int32
}

// entries finds the lists of a route: its own, if there is one, and those of the expressions that match it.
// Those are tried one by one, once for every rule set if the route is one that is counted by itself.
func (d *domain) entries(own *ruleList, route *resource, name string, w *work, into []listed) []listed {
	if own != nil {
		into = append(into, listed{rules: own})
	}
	if len(d.patterns) == 0 {
		return into
	}
	if route != nil {
		if m := route.patterns.Load(); m != nil && m.generation == d.generation {
			for _, i := range m.places {
				into = append(into, listed{rules: d.patterns[i].rules})
			}
			return into
		}
	}
	found := matchedPatterns{generation: d.generation}
	certain := true
	for i := range d.patterns {
		p := &d.patterns[i]
		switch {
		case !strings.HasPrefix(name, p.prefix):
		case !w.afford(len(name)):
			into = append(into, listed{p.rules, true})
			certain = false
		case p.re.MatchString(name):
			into = append(into, listed{rules: p.rules})
			if route != nil {
				found.places = append(found.places, int32(i))
			}
		}
	}
	if route != nil && certain {
		known := found
		route.patterns.Store(&known)
	}
	return into
}

// peekLists peeks the rules of one resource that are for the origin of request i.
func (c *Call) peekLists(now int64, i int, lists []listed) {
	if c.explaining != nil {
		c.explaining.entries = append(c.explaining.entries, lists...)
	}
	origin := c.Items[i].caller()
	named := false
	for _, e := range lists {
		named = named || e.rules.named[origin] != nil
	}
	for _, e := range lists {
		l, reason := e.rules, e.reason()
		c.peekAll(now, l.all, i, reason)
		switch {
		case l.named == nil && l.others == nil:
		case origin == "":
			c.peekAll(now, l.strict, i, ReasonMissingParam)
		case named:
			c.peekAll(now, l.named[origin], i, reason)
		default:
			c.peekAll(now, l.others, i, reason)
		}
	}
}

func (c *Call) peekAll(now int64, rules []*CompiledRule, i int, reason Reason) {
	for _, r := range rules {
		c.peek(now, r, i, reason)
	}
}
