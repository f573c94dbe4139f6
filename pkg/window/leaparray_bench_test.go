package window

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkCASLoop is what the window is measured by: the same admission against one word.
func BenchmarkCASLoop(b *testing.B) {
	var word struct {
		_ [cacheLine]byte
		atomic.Uint64
		_ [cacheLine]byte
	}
	admit := func() bool {
		for {
			w := word.Load()
			if w+1 > MaxLimit {
				return false
			}
			if word.CompareAndSwap(w, w+1) {
				return true
			}
		}
	}
	b.Run("admit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			admit()
		}
	})
	b.Run("admit/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				admit()
			}
		})
	})
}

// BenchmarkLeapArray runs on a clock that moves by 100 ns a call, so that rotations are in the
// figure as often as at ten million calls a second.
func BenchmarkLeapArray(b *testing.B) {
	const tick = 100
	for _, sampleCount := range []int{2, 10} {
		b.Run(fmt.Sprintf("admit/n=%d", sampleCount), func(b *testing.B) {
			a := newLeapArray(b, epoch, sampleCount, time.Second, Aligned)
			now := epoch
			b.ReportAllocs()
			for b.Loop() {
				now += tick
				a.TryAcquire(now, 1, MaxLimit)
			}
		})
		b.Run(fmt.Sprintf("refuse/n=%d", sampleCount), func(b *testing.B) {
			a := newLeapArray(b, epoch, sampleCount, time.Second, Aligned)
			now := epoch
			b.ReportAllocs()
			for b.Loop() {
				now += tick
				a.TryAcquire(now, 1, 0)
			}
		})
		b.Run(fmt.Sprintf("peek+admit/n=%d", sampleCount), func(b *testing.B) {
			a := newLeapArray(b, epoch, sampleCount, time.Second, Aligned)
			now := epoch
			b.ReportAllocs()
			for b.Loop() {
				now += tick
				a.Peek(now, 1, MaxLimit)
				a.TryAcquire(now, 1, MaxLimit)
			}
		})
		b.Run(fmt.Sprintf("admit/n=%d/parallel", sampleCount), func(b *testing.B) {
			a := newLeapArray(b, epoch, sampleCount, time.Second, Aligned)
			var clock atomic.Int64
			clock.Store(epoch)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				now := clock.Load()
				for pb.Next() {
					now += tick
					a.TryAcquire(now, 1, MaxLimit)
				}
			})
		})
	}
}
