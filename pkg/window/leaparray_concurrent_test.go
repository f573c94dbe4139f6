package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const goroutines = 64

// TestLeapArrayConcurrentExact: many callers at one moment get the limit, no more and no less.
func TestLeapArrayConcurrentExact(t *testing.T) {
	t.Parallel()
	const limit = 100
	for _, mode := range []Mode{Aligned, Strict} {
		for range 500 {
			a := newLeapArray(t, epoch, 2, time.Second, mode)
			// The rotation falls to whoever comes first.
			now := epoch + int64(3*time.Second)
			var admitted atomic.Int64
			var start, done sync.WaitGroup
			start.Add(1)
			for range goroutines {
				done.Go(func() {
					start.Wait()
					for range 5 {
						if _, r := a.TryAcquire(now, 1, limit); r.OK {
							admitted.Add(1)
						}
					}
				})
			}
			start.Done()
			done.Wait()
			if got := admitted.Load(); got != limit {
				t.Fatalf("mode %d: %d admitted, want %d", mode, got, limit)
			}
		}
	}
}

// TestLeapArrayConcurrentBound: while the clock runs, with callers that come late and callers that
// give back, no run of consecutive slots admits more than the limit.
func TestLeapArrayConcurrentBound(t *testing.T) {
	t.Parallel()
	const (
		limit = 100
		calls = 4000
		width = time.Millisecond
	)
	for _, sampleCount := range []int{1, 2, 10} {
		for _, mode := range []Mode{Aligned, Strict} {
			a := newLeapArray(t, epoch, sampleCount, time.Duration(sampleCount)*width, mode)
			var clock atomic.Int64
			clock.Store(epoch)
			bySlot := make([]map[uint32]int64, goroutines)
			var done sync.WaitGroup
			for g := range goroutines {
				bySlot[g] = map[uint32]int64{}
				done.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(g)))
					for range calls {
						// On average the limit's worth of calls and more falls into every window.
						now := clock.Add(random.Int64N(int64(width) * int64(sampleCount) / 150))
						if random.IntN(8) == 0 {
							now -= random.Int64N(3 * int64(width))
						}
						n := 1 + random.Int64N(3)
						p, r := a.TryAcquire(now, n, limit)
						switch {
						case !r.OK:
						case random.IntN(8) == 0:
							a.Refund(now, p)
						default:
							bySlot[g][p.seq] += n
						}
					}
				})
			}
			done.Wait()

			admitted := map[uint32]int64{}
			for _, m := range bySlot {
				for seq, n := range m {
					admitted[seq] += n
				}
			}
			full := 0
			for seq := range admitted {
				sum := int64(0)
				for i := range a.live {
					sum += admitted[seq+i]
				}
				if sum > limit {
					t.Fatalf("%d slots, mode %d: %d admitted from slot %d on, limit %d", sampleCount, mode, sum, seq, limit)
				}
				if sum > limit-6 {
					full++
				}
			}
			if full == 0 {
				t.Fatalf("%d slots, mode %d: the limit was never reached, so nothing was tried", sampleCount, mode)
			}
			s := a.Snapshot(clock.Load(), nil)
			for _, n := range s.Slots {
				s.Total -= n
			}
			if s.Total != 0 {
				t.Fatalf("%d slots, mode %d: at rest, total less the slots is %d", sampleCount, mode, s.Total)
			}
		}
	}
}
