package window

import (
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkStatisticNode is the cost of counting, alone and from all cores at a time, and of what decisions read.
func BenchmarkStatisticNode(b *testing.B) {
	benchBudget(b, "pass", new(StatisticNode).passBench())
	spread := new(StatisticNode)
	spread.spreadOut()
	benchBudget(b, "pass/spread", spread.passBench())
	s := new(StatisticNode)
	benchBudget(b, "complete", func(now int64) { s.Complete(now, 1, time.Millisecond, false) })
	benchBudget(b, "last-second", func(now int64) { s.LastSecond(now) })
	benchBudget(b, "passed-last-second", func(now int64) { s.PassedLastSecond(now) })
	b.Run("pass/all-cores", func(b *testing.B) {
		s := new(StatisticNode)
		var callers atomic.Uint32
		b.RunParallel(func(pb *testing.PB) {
			hint, now := callers.Add(1), epoch
			for pb.Next() {
				s.Pass(now, hint, 1)
				now += 20_000
			}
		})
	})
}

func (s *StatisticNode) passBench() func(now int64) {
	return func(now int64) { s.Pass(now, 1, 1) }
}
