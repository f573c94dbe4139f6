package engine

import (
	"fmt"
	"slices"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// snapshot is a compiled rule set. It never changes once it is in force.
type snapshot struct {
	revision  string
	open      *domain            // the rules for every domain that no file claims
	claimed   map[string]*domain // by name
	rules     []*CompiledRule    // authority, system, limits and degrade rules, each in the order of the set
	breakers  []*CompiledRule    // the degrade rules
	system    []*CompiledRule    // the system rules
	memories  map[string]memory  // by state key
	regexps   int
	resources []*resource // that rules name
	tracks    bool        // a rule wants to know how calls end
}

// domain is what the calls of one domain, or of all unclaimed ones, are decided by.
type domain struct {
	name     string // empty: all that no file claims
	routes   map[string]*ruleList
	patterns []routePattern
	// generation tells the domains of one rule set from those of another.
	generation uint64
	apis       *apiMatcher          // nil when no API group has rules
	groups     []*ruleList          // by their index in apis
	defs       []rule.APIDefinition // of the groups
}

func (s *snapshot) domain(name string) *domain {
	if d := s.claimed[name]; d != nil {
		return d
	}
	return s.open
}

// compiler builds a snapshot from a rule set, taking over what it can from the one in force.
type compiler struct {
	now     int64
	old     *snapshot
	budget  *window.KeyBudget
	next    *snapshot
	changes Changes
	feeds   []*CompiledRule  // what rules of other resources look at
	taps    map[tapName]*tap // of the rules in force
	engine  *Engine
}

func (c *compiler) compile(set rule.Set) error {
	generation := c.old.open.generation + 1
	c.next = &snapshot{
		revision: set.Revision,
		open:     newDomain("", generation),
		claimed:  make(map[string]*domain, len(set.Claimed)),
		rules:    make([]*CompiledRule, 0, len(set.Limits)+len(set.Degrade)),
		memories: make(map[string]memory, len(set.Limits)+len(set.Degrade)),
	}
	for _, name := range set.Claimed {
		c.next.claimed[name] = newDomain(name, generation)
	}
	counters := c.old.counters()
	c.taps = c.old.taps()
	for i := range set.Authority {
		c.add(c.authorityRule(&set.Authority[i], counters), Definition{Authority: &set.Authority[i]})
	}
	for i := range set.System {
		r, err := c.systemRule(&set.System[i], counters)
		if err != nil {
			return err
		}
		c.add(r, Definition{System: &set.System[i]})
		c.next.system = append(c.next.system, r)
	}
	for i := range set.Limits {
		r, err := c.rule(&set.Limits[i], counters)
		if err != nil {
			return err
		}
		c.add(r, Definition{Limit: &set.Limits[i]})
	}
	for i := range set.Degrade {
		r, err := c.breakerRule(&set.Degrade[i], counters)
		if err != nil {
			return err
		}
		c.add(r, Definition{Degrade: &set.Degrade[i]})
		c.next.breakers = append(c.next.breakers, r)
	}
	for _, f := range c.feeds {
		c.next.tracks = c.next.tracks || f.tracker != nil
	}
	return c.file(set.APIs)
}

func (c *compiler) add(r *CompiledRule, of Definition) {
	r.def = of
	r.order = len(c.next.rules)
	c.next.rules = append(c.next.rules, r)
	c.next.tracks = c.next.tracks || r.tracker != nil
}

func newDomain(name string, generation uint64) *domain {
	return &domain{name: name, routes: make(map[string]*ruleList), generation: generation}
}

// ruleName identifies a rule over reloads.
type ruleName struct{ domain, id string }

func (s *snapshot) counters() map[ruleName]*Counters {
	m := make(map[ruleName]*Counters, len(s.rules))
	for _, r := range s.rules {
		m[ruleName{r.Domain, r.ID}] = r.Counters
	}
	return m
}

func (c *compiler) rule(g *rule.LimitRule, counters map[ruleName]*Counters) (*CompiledRule, error) {
	r := &CompiledRule{
		ID: g.ID, Domain: g.Domain, Resource: g.Resource, Mode: g.Mode, RefResource: g.RefResource,
		Limit: g.Limit, Burst: g.Burst, Unlimited: g.Unlimited, Interval: g.Interval,
		Response:  g.Response,
		Shadow:    g.Shadow,
		onMissing: g.OnMissing,
		origin:    g.Origin,
	}
	c.count(r, counters)
	var err error
	if g.Param != nil {
		if r.param, err = compileParam(g.Param); err != nil {
			return nil, fmt.Errorf("%s: rule %q: %w", g.Pos, g.ID, err)
		}
		if r.tap = c.taps[tapName{ruleName{r.Domain, r.ID}, *g.Param}]; r.tap == nil {
			r.tap = new(tap)
		}
	}
	if !g.LimitsSome() {
		return r, nil
	}
	m, err := c.memory(g)
	if err != nil {
		return nil, fmt.Errorf("%s: rule %q: %w", g.Pos, g.ID, err)
	}
	r.memory = m
	if !g.Unlimited {
		r.allowance = m.allowance(g, g.Limit)
	}
	if g.Behavior == rule.BehaviorQueue || g.Behavior == rule.BehaviorWarmUpQueue {
		r.turn = turnQueue
	}
	r.refusesOverflow = g.Overflow == rule.OverflowBlock
	if g.RefResource != "" {
		c.feeds = append(c.feeds, r.feed(g))
		r.ctl = &relatedController{r.ctl}
	}
	r.tracker, _ = r.ctl.(tracker)
	for i := range g.Exceptions {
		r.except(g, &g.Exceptions[i])
	}
	if r.tracker != nil {
		r.lease = g.Lease
		r.once = g.Param != nil
	}
	return r, nil
}

// except gives a value of the rule's parameter an allowance of its own.
func (r *CompiledRule) except(g *rule.LimitRule, e *rule.Exception) {
	a := new(allowance)
	if !e.Unlimited {
		*a = r.memory.allowance(g, e.Limit)
		if r.tracker == nil {
			r.tracker, _ = a.ctl.(tracker)
		}
	}
	if r.special == nil {
		r.special = make(map[string]*allowance, len(g.Exceptions))
	}
	r.special[e.Value] = a
}

// breakerRule compiles a degrade rule. Its breaker goes on if one of the same state key is in force.
func (c *compiler) breakerRule(d *rule.DegradeRule, counters map[ruleName]*Counters) (*CompiledRule, error) {
	key := d.Domain + "\x00" + d.StateKey()
	m, found := c.old.memories[key]
	if !found {
		var err error
		if m.breaker, err = newBreaker(c.now, d); err != nil {
			return nil, fmt.Errorf("%s: rule %q: %w", d.Pos, d.ID, err)
		}
	}
	c.next.memories[key] = m
	ctl := &breakerController{m.breaker, breakerTermsOf(d)}
	r := &CompiledRule{
		ID: d.ID, Domain: d.Domain, Resource: d.Resource, Mode: d.Mode, Shadow: d.Shadow, Breaker: true, Response: d.Response,
		memory: m, allowance: allowance{ctl: ctl}, turn: turnBreaker, tracker: ctl, lease: d.Lease,
	}
	c.count(r, counters)
	return r, nil
}

// count gives the rule the counters of the one of its name in force, if there is one.
func (c *compiler) count(r *CompiledRule, counters map[ruleName]*Counters) {
	if r.Counters = counters[ruleName{r.Domain, r.ID}]; r.Counters == nil {
		r.Counters = new(Counters)
		c.changes.Added = append(c.changes.Added, r.ID)
	}
}

// file puts every rule where the requests that it concerns will find it.
func (c *compiler) file(apis []rule.APIDefinition) error {
	groups := make(map[string]map[string]*ruleList)   // domain, group
	patterns := make(map[string]map[string]*ruleList) // domain, expression
	for _, r := range slices.Concat(c.next.rules, c.feeds) {
		if r.system {
			continue // it is for every call
		}
		d := c.next.domain(r.Domain)
		switch r.Mode {
		case rule.ModeRoute:
			l := entry(d.routes, r.Resource)
			if l.resource == nil {
				l.resource = c.resource(d, rule.ModeRoute, r.Resource)
			}
			l.add(r)
		case rule.ModeRegex:
			if patterns[d.name] == nil {
				patterns[d.name] = make(map[string]*ruleList)
			}
			if err := d.addPattern(r, patterns[d.name]); err != nil {
				return err
			}
		default:
			if groups[r.Domain] == nil {
				groups[r.Domain] = make(map[string]*ruleList)
			}
			entry(groups[r.Domain], r.Resource).add(r)
		}
	}
	c.next.countPatterns()
	for name, byGroup := range groups {
		d := c.next.domain(name)
		defs := concerned(apis, name, byGroup)
		m, err := compileAPIs(defs)
		if err != nil {
			return err
		}
		d.apis, d.defs = m, defs
		d.groups = make([]*ruleList, len(defs))
		for i := range defs {
			if d.groups[i] = byGroup[defs[i].Name]; d.groups[i] == nil {
				d.groups[i] = &ruleList{}
			}
			d.groups[i].resource = c.resource(d, rule.ModeAPI, defs[i].Name)
			if err := d.groups[i].join(i, &defs[i]); err != nil {
				return err
			}
		}
		c.next.regexps += m.regexps
	}
	return nil
}

func (s *snapshot) countPatterns() {
	s.regexps += len(s.open.patterns)
	for _, d := range s.claimed {
		s.regexps += len(d.patterns)
	}
}

// resource returns a resource that the set names, which is then remembered as long as a set in force does.
func (c *compiler) resource(d *domain, mode rule.ResourceMode, name string) *resource {
	r := c.engine.resources.ruled(d.name, mode, name)
	c.next.resources = append(c.next.resources, r)
	return r
}

// concerned picks the groups that requests of a domain are matched against: those that have rules,
// and all of them if one of those asks whether no other group matched.
func concerned(apis []rule.APIDefinition, domain string, rules map[string]*ruleList) []rule.APIDefinition {
	var all, ruled []rule.APIDefinition
	catchAll := false
	for i := range apis {
		a := &apis[i]
		if a.Domain != domain {
			continue
		}
		all = append(all, *a)
		if rules[a.Name] == nil {
			continue
		}
		ruled = append(ruled, *a)
		for j := range a.Items {
			catchAll = catchAll || a.Items[j].Other
		}
	}
	if catchAll {
		return all
	}
	return ruled
}
