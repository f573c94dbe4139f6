//go:build e2e && linux

package chaos

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/clock"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Thousands of rule sets are put in force while calls are decided. A budget that is in all of them is given
// once, what is closed in all of them is never open, and nothing is left of the sets that have gone.
func manyReloads(t *testing.T) row {
	reloads := 10_000
	if testing.Short() {
		reloads = 500
	}
	clk, e := clock.New(), engine.New(engine.Options{})
	apply := func(n int) {
		more := []string{fmt.Sprintf(`{"id": "extra-%d", "resource": "images", "count": %d}`, n%3, n)}
		set, problems := rule.Load([]rule.File{{Name: rulesFile, Data: []byte(ruleSet(more[:n%2]...))}}, rule.Options{})
		err := problems.Err()
		if err == nil {
			_, err = e.Apply(clk.Now(), set)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	apply(0)
	r := row{before: inProcess()}

	var sent, wrong, hourly atomic.Int64
	var callers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		callers.Go(func() {
			c := engine.Call{Domain: "sidecard", Items: make([]engine.Request, 1)}
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				c.Items[0] = engine.Request{Resource: []string{"other", "orders"}[n%2], Path: "/", Hits: 1}
				e.Decide(clk.Now(), &c)
				sent.Add(1)
				switch passed := c.Overall == engine.Pass; {
				case passed && n%2 == 0:
					wrong.Add(1)
				case passed:
					hourly.Add(1)
				}
				runtime.Gosched()
			}
		})
	}
	start := time.Now()
	for n := range reloads {
		apply(n + 1)
	}
	t.Logf("%d reloads in %s, %d decisions", reloads, time.Since(start).Round(time.Millisecond), sent.Load())
	close(done)
	callers.Wait()
	e.Maintain(clk.Now())
	r.after = inProcess()
	r.peak = max(r.before.rss, r.after.rss)

	r.outcome.sent = int(sent.Load())
	r.outcome.wrong = map[string]int{"closed": int(wrong.Load()), "hourly": max(0, int(hourly.Load())-hourlyLimit)}
	if hourly.Load() != hourlyLimit || wrong.Load() != 0 {
		t.Errorf("%d of %d an hour were admitted, %d where none is", hourly.Load(), hourlyLimit, wrong.Load())
	}
	if n := len(e.Rules()); n != 4 {
		t.Errorf("%d rules are in force, want the 4 of all sets", n)
		r.lost = 4 - n
	}
	if grown := r.after.rss - r.before.rss; grown > 4<<20 {
		t.Errorf("%d reloads left %.1f MiB behind", reloads, grown/(1<<20))
	}
	return r
}

// inProcess is what is live of this process, which other runs share.
func inProcess() usage {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{rss: float64(m.HeapAlloc), goroutines: float64(runtime.NumGoroutine())}
}
