// Package calls has what all ways of asking for a decision share: counts of calls that belong to no
// rule, and the room in which calls wait for the turn that a queue gives them. It knows no wire.
package calls

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/pkg/engine"
)

// maxDomains is how many domains are counted by name.
const maxDomains = 64

// OtherDomains is the name under which the domains beyond the first 64 are counted together.
const OtherDomains = "(other)"

// Counters count what happened to calls that belongs to no rule. The zero value is ready to use. All
// methods are safe for concurrent use; the counts only grow, but for Waiting.
type Counters struct {
	Envoy Answers // of the rate limit service
	GRPC  Answers // of the local API over gRPC
	HTTP  Answers // of the local API over HTTP

	Invalid          atomic.Int64 // requests refused as malformed
	Cancelled        atomic.Int64 // calls given up by the caller, whose charge was given back
	OverridesIgnored atomic.Int64 // descriptors whose limit override had no effect
	Waiting          atomic.Int64 // calls whose answer is being held back at the moment
	WaitingRefused   atomic.Int64 // calls refused because as many were waiting as may

	// Durations holds how long decisions took, of one in histogram.OneIn: from when a call has been
	// received until it is decided.
	Durations histogram.Histogram
	// Waits holds how long calls were held back, whatever became of them then.
	Waits histogram.Histogram

	mu        sync.Mutex // one insertion into unmatched at a time
	unmatched atomic.Pointer[map[string]*unmatched]
}

// Answers count how calls that came one way were answered. Those that asked for nothing are left out.
type Answers struct {
	Passed  atomic.Int64
	Refused atomic.Int64 // by rules
	Unready atomic.Int64 // not decided, because there were no rules yet
}

// Count counts a call that was decided.
func (a *Answers) Count(overall engine.Code) {
	if overall == engine.Block {
		a.Refused.Add(1)
	} else {
		a.Passed.Add(1)
	}
}

// unmatched counts what no rule applied to, of one domain.
type unmatched struct{ requests, calls atomic.Int64 }

// Unmatched is what no rule applied to.
type Unmatched struct {
	Requests int64
	Calls    int64 // of whose requests none was matched
}

// Unmatched calls yield with each domain that had requests to which no rule applied, and what those
// were, until yield returns false. It is a sequence to range over.
func (c *Counters) Unmatched(yield func(domain string, n Unmatched) bool) {
	m := c.unmatched.Load()
	if m == nil {
		return
	}
	for domain, n := range *m {
		if !yield(domain, Unmatched{n.requests.Load(), n.calls.Load()}) {
			return
		}
	}
}

// AddUnmatched counts n requests of a call to which no rule applied; whole says that it had no others. The
// domain is borrowed.
func (c *Counters) AddUnmatched(domain string, n int64, whole bool) {
	var count *unmatched
	if m := c.unmatched.Load(); m != nil {
		count = (*m)[domain]
	}
	if count == nil {
		count = c.count(domain)
	}
	count.requests.Add(n)
	if whole {
		count.calls.Add(1)
	}
}

// count returns the counter of a domain that is new, or beyond those that are counted by name.
func (c *Counters) count(domain string) *unmatched {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.unmatched.Load()
	if old == nil {
		old = new(map[string]*unmatched)
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
	next := make(map[string]*unmatched, len(*old)+1)
	for d, n := range *old {
		next[d] = n
	}
	count := new(unmatched)
	next[strings.Clone(domain)] = count
	c.unmatched.Store(&next)
	return count
}
