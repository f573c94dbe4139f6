// Package calls has what all ways of asking for a decision share: counts of calls that belong to no
// rule, and the room in which calls wait for the turn that a queue gives them. It knows no wire.
package calls

import (
	"strings"
	"sync"
	"sync/atomic"
)

// maxDomains is how many domains are counted by name.
const maxDomains = 64

// OtherDomains is the name under which the domains beyond the first 64 are counted together.
const OtherDomains = "(other)"

// Counters count what happened to calls that belongs to no rule. The zero value is ready to use. All
// methods are safe for concurrent use; the counts only grow, but for Waiting.
type Counters struct {
	Invalid          atomic.Int64 // requests refused as malformed
	Cancelled        atomic.Int64 // calls given up by the caller, whose charge was given back
	OverridesIgnored atomic.Int64 // descriptors whose limit override had no effect
	Waiting          atomic.Int64 // calls whose answer is being held back at the moment
	WaitingRefused   atomic.Int64 // calls refused because as many were waiting as may

	mu        sync.Mutex // one insertion into unmatched at a time
	unmatched atomic.Pointer[map[string]*atomic.Int64]
}

// Unmatched calls yield with each domain that had requests to which no rule applied, and how many
// those were, until yield returns false. It is a sequence to range over.
func (c *Counters) Unmatched(yield func(domain string, n int64) bool) {
	m := c.unmatched.Load()
	if m == nil {
		return
	}
	for domain, n := range *m {
		if !yield(domain, n.Load()) {
			return
		}
	}
}

// AddUnmatched counts n requests to which no rule applied. The domain is borrowed.
func (c *Counters) AddUnmatched(domain string, n int64) {
	if m := c.unmatched.Load(); m != nil {
		if count := (*m)[domain]; count != nil {
			count.Add(n)
			return
		}
	}
	c.count(domain).Add(n)
}

// count returns the counter of a domain that is new, or beyond those that are counted by name.
func (c *Counters) count(domain string) *atomic.Int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.unmatched.Load()
	if old == nil {
		old = new(map[string]*atomic.Int64)
	}
	if count := (*old)[domain]; count != nil {
		return count
	}
	if len(*old) >= maxDomains {
		domain = OtherDomains
		if count := (*old)[domain]; count != nil {
			return count
		}
	}
	// Readers hold no lock, so the map they see is never written to.
	next := make(map[string]*atomic.Int64, len(*old)+1)
	for d, n := range *old {
		next[d] = n
	}
	count := new(atomic.Int64)
	next[strings.Clone(domain)] = count
	c.unmatched.Store(&next)
	return count
}
