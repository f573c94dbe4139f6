package engine

import (
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// CompiledRule is a rule in force. Its exported fields are constant; its counters live as long as
// a rule of the same domain and id is in force, across reloads.
type CompiledRule struct {
	ID       string // safe inside a header
	Domain   string
	Resource string
	Mode     rule.ResourceMode
	// RefResource is the resource whose use of the budget decides, in place of Resource's; empty: Resource's own.
	RefResource string
	Limit       int64 // without Burst, as of values without a limit of their own
	Burst       int64
	Unlimited   bool
	Interval    time.Duration // a whole number of seconds; 0 for a limit of calls under way
	Shadow      bool
	// Breaker is set for a degrade rule: a circuit breaker, which has no count to limit by. Limit, Burst
	// and Interval are 0.
	Breaker  bool
	Response *rule.BlockResponse // of its refusals; nil: the daemon's

	*Counters

	def    Definition
	order  int    // place in the rule set, which decides ties
	memory memory // nothing when the rule limits nothing
	turn   turn   // when it is charged
	// allowance is what the resource may use, or a value of the parameter without one of its own.
	allowance
	special map[string]*allowance // of the values that have one of their own; nil if none has
	// tracker is a controller of the rule, if charges last until the call has ended, at most for lease. Any
	// one will do: they share a memory.
	tracker tracker
	lease   time.Duration
	once    bool // a request counts once, whatever its hits
	// refusesOverflow: a value that finds no room is refused, whatever it did.
	refusesOverflow bool
	param           *param
	tap             *tap   // of a rule with a param: who wants to see its values
	origin          string // whose calls the rule is for, as rule.LimitRule.Origin
	onMissing       rule.OnMissing
	authority       *authority // of an authority rule alone, which has no budget
	system          bool       // a system rule: it is for every call, and counts it once
	// feeds: it is no rule, but charges what its resource uses for a rule of another one.
	feeds bool
}

// allowance is what a budget of a rule may be charged.
type allowance struct {
	ctl   controller // nil: there is no limit
	limit int64      // burst included
}

// HasLimit says whether the rule limits by a count, of which something remains or not; the count may be unlimited.
// Circuit breakers, system rules and authority rules have none.
func (r *CompiledRule) HasLimit() bool { return !r.Breaker && !r.system && r.authority == nil }

// perCall says whether the rule counts calls, so that several requests of one are charged once.
func (r *CompiledRule) perCall() bool { return r.Breaker || r.system }

// turn is when a rule is charged, among those of a call: the later, the less it likes to be charged in
// vain.
type turn uint8

const (
	turnBudget  turn = iota
	turnBreaker      // until its probe is given back, nobody else can probe
	turnQueue        // a place in a queue cannot always be given back
	turns
)

// Counters count what a rule did. All are safe for concurrent use. They only grow, but for those of a call that
// is given up, which are taken back. Peeks and refunds are not counted.
type Counters struct {
	Passed      atomic.Int64 // requests that the rule let pass, in calls that passed; taken back
	Waited      atomic.Int64 // those of them that it made wait; taken back
	Blocked     atomic.Int64 // requests that the rule refused
	ShadowBlock atomic.Int64 // requests that the rule, in shadow, would have refused; taken back if the call passed
	Missing     atomic.Int64 // requests without the rule's parameter or, where that is refused, without an origin
	Untracked   atomic.Int64 // requests whose value found no room in the key table
	LostRaces   atomic.Int64 // refusals because another call took the last of the budget in between
	// UnusedPlaces counts places in the rule's queue that were promised, not used, and could not be
	// given back, because a later one had been promised meanwhile.
	UnusedPlaces atomic.Int64
}

// keyOf finds the budget of the rule that a request belongs to. When the rule does not apply,
// applies is false; when it refuses whatever the budget says, the reason is not ReasonNone. own is what the
// value may use; of a value that is not known, what values may use that have none of their own.
// again says that the request has been counted already, and s is what its API groups were found with.
func (r *CompiledRule) keyOf(q *Request, s *apiScratch, w *work, again bool) (k window.Key, own *allowance, reason Reason, applies bool) {
	own = &r.allowance
	if r.authority != nil {
		if q.caller() == "" && q.Kind == Charge && !again {
			r.Missing.Add(1)
		}
		return 0, own, r.authority.judge(q), true
	}
	if r.param == nil || r.param.source == rule.SourceRoute {
		if r.origin != "" && q.caller() == "" && q.Kind == Charge && !again {
			r.Missing.Add(1)
		}
	}
	if r.param == nil {
		return 0, own, ReasonNone, true
	}
	v, found := r.param.value(q, s, w)
	switch found {
	case TooLarge:
		return 0, own, ReasonInputTooLarge, true
	case Absent:
		if q.Kind == Charge && !again {
			r.Missing.Add(1)
		}
		switch r.onMissing {
		case rule.MissingLimit:
			return r.missingKey(), own, ReasonNone, true
		case rule.MissingBlock:
			return 0, own, ReasonMissingParam, true
		}
		return 0, own, ReasonNone, false
	}
	limited, ok := r.param.concerns(v, w)
	switch {
	case !ok:
		return 0, own, ReasonInputTooLarge, true
	case !limited:
		return 0, own, ReasonNone, false
	}
	if q.Kind == Charge && !again {
		r.tap.offer(v)
	}
	if a := r.special[v]; a != nil {
		own = a
	}
	if own.ctl == nil {
		return 0, own, ReasonNone, true
	}
	if r.Mode == rule.ModeRegex && r.param.source == rule.SourceOrigin {
		return r.memory.keys.HashPair(q.Resource, v), own, ReasonNone, true
	}
	return r.memory.keys.Hash(v), own, ReasonNone, true
}

func (r *CompiledRule) missingKey() window.Key {
	if r.ctl == nil {
		return 0
	}
	return r.memory.keys.MissingKey()
}
