package engine_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// TestEveryEndingGivesBack ends calls in all ways there are, under all kinds of rules that wait for an end, while sets
// that have those rules or not come and go: nothing is under way at the end, in any count, and the figures are of the
// calls that were not given up.
func TestEveryEndingGivesBack(t *testing.T) {
	t.Parallel()
	const all = `{
		"systemRules": [{"id": "threads", "maxThread": 1000, "leaseMs": 1000}, {"id": "slow", "avgRt": 10000, "qps": 1000000, "leaseMs": 1000}, {"id": "dark", "maxThread": 1, "shadow": true, "leaseMs": 1000}],
		"flowRules": [
			{"id": "at-once", "resource": "orders", "grade": 0, "leaseMs": 1000, "count": 30},
			{"id": "related", "resource": "other", "grade": 0, "leaseMs": 1000, "count": 30, "strategy": 1, "refResource": "orders"},
			{"id": "queue", "resource": "orders", "count": 1000, "controlBehavior": 2, "maxQueueingTimeMs": 100}
		],
		"paramFlowRules": [{"id": "per-value", "resource": "orders", "grade": 0, "leaseMs": 1000, "count": 9, "paramKey": "x-user-id"}],
		"degradeRules": [{"id": "breaker", "resource": "orders", "grade": 1, "count": 0.9, "minRequestAmount": 50, "timeWindow": 1, "leaseMs": 1000}]
	}`
	const few = `{"flowRules": [{"id": "at-once", "resource": "orders", "grade": 0, "leaseMs": 1000, "count": 29}]}`
	sets := []rule.Set{load(t, map[string]string{"all.json": all}), load(t, map[string]string{"all.json": few})}
	e := newEngine(t, sets[0])
	var clock atomic.Int64
	clock.Store(start)
	stop := make(chan struct{})
	var chores, callers sync.WaitGroup
	chores.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			e.Expire(clock.Load())
			if i%20 == 0 {
				apply(t, e, sets[i/20%2])
			}
		}
	})
	var passed, blocked atomic.Int64
	for range 8 {
		callers.Go(func() {
			c := engine.Call{MaxWait: 50 * time.Millisecond}
			pass, block := int64(0), int64(0)
			for i := range 2000 {
				c.Track = i%3 == 0
				items := []engine.Request{request("orders", "", string(rune('a'+rand.IntN(6)))), request("other", "", "")}
				if i%4 == 0 {
					items = items[1:]
				}
				// All of it takes 16 s, less than the minute that the figures are kept.
				if decide(e, clock.Add(int64(time.Millisecond)), &c, items...) != engine.Pass {
					block++
					continue
				}
				token := c.Token
				switch rand.IntN(6) {
				case 0:
					e.Cancel(clock.Load(), &c)
					e.Cancel(clock.Load(), &c)
				case 1: // nobody reports
					pass++
				case 2:
					e.Withdraw(clock.Load(), &c)
					pass++
				case 3:
					c.MaxWait = 0
					if e.Redecide(clock.Load(), &c); c.Overall == engine.Pass {
						e.Complete(clock.Load(), c.Token, engine.Outcome{})
						pass++
					} else {
						block++
					}
					c.MaxWait = 50 * time.Millisecond
				case 4:
					e.Refuse(clock.Load(), &c, time.Millisecond)
					block++
				default:
					pass++
					var reports sync.WaitGroup
					for range 2 {
						reports.Go(func() { e.Complete(clock.Load(), token, engine.Outcome{Error: i%2 == 0}) })
					}
					reports.Wait()
				}
			}
			passed.Add(pass)
			blocked.Add(block)
		})
	}
	callers.Wait()
	close(stop)
	chores.Wait()
	now := clock.Load()
	in := e.Inbound(now)
	var sum [2]int64
	for _, second := range in.Minute(now, nil) {
		sum[0] += second.Pass
		sum[1] += second.Block
	}
	if sum != [2]int64{passed.Load(), blocked.Load()} || passed.Load() == 0 || blocked.Load() == 0 {
		t.Errorf("%d passed and %d were refused, the figures say %v", passed.Load(), blocked.Load(), sum)
	}
	e.Expire(now + int64(time.Hour))
	apply(t, e, sets[0])
	for _, r := range e.Rules() {
		if r.InFlight != 0 {
			t.Errorf("%d are under way for %s", r.InFlight, r.Rule.ID)
		}
	}
	for _, r := range append(e.Resources(now, nil), e.Inbound(now)) {
		if r.Last.InFlight != 0 {
			t.Errorf("%d are under way in %q", r.Last.InFlight, r.Name)
		}
	}
	st := e.Tokens()
	if st.Live != 0 || st.Completed.Load() == 0 || st.Expired.Load() == 0 || st.Withdrawn.Load() == 0 {
		t.Errorf("%d tokens are left; %d completed, %d expired, %d withdrawn", st.Live, st.Completed.Load(), st.Expired.Load(), st.Withdrawn.Load())
	}
}
