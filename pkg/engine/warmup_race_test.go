package engine_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// TestFlowRulesRace decides, cancels and reloads at once. However the counts change, no second admits more
// than the largest of them in either of its halves' windows; and what is charged to the resource that
// another rule looks at is what passed there.
func TestFlowRulesRace(t *testing.T) {
	t.Parallel()
	const (
		rules = `{"id": "warm", "resource": "orders", "count": COUNT, "controlBehavior": 1, "warmUpPeriodSec": 2},
			{"id": "other", "resource": "orders", "limitApp": "other", "count": COUNT},
			{"id": "re", "resource": "ord.*", "regex": true, "limitApp": "web", "count": COUNT},
			{"id": "after", "resource": "search", "count": COUNT, "strategy": 1, "refResource": "orders"}`
		most = 60
	)
	set := func(count int) string { return strings.ReplaceAll(rules, "COUNT", strconv.Itoa(count)) }
	e := newEngine(t, flowSet(t, set(most)))
	var clock atomic.Int64
	clock.Store(aligned)
	var mu sync.Mutex
	admitted := make(map[int64]int) // per half second
	var done sync.WaitGroup
	for g := range 8 {
		done.Go(func() {
			random := rand.New(rand.NewPCG(5, uint64(g)))
			var c engine.Call
			for range 2000 {
				now := clock.Add(random.Int64N(int64(time.Millisecond)))
				q := from([]string{"", "web", "app"}[random.IntN(3)], []string{"orders", "orders", "search"}[random.IntN(3)])
				if decide(e, now, &c, q) != engine.Pass || q.Resource != "orders" {
					continue
				}
				if random.IntN(10) == 0 {
					e.Cancel(now, &c)
					continue
				}
				mu.Lock()
				admitted[now/int64(time.Second/2)]++
				mu.Unlock()
			}
		})
	}
	done.Go(func() {
		for i := range 50 {
			if _, err := e.Apply(clock.Load(), flowSet(t, set(most-i%20))); err != nil {
				t.Error(err)
			}
		}
	})
	done.Wait()
	for half, n := range admitted {
		// A caller who was late is charged to the slot after its own.
		if sum := n + admitted[half-1]; sum > most+8 {
			t.Errorf("%d admitted in the second up to %d", sum, half)
		}
	}
	later := clock.Load() + int64(time.Minute)
	if got := passes(e, later, 5, from("", "search")); got != 5 {
		t.Errorf("%d of 5 pass when all has left", got)
	}
}
