package engine

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// DefaultMaxResources is how many resources are counted by name: as many as Sentinel protects.
const DefaultMaxResources = 6000

const (
	// maxResourceName bounds the names that requests make up, in bytes.
	maxResourceName = 1024
	// idleMinutes is how long a resource that no rule names is remembered without requests.
	idleMinutes = 10
)

// resource is a route or an API group, and what becomes of the requests that enter it. It is a tracker,
// of calls that have a token.
type resource struct {
	stats    window.StatisticNode
	domain   string // claimed by a file; empty: all others
	mode     rule.ResourceMode
	name     string
	hash     uint64
	reported atomic.Bool // the end of one of its calls has been reported
	tracker  tracker     // itself, for tokens

	patterns atomic.Pointer[matchedPatterns] // of a route; nil: not known

	pinned atomic.Bool // a rule in force names it
	idle   int         // minutes without requests; guarded by Engine.mu
}

func newResource(domain string, mode rule.ResourceMode, name string) *resource {
	r := &resource{domain: domain, mode: mode, name: name}
	r.tracker = r
	return r
}

// needsEnd is false: nothing is refused for the sake of figures.
func (r *resource) needsEnd(hold) bool { return false }

// end counts how a call ended. One that never began, or of which nobody knows how it ended, or whose
// client left, says nothing of the application.
func (r *resource) end(now int64, h hold, e ending) {
	switch e.how {
	case succeeded, failed:
		r.stats.Complete(now, h.n, e.rt, e.how == failed)
	default:
		r.stats.End(h.n)
	}
	if e.how.reported() && !r.reported.Load() {
		r.reported.Store(true)
	}
}

// resources are all that are counted. Looking one up takes no lock: a table is only added to, and what
// leaves, leaves with the whole table.
type resources struct {
	seed     maphash.Seed
	most     int64
	table    atomic.Pointer[resourceTable]
	mu       sync.Mutex   // one addition, or one new table, at a time
	other    *resource    // those beyond most
	overflow atomic.Int64 // requests for them
}

// resourceTable is open addressing with linear probing, at most half full.
type resourceTable struct {
	slots []atomic.Pointer[resource] // a power of two
	used  atomic.Int64
}

func (t *resources) init(most int64) {
	t.seed, t.most = maphash.MakeSeed(), most
	t.other = newResource("", rule.ModeRoute, "")
	t.table.Store(newResourceTable(0))
}

// newResourceTable returns an empty table that has room for n.
func newResourceTable(n int64) *resourceTable {
	size := int64(64)
	for size < 2*n {
		size *= 2
	}
	return &resourceTable{slots: make([]atomic.Pointer[resource], size)}
}

// find returns a resource; nil if it is not known.
func (t *resourceTable) find(hash uint64, domain string, mode rule.ResourceMode, name string) *resource {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		r := t.slots[i].Load()
		if r == nil || r.hash == hash && r.name == name && r.mode == mode && r.domain == domain {
			return r
		}
	}
}

func (t *resourceTable) add(r *resource) {
	mask := uint64(len(t.slots) - 1)
	i := r.hash & mask
	for t.slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	t.slots[i].Store(r)
	t.used.Add(1)
}

// each calls yield with every resource.
func (t *resourceTable) each(yield func(r *resource) bool) {
	for i := range t.slots {
		if r := t.slots[i].Load(); r != nil && !yield(r) {
			return
		}
	}
}

func (t *resources) find(domain string, mode rule.ResourceMode, name string) *resource {
	return t.table.Load().find(maphash.String(t.seed, name), domain, mode, name)
}

// route returns the route of a request, whose name is borrowed.
func (t *resources) route(domain, name string) *resource {
	if len(name) <= maxResourceName {
		hash := maphash.String(t.seed, name)
		if r := t.table.Load().find(hash, domain, rule.ModeRoute, name); r != nil {
			return r
		}
		if r := t.insert(hash, domain, rule.ModeRoute, name, t.most); r != nil {
			return r
		}
	}
	t.overflow.Add(1)
	return t.other
}

// ruled returns the resource that a rule names, however many there are.
func (t *resources) ruled(domain string, mode rule.ResourceMode, name string) *resource {
	return t.insert(maphash.String(t.seed, name), domain, mode, name, math.MaxInt64)
}

// insert returns a resource, which it adds if it is not known; nil if there are most already.
func (t *resources) insert(hash uint64, domain string, mode rule.ResourceMode, name string, most int64) *resource {
	if t.table.Load().used.Load() >= most {
		return nil // without the lock, because there may be any number of such requests
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	table := t.table.Load()
	if r := table.find(hash, domain, mode, name); r != nil {
		return r
	}
	if table.used.Load() >= most {
		return nil
	}
	r := newResource(strings.Clone(domain), mode, strings.Clone(name))
	r.hash = hash
	if n := table.used.Load() + 1; 2*n > int64(len(table.slots)) {
		next := newResourceTable(n)
		table.each(func(r *resource) bool { next.add(r); return true })
		table = next
	}
	table.add(r)
	t.table.Store(table)
	return r
}

// forget drops the resources that no rule names and that have been idle. It is called each minute, by one
// goroutine at a time. What calls under way still count in one of them is lost.
func (t *resources) forget(now int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	table, kept := t.table.Load(), int64(0)
	table.each(func(r *resource) bool {
		if r.idle++; !r.stats.Maintain(now) || r.stats.InFlight() > 0 {
			r.idle = 0
		}
		if !r.forgotten() {
			kept++
		}
		return true
	})
	if kept == table.used.Load() {
		return
	}
	next := newResourceTable(kept)
	table.each(func(r *resource) bool {
		if !r.forgotten() {
			next.add(r)
		}
		return true
	})
	t.table.Store(next)
}

// bytes is the memory of a resource.
func (r *resource) bytes() int64 {
	return int64(unsafe.Sizeof(*r)) + int64(len(r.domain)+len(r.name)) + r.stats.MoreBytes()
}

func (r *resource) forgotten() bool { return !r.pinned.Load() && r.idle >= idleMinutes }
