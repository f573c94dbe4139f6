package engine

import (
	"testing"
	"time"
)

func BenchmarkBreaker(b *testing.B) {
	const rule = `"grade": 1, "count": 0.5, "timeWindow": 60, "minRequestAmount": 5`
	bench := func(name string, c *breakerController, call func(now int64, c *breakerController, g *grant)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var g grant
			now := noon
			for b.Loop() {
				now += 100
				call(now, c, &g)
			}
		})
		b.Run(name+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var g grant
				now := noon
				for pb.Next() {
					now += 100
					call(now, c, &g)
				}
			})
		})
	}
	decide := func(now int64, c *breakerController, g *grant) {
		if c.peek(now, ask{1, 1}, 0, 0).ok {
			c.acquire(now, 1, 0, 0, g)
		}
	}
	complete := func(now int64, c *breakerController, _ *grant) { c.complete(now, 1, time.Millisecond, false) }
	bench("closed/decide", breakerOf(b, rule), decide)
	bench("closed/complete", breakerOf(b, rule), complete)
	bench("last/complete", breakerOf(b, rule+`, "slidingWindow": {"type": "count", "size": 100}`), complete)
	open := breakerOf(b, rule)
	for range 5 {
		open.complete(noon+int64(time.Hour), 1, 0, true)
	}
	bench("open/refuse", open, decide)
}
