package window

import (
	"testing"
	"time"
)

// The clock moves by 100 ns a call, as in BenchmarkLeapArray.
const benchTick = 100

// benchBudget runs call with a clock, on one goroutine and on all.
func benchBudget(b *testing.B, name string, call func(now int64)) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		now := epoch
		for b.Loop() {
			now += benchTick
			call(now)
		}
	})
	b.Run(name+"/parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			now := epoch
			for pb.Next() {
				now += benchTick
				call(now)
			}
		})
	})
}

func BenchmarkThrottle(b *testing.B) {
	whole, fraction := Rate{20_000_000, 1, time.Second}, Rate{60_000_001, 3, time.Second}
	a := NewThrottle()
	benchBudget(b, "promise", func(now int64) { a.Acquire(now, 1, whole, time.Second, true) })
	a = NewThrottle()
	benchBudget(b, "promise/fraction", func(now int64) { a.Acquire(now, 1, fraction, time.Second, true) })
	a = NewThrottle()
	a.Acquire(epoch+int64(time.Hour), 1, whole, 0, true)
	benchBudget(b, "refuse", func(now int64) { a.Acquire(now, 1, whole, 0, true) })
}

func BenchmarkTokenBucket(b *testing.B) {
	a := NewTokenBucket()
	rate := Rate{MaxLimit, 1, time.Second}
	benchBudget(b, "admit", func(now int64) { a.TryAcquire(now, 1, rate, 0) })
	a = NewTokenBucket()
	rate.Count = 1
	benchBudget(b, "refuse", func(now int64) { a.TryAcquire(now, 1, rate, 0) })
}

func BenchmarkBurst(b *testing.B) {
	for _, c := range []struct {
		name  string
		count int64
	}{{"admit", MaxLimit / 2}, {"refuse", 1}} {
		a, err := NewBurst(epoch, 10, time.Second, Aligned)
		if err != nil {
			b.Fatal(err)
		}
		benchBudget(b, c.name, func(now int64) { a.TryAcquire(now, 1, c.count, c.count) })
	}
}
