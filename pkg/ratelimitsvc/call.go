package ratelimitsvc

import (
	"math"

	"google.golang.org/grpc/mem"

	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
)

// call is the state of one ShouldRateLimit, reused call after call. In this order: the codec sets
// raw; decode fills req; collect fills bags, items, reports and engine.Items; Decide fills the verdicts.
// All strings but those of the verdicts' rules alias raw or the bags; forget drops them.
type call struct {
	raw     mem.Buffer // nil: none received
	req     request
	bags    []attr.Bag    // one per descriptor, most of the time more than there are
	items   []int32       // per descriptor its index in engine.Items, or noItem
	reports []attr.Report // of calls that have ended
	engine  engine.Call
	turn    histogram.Turn // of the decisions made with it
}

// free gives the receive buffer back.
func (c *call) free() {
	if c.raw != nil {
		c.raw.Free()
		c.raw = nil
	}
}

// reset makes the call ready for the next.
func (c *call) reset() {
	c.forget()
	c.items = c.items[:0]
}

// forget drops all strings that alias the receive buffer and gives the buffer back. What is needed
// to cancel and to answer the call stays: its verdicts, what the engine charged, and items.
func (c *call) forget() {
	for i := range c.req.descriptors {
		if i < len(c.bags) {
			c.bags[i].Reset()
		}
	}
	c.req.reset()
	clear(c.reports)
	c.reports = c.reports[:0]
	clear(c.engine.Items)
	c.engine.Items = c.engine.Items[:0]
	c.engine.Domain = ""
	c.free()
}

// collect turns the descriptors of a decoded request into the items of the engine's call, and into
// reports. names
// renames descriptor keys; it may be nil. It returns how many descriptors ask for a limit of their
// own.
func (c *call) collect(names map[string]string) (overrides int64) {
	if n := len(c.req.descriptors); n > len(c.bags) {
		c.bags = make([]attr.Bag, n) // those at rest hold nothing
	}
	c.engine.Domain = c.req.domain
	for i := range c.req.descriptors {
		d := &c.req.descriptors[i]
		if d.override {
			overrides++
		}
		c.items = append(c.items, c.collectItem(d, &c.bags[i], names))
	}
	return overrides
}

// collectItem adds a descriptor to the items of the call and returns its index there. Nothing is
// asked for a descriptor without entries, which Envoy sends when it has no value for any of them,
// for a completion report, and for a refund of nothing.
func (c *call) collectItem(d *descriptor, bag *attr.Bag, names map[string]string) int32 {
	kind, hits := d.ask(c.req.hits)
	if d.first == d.end || hits == 0 {
		return noItem
	}
	for _, e := range c.req.entries[d.first:d.end] {
		if name, ok := names[e.key]; ok {
			e.key = name
		}
		bag.Add(e.key, e.value)
	}
	if report, ok := bag.Report(); ok {
		c.reports = append(c.reports, report)
		return noItem
	}
	r := engine.Request{Kind: kind, Hits: hits}
	bag.Request(&r)
	c.engine.Items = append(c.engine.Items, r)
	return int32(len(c.engine.Items) - 1)
}

// ask says what a descriptor wants, given the hits of its request. Its own hits win; none at all,
// and 0 for the whole request, mean 1, while its own 0 means a peek. A refund of 0 is nothing: it
// returns 0 hits. More hits than 63 bits hold are more than any limit.
func (d *descriptor) ask(request uint32) (engine.Kind, int64) {
	hits := uint64(max(request, 1))
	if d.hasHits {
		hits = d.hits
	}
	hits = min(hits, math.MaxInt64)
	switch {
	case d.negative:
		return engine.Refund, int64(hits)
	case hits == 0:
		return engine.Peek, 1
	}
	return engine.Charge, int64(hits)
}
