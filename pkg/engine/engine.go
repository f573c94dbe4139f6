package engine

import (
	"sync"
	"sync/atomic"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// DefaultMaxKeysTotal is how many parameter values all rules together track at a time.
const DefaultMaxKeysTotal = 4 << 20

// Options configure an Engine. The zero value is usable.
type Options struct {
	MaxKeysTotal int64 // parameter values tracked by all rules together; 0: DefaultMaxKeysTotal
	// MaxTokens bounds the calls under way that some rule waits for, in steps of 1024; 0:
	// DefaultMaxTokens. Each takes 112 bytes, or more if it has more than two rules and resources.
	MaxTokens int64
	// MaxResources bounds the resources that are counted by name; 0: DefaultMaxResources. Those that rules
	// name always are; requests for others beyond the bound are counted together.
	MaxResources int64
}

// Engine decides calls by the rule set that was last applied. Make it with New. All methods are
// safe for concurrent use.
type Engine struct {
	snapshot  atomic.Pointer[snapshot]
	ready     atomic.Bool
	budget    *window.KeyBudget
	tokens    tokens
	resources resources
	inbound   resource // the sum of all calls
	load, cpu gauge
	hints     atomic.Uint32
	mu        sync.Mutex // one Apply or Maintain at a time
}

// Changes says what an Apply did, by rule id.
type Changes struct {
	Added   []string // ids that were not in force before
	Removed []string // ids that have left
	Fresh   []string // ids that stayed, but whose budget starts anew because its shape changed
}

// New makes an engine without rules.
func New(o Options) *Engine {
	if o.MaxKeysTotal <= 0 {
		o.MaxKeysTotal = DefaultMaxKeysTotal
	}
	e := &Engine{budget: &window.KeyBudget{Max: o.MaxKeysTotal}}
	if o.MaxTokens <= 0 {
		o.MaxTokens = DefaultMaxTokens
	}
	e.tokens.init(o.MaxTokens)
	if o.MaxResources <= 0 {
		o.MaxResources = DefaultMaxResources
	}
	e.resources.init(o.MaxResources)
	e.SetSystem(SystemSample{Load: -1, CPU: -1})
	e.snapshot.Store(&snapshot{open: newDomain("", 0)})
	return e
}

// Apply puts a rule set in force, all or nothing: on an error the set before it stays. Calls that
// are being decided meanwhile see the old set or the new one, never a mixture. A rule whose state
// key is unchanged keeps what it has counted, under its new limit.
func (e *Engine) Apply(now int64, set rule.Set) (Changes, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.snapshot.Load()
	c := &compiler{now: now, old: old, budget: e.budget, engine: e}
	if err := c.compile(set); err != nil {
		return Changes{}, err
	}
	c.compare()
	e.snapshot.Store(c.next)
	for _, r := range c.next.rules {
		if a, ok := r.ctl.(adjustable); ok {
			a.adjust(now)
		}
	}
	for _, r := range old.resources {
		r.pinned.Store(false)
	}
	for _, r := range c.next.resources {
		r.pinned.Store(true)
	}
	e.ready.Store(true)
	old.release(c.next)
	return c.changes, nil
}

// compare completes the changes with the rules that have left and those that start anew.
func (c *compiler) compare() {
	stays := make(map[ruleName]*CompiledRule, len(c.next.rules))
	for _, r := range c.next.rules {
		stays[ruleName{r.Domain, r.ID}] = r
	}
	for _, was := range c.old.rules {
		switch is := stays[ruleName{was.Domain, was.ID}]; {
		case is == nil:
			c.changes.Removed = append(c.changes.Removed, was.ID)
		case was.memory != is.memory:
			c.changes.Fresh = append(c.changes.Fresh, was.ID)
		}
	}
}

// Ready says whether a rule set has been applied.
func (e *Engine) Ready() bool { return e.ready.Load() }

// Revision returns the revision of the rule set in force; empty before the first.
func (e *Engine) Revision() string { return e.snapshot.Load().revision }

// Regexps returns how many regular expressions over paths and routes are tried one by one.
func (e *Engine) Regexps() int { return e.snapshot.Load().regexps }

// RuleState is one rule in force and the memory that it takes.
type RuleState struct {
	Rule *CompiledRule
	Keys window.KeyStats // zero unless the rule has a parameter
	// Tracks says that the rule counts calls until they end, and InFlight how many are under way.
	Tracks   bool
	InFlight int64
}

// Rules returns the rules in force: authority, system, limits and degrade rules, each in the order of the set.
func (e *Engine) Rules() []RuleState {
	s := e.snapshot.Load()
	out := make([]RuleState, len(s.rules))
	for i, r := range s.rules {
		out[i].Rule = r
		if r.memory.keys != nil {
			out[i].Keys = r.memory.keys.Stats()
		}
		out[i].Tracks, out[i].InFlight = r.tracker != nil && r.memory.countsCalls(), r.memory.inFlight()
	}
	return out
}

// KeyTotals returns how many parameter values all rules hold together, and how many they may.
func (e *Engine) KeyTotals() (used, most int64) { return e.budget.Used(), e.budget.Max }

// Maintain clears what has expired and gives memory back. The daemon calls it each minute; while
// it runs, decisions go on.
func (e *Engine) Maintain(now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.snapshot.Load().memories {
		m.maintain(now)
	}
	e.tokens.shrink()
	e.resources.forget(now)
}

// TokenStats is how the tokens of an engine stand.
type TokenStats struct {
	*TokenCounters
	Live    int64            // calls under way that have one
	Bytes   int64            // memory
	Domains []DomainOutcomes // those that ever had one, the first 64 by name
}

// Tokens returns how the engine's tokens stand.
func (e *Engine) Tokens() TokenStats { return e.tokens.stats() }
