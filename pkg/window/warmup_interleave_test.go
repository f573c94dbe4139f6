//go:build interleave

package window

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
)

// TestInterleaveWarmUp tries every order of threads that charge a window of one slot in which 1 is
// allowed while it is cold, as an interval begins in which, from what passed, 2 may be allowed.
func TestInterleaveWarmUp(t *testing.T) {
	const interval = int64(sceneWidth)
	terms := WarmUpTerms{Limit: 2, Period: sceneWidth, ColdFactor: 2} // with 3 tokens cold, with 2 warm
	for _, threads := range [][]int64{{0, 1}, {0, 1, 1}, {0, 0, 1}, {1, 1, 1}} {
		var w *WarmUp
		var charged map[uint32]int64 // per interval
		e := explorer{
			merge:   true,
			threads: len(threads),
			during:  func() error { return nil },
		}
		e.start = func() ([]*atomic.Uint64, []func()) {
			var err error
			if w, err = NewWarmUp(sceneStart, 1, sceneWidth, Aligned, terms); err != nil {
				panic(err)
			}
			charged = map[uint32]int64{}
			var memory []*atomic.Uint64
			for _, a := range []*LeapArray{w.leap, w.passes} {
				memory = append(memory, &a.word, &a.previous, &a.slots[0])
			}
			var bodies []func()
			for i, at := range threads {
				bodies = append(bodies, func() {
					p, r := w.TryAcquire(sceneStart+at*interval, 1)
					if !r.OK {
						e.know(i, 0)
						return
					}
					e.know(i, pack(p.leap.seq, 1))
					charged[p.leap.seq]++
				})
			}
			return append(memory, &w.word), bodies
		}
		e.after = func() error {
			head, limit := unpack(w.word.Load())
			if head != uint32(w.warmth.at) || int64(limit) != w.warmth.allowed() {
				return fmt.Errorf("shows %d of interval %d, is %d of %d", limit, head, w.warmth.allowed(), w.warmth.at)
			}
			// The first interval is cold; others are warm only if one passed before them.
			before := int64(0)
			for i := range uint32(2) {
				n := charged[uint32(sceneStart/interval&math.MaxUint32)+i]
				if n > 1+before {
					return fmt.Errorf("charged by interval: %v", charged)
				}
				before += n
			}
			if len(charged) == 0 {
				return fmt.Errorf("nobody was admitted")
			}
			if got := w.leap.total(sceneStart + 3*interval); got != 0 {
				return fmt.Errorf("%d left over", got)
			}
			return nil
		}
		if err := e.run(); err != nil {
			t.Errorf("%v: %v", threads, err)
		}
		t.Logf("%v: %d different ends", threads, e.orders)
	}
}
