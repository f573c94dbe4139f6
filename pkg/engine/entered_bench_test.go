package engine

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkFigures is what a decision pays for the figures of its resources: it finds the route of each request, if no
// rule has led there, and counts what became of the call, in the route and in the sum of all calls.
func BenchmarkFigures(b *testing.B) {
	e := New(Options{})
	d := newDomain("", 0)
	ruled := &ruleList{resource: e.resources.route("", "ruled")}
	for i := range 5000 {
		e.resources.route("", fmt.Sprintf("route-%d", i))
	}
	step := func(c *Call, own *ruleList, now int64) {
		c.entered, c.hits = c.entered[:0], 1
		e.enterRoute(d, own, c, &c.Items[0])
		e.record(now, c)
	}
	var callers atomic.Uint32
	for _, bench := range []struct {
		name string
		own  *ruleList
	}{{"of-a-rule", ruled}, {"by-name", nil}} {
		newCall := func() *Call {
			c := &Call{Items: []Request{{Resource: "route-77", Hits: 1}}}
			c.hint = callers.Add(1)
			return c
		}
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			c, now := newCall(), int64(1_750_000_000_000_000_000)
			for b.Loop() {
				step(c, bench.own, now)
				now += 20_000
			}
		})
		b.Run(bench.name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c, now := newCall(), int64(1_750_000_000_000_000_000)
				for pb.Next() {
					step(c, bench.own, now)
					now += 20_000
				}
			})
		})
	}
}
