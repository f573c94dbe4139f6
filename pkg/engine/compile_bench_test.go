package engine_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// BenchmarkApply is what a set of rules per parameter value costs before the first request: the time to
// compile it, and the memory that it holds.
func BenchmarkApply(b *testing.B) {
	const rules = 10_000
	set := rule.Set{}
	for i := range rules {
		name := fmt.Sprintf("rule-%05d", i)
		set.Limits = append(set.Limits, perUser(name, name, 100))
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	b.Run(fmt.Sprintf("keyed=%d", rules), func(b *testing.B) {
		var last *engine.Engine
		before := held()
		for b.Loop() {
			last = engine.New(engine.Options{})
			if _, err := last.Apply(start, set); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(held()-before)/rules, "B/rule")
		runtime.KeepAlive(last)
	})
}
