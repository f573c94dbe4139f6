package engine

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// ResourceState is a route or an API group, and what becomes of the requests that enter it.
//
// A request counts as passed or as blocked in every resource that it enters, by what the call as a whole became,
// once for each of its hits. A call that is given up before it is answered counts as neither. An API group without
// rules is not matched, so nothing is known of it.
type ResourceState struct {
	Domain string // claimed by a file; empty: every domain that no file claims
	Name   string // as requests or rules write it, which may be any bytes
	Mode   rule.ResourceMode
	Ruled  bool // a rule in force names it
	// Other is set for all the routes together that are beyond Options.MaxResources, or whose names are longer than
	// 1024 bytes. It has no name.
	Other bool
	// Reported says that the end of one of its calls has been reported, ever. Where it has not, Success,
	// Exception, RT and MinRT are 0 because nobody tells; and so is InFlight, unless a rule counts its calls.
	// Calls that have no Token are not among these figures.
	Reported bool
	Last     window.LastSecond // up to now
	Previous int64             // passed in the second of the wall clock before that of now

	resource *resource
}

// Minute appends what became of the requests in each of the last sixty seconds of the wall clock.
func (s ResourceState) Minute(now int64, into []window.Second) []window.Second {
	return s.resource.stats.Minute(now, into)
}

// Resources appends every resource that is counted, the sum of all those beyond the bound last, if there are any. The
// others are in the order of domain, mode and name. Its cost is that of all of them; decisions go on meanwhile.
func (e *Engine) Resources(now int64, into []ResourceState) []ResourceState {
	from := len(into)
	for r := range e.resources.table.Load().each {
		into = append(into, r.state(now))
	}
	slices.SortFunc(into[from:], func(a, b ResourceState) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), cmp.Compare(a.Mode, b.Mode), strings.Compare(a.Name, b.Name))
	})
	if e.resources.overflow.Load() > 0 {
		other := e.resources.other.state(now)
		other.Other = true
		into = append(into, other)
	}
	return into
}

// Resource returns one resource; false if it is not counted by name. The domain is one that a file claims, or
// empty.
func (e *Engine) Resource(now int64, domain string, mode rule.ResourceMode, name string) (ResourceState, bool) {
	r := e.resources.find(domain, mode, name)
	if r == nil {
		return ResourceState{}, false
	}
	return r.state(now), true
}

// Inbound returns what becomes of all calls together, those that enter no resource among them. A call counts once, for
// as many hits as the largest of its requests.
func (e *Engine) Inbound(now int64) ResourceState { return e.inbound.state(now) }

// ResourceCounts say how many resources an engine counts.
type ResourceCounts struct {
	Known    int64 // counted by name
	Bytes    int64 // memory of those
	Overflow int64 // requests since the start for resources that found no room, or whose names are too long
}

// ResourceCounts returns how many resources are counted.
func (e *Engine) ResourceCounts() ResourceCounts {
	table := e.resources.table.Load()
	c := ResourceCounts{Known: table.used.Load(), Overflow: e.resources.overflow.Load()}
	c.Bytes = int64(len(table.slots)) * 8
	for r := range table.each {
		c.Bytes += r.bytes()
	}
	return c
}

func (r *resource) state(now int64) ResourceState {
	return ResourceState{
		Domain: r.domain, Name: r.name, Mode: r.mode, Ruled: r.pinned.Load(), Reported: r.reported.Load(),
		Last: r.stats.LastSecond(now), Previous: r.stats.PreviousPass(now), resource: r,
	}
}

// Key returns the key of the resource.
func (s ResourceState) Key() ResourceKey { return ResourceKey{s.resource} }
