package engine

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// contended is a controller whose budget is taken by others between every peek and acquire.
type contended struct{ concurrencyController }

func (contended) peek(int64, ask, time.Duration, window.Key) answer { return answer{ok: true} }

func (contended) acquire(int64, int64, time.Duration, window.Key, *grant) answer { return answer{} }

// TestLostRaceGivesProbeBack: rules refuse in vain before a breaker lets its probe through, and a probe of
// a call that a later rule refuses goes to the next call.
func TestLostRaceGivesProbeBack(t *testing.T) {
	t.Parallel()
	for turn, want := range map[turn]BreakerState{turnBudget: BreakerOpen, turnQueue: BreakerHalfOpen} {
		b := breakerOf(t, `"grade": 2, "count": 0, "minRequestAmount": 1, "timeWindow": 1`)
		var g grant
		b.acquire(noon, 1, 0, 0, &g)
		b.complete(noon, breakerPermit(g.held.n), 0, true)
		now := noon + int64(2*time.Second)
		breaker := &CompiledRule{allowance: allowance{ctl: b}, tracker: b, Breaker: true, turn: turnBreaker, Counters: new(Counters)}
		other := &CompiledRule{allowance: allowance{ctl: &contended{}}, turn: turn, Counters: new(Counters)}
		var c Call
		c.begin()
		c.uses = append(c.uses, use{rule: breaker, own: &breaker.allowance, n: 1}, use{rule: other, own: &other.allowance, n: 1})
		if c.charge(now); c.Overall != Block || other.LostRaces.Load() != 1 {
			t.Fatalf("%v, %d races lost", c.Overall, other.LostRaces.Load())
		}
		if s := b.b.status(now, &b.breakerTerms); s.State != want || s.Probes != 0 {
			t.Errorf("refused in turn %d: %+v, want %v and no probe", turn, s, want)
		}
		if !b.acquire(now, 1, 0, 0, &g).ok {
			t.Errorf("refused in turn %d: the next call cannot probe", turn)
		}
	}
}
