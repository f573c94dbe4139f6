package window

import (
	"testing"
	"time"
)

func BenchmarkOutcomes(b *testing.B) {
	w := newOutcomeWindow(b, epoch, 10, time.Second)
	benchBudget(b, "window/record", func(now int64) { w.Record(now, fast) })
	benchBudget(b, "window/tally", func(now int64) { w.Tally(now) })
	r := newOutcomeRing(b, 100)
	benchBudget(b, "ring/record", func(now int64) { r.Record(now, both) })
}
