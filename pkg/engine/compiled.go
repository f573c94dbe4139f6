package engine

import (
	"sync/atomic"
	"time"
)

// CompiledRule is a rule in force. Its fields are constant; its counters live as long as a rule of
// the same id is in force, across reloads.
type CompiledRule struct {
	ID        string // safe inside a header
	Domain    string
	Resource  string
	Limit     int64
	Unlimited bool
	Interval  time.Duration // a whole number of seconds
	Shadow    bool
	Keyed     bool // one budget per parameter value

	*Counters
}

// Counters count what a rule did. All are safe for concurrent use and only grow.
type Counters struct {
	Passed      atomic.Int64 // charged requests that the rule let pass, in calls that passed
	Blocked     atomic.Int64 // requests that the rule refused
	ShadowBlock atomic.Int64 // requests that the rule, in shadow, would have refused
	Missing     atomic.Int64 // requests without the rule's parameter
	Untracked   atomic.Int64 // requests whose value found no room in the key table
	LostRaces   atomic.Int64 // calls refused because another call took the last of the budget in between
}
