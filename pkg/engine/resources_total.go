package engine

import (
	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// ResourceTotals is what an engine has ever counted of a resource, for those who count time themselves. What
// ResourceState says of its figures holds here too.
type ResourceTotals struct {
	Domain   string
	Name     string
	Mode     rule.ResourceMode
	Ruled    bool
	Other    bool
	Reported bool
	InFlight int64

	resource *resource
}

// ResourceKey tells resources apart: it is equal for the same resource as long as it is counted, and for no
// other, though one of the same name be counted later.
type ResourceKey struct{ resource *resource }

// Key returns the key of the resource.
func (t ResourceTotals) Key() ResourceKey { return ResourceKey{t.resource} }

// Total returns what has been counted up to now, also after the resource was forgotten.
func (k ResourceKey) Total() window.Statistic { return k.resource.stats.Total() }

// ResourceTotals appends every resource that is counted, in no order, those beyond the bound as one if there are any.
// It reads less than Resources does, and changes nothing.
func (e *Engine) ResourceTotals(into []ResourceTotals) []ResourceTotals {
	for r := range e.resources.table.Load().each {
		into = append(into, r.totals())
	}
	if e.resources.overflow.Load() > 0 {
		other := e.resources.other.totals()
		other.Other = true
		into = append(into, other)
	}
	return into
}

func (r *resource) totals() ResourceTotals {
	return ResourceTotals{
		Domain: r.domain, Name: r.name, Mode: r.mode, Ruled: r.pinned.Load(), Reported: r.reported.Load(),
		InFlight: r.stats.InFlight(), resource: r,
	}
}
