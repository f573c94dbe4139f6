package engine

import (
	"fmt"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// snapshot is a compiled rule set. It never changes once it is in force.
type snapshot struct {
	revision string
	open     *domain            // the rules for every domain that no file claims
	claimed  map[string]*domain // by name
	rules    []*CompiledRule    // in the order of the set
	states   map[string]state   // by state key
	regexps  int
}

// domain is what the calls of one domain, or of all unclaimed ones, are decided by.
type domain struct {
	routes   map[string][]*CompiledRule
	apis     *apiMatcher // nil when no API group has rules
	apiRules [][]*CompiledRule
}

func (s *snapshot) domain(name string) *domain {
	if d := s.claimed[name]; d != nil {
		return d
	}
	return s.open
}

// state is the memory of a rule, which a later snapshot may adopt.
type state struct {
	leap  *window.LeapArray
	table *window.KeyTable
}

// release gives back what the memory that was not adopted takes from the budget of keys. Calls that
// are still being decided by the old snapshot go on unharmed.
func (s *snapshot) release(next *snapshot) {
	for key, st := range s.states {
		if st.table != nil && next.states[key] != st {
			st.table.Close()
		}
	}
}

func (s state) maintain(now int64) {
	if s.leap != nil {
		s.leap.Maintain(now)
	}
	if s.table != nil {
		s.table.Maintain(now)
	}
}

// compiler builds a snapshot from a rule set, taking over what it can from the one in force.
type compiler struct {
	now     int64
	old     *snapshot
	budget  *window.KeyBudget
	shadow  bool
	next    *snapshot
	changes Changes
}

func (c *compiler) compile(set rule.Set) error {
	c.next = &snapshot{
		revision: set.Revision,
		open:     newDomain(),
		claimed:  make(map[string]*domain, len(set.Claimed)),
		rules:    make([]*CompiledRule, 0, len(set.GatewayFlow)),
		states:   make(map[string]state, len(set.GatewayFlow)),
	}
	for _, name := range set.Claimed {
		c.next.claimed[name] = newDomain()
	}
	counters := c.old.counters()
	for i := range set.GatewayFlow {
		r, err := c.rule(&set.GatewayFlow[i], counters)
		if err != nil {
			return err
		}
		r.order = i
		c.next.rules = append(c.next.rules, r)
	}
	return c.file(set.APIs)
}

func newDomain() *domain { return &domain{routes: make(map[string][]*CompiledRule)} }

// ruleName identifies a rule over reloads.
type ruleName struct{ domain, id string }

func (s *snapshot) counters() map[ruleName]*Counters {
	m := make(map[ruleName]*Counters, len(s.rules))
	for _, r := range s.rules {
		m[ruleName{r.Domain, r.ID}] = r.Counters
	}
	return m
}

func (c *compiler) rule(g *rule.GatewayFlowRule, counters map[ruleName]*Counters) (*CompiledRule, error) {
	r := &CompiledRule{
		ID: g.ID, Domain: g.Domain, Resource: g.Resource, Mode: g.Mode,
		Limit: g.Limit, Unlimited: g.Unlimited, Interval: g.Interval,
		Shadow:    g.Shadow || c.shadow,
		onMissing: g.OnMissing,
	}
	name := ruleName{g.Domain, g.ID}
	if r.Counters = counters[name]; r.Counters == nil {
		r.Counters = new(Counters)
		c.changes.Added = append(c.changes.Added, g.ID)
	}
	var err error
	if g.Param != nil {
		if r.param, err = compileParam(g.Param); err != nil {
			return nil, fmt.Errorf("%s: rule %q: %w", g.Pos, g.ID, err)
		}
	}
	if g.Unlimited {
		return r, nil
	}
	st, err := c.state(g)
	if err != nil {
		return nil, fmt.Errorf("%s: rule %q: %w", g.Pos, g.ID, err)
	}
	if st.table != nil {
		r.table = st.table
		r.ctl = &keyedWindowController{t: st.table, limit: g.Limit}
	} else {
		r.ctl = &windowController{w: st.leap, limit: g.Limit}
	}
	return r, nil
}

// state finds the rule's memory in the snapshot in force, or makes a new one.
func (c *compiler) state(g *rule.GatewayFlowRule) (state, error) {
	key := g.Domain + "\x00" + g.StateKey()
	if g.Param != nil {
		// What the table is made of is part of what a rule's memory is.
		t := keyTable(g)
		key = fmt.Sprintf("%s/keys:%d/%d/%d", key, t.Layout, t.MaxKeys, t.Overflow)
	}
	st, found := c.old.states[key]
	if !found {
		var err error
		if st, err = c.newState(g); err != nil {
			return state{}, err
		}
	}
	c.next.states[key] = st
	return st, nil
}

func (c *compiler) newState(g *rule.GatewayFlowRule) (state, error) {
	if g.Param == nil {
		w, err := window.NewLeapArray(c.now, g.SampleCount, g.Interval, windowMode(g))
		return state{leap: w}, err
	}
	config := keyTable(g)
	config.Budget = c.budget
	t, err := window.NewKeyTable(c.now, config)
	return state{table: t}, err
}

// keyTable returns the table that a rule with a parameter counts in, but for the shared budget.
func keyTable(g *rule.GatewayFlowRule) window.KeyTableConfig {
	c := window.KeyTableConfig{
		SampleCount: g.SampleCount, Interval: g.Interval, Mode: windowMode(g),
		Layout:  window.LayoutFor(g.SampleCount, windowMode(g), g.Limit),
		MaxKeys: g.MaxKeys, Overflow: window.OverflowBlock,
	}
	if g.Overflow == rule.OverflowAllow {
		c.Overflow = window.OverflowAllow
	}
	return c
}

func windowMode(g *rule.GatewayFlowRule) window.Mode {
	if g.Window == rule.WindowStrict {
		return window.Strict
	}
	return window.Aligned
}

// file puts every rule where the requests that it concerns will find it.
func (c *compiler) file(apis []rule.APIDefinition) error {
	groups := make(map[string]map[string][]*CompiledRule) // domain, group
	for _, r := range c.next.rules {
		d := c.next.domain(r.Domain)
		if r.Mode == rule.ModeRoute {
			d.routes[r.Resource] = append(d.routes[r.Resource], r)
			continue
		}
		if groups[r.Domain] == nil {
			groups[r.Domain] = make(map[string][]*CompiledRule)
		}
		groups[r.Domain][r.Resource] = append(groups[r.Domain][r.Resource], r)
	}
	for name, byGroup := range groups {
		d := c.next.domain(name)
		defs := concerned(apis, name, byGroup)
		m, err := compileAPIs(defs)
		if err != nil {
			return err
		}
		d.apis = m
		d.apiRules = make([][]*CompiledRule, len(defs))
		for i := range defs {
			d.apiRules[i] = byGroup[defs[i].Name]
		}
		c.next.regexps += m.regexps
	}
	return nil
}

// concerned picks the groups that requests of a domain are matched against: those that have rules,
// and all of them if one of those asks whether no other group matched.
func concerned(apis []rule.APIDefinition, domain string, rules map[string][]*CompiledRule) []rule.APIDefinition {
	var all, ruled []rule.APIDefinition
	catchAll := false
	for i := range apis {
		a := &apis[i]
		if a.Domain != domain {
			continue
		}
		all = append(all, *a)
		if len(rules[a.Name]) == 0 {
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

// MaxKeyBytes returns the memory that the key table of a rule takes at full size; 0 for a rule
// without one.
func MaxKeyBytes(g *rule.GatewayFlowRule) int64 {
	if g.Param == nil || g.Unlimited {
		return 0
	}
	return keyTable(g).MaxBytes()
}
