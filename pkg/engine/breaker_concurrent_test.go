package engine

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

const callers = 64

// together runs f in many goroutines that start at once.
func together(f func(g int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for g := range callers {
		done.Go(func() {
			start.Wait()
			f(g)
		})
	}
	start.Done()
	done.Wait()
}

// TestBreakerConcurrentTrip: of calls that fail at once, the one that goes above the threshold opens
// the breaker, once; what comes after it does not count.
func TestBreakerConcurrentTrip(t *testing.T) {
	t.Parallel()
	for range 50 {
		c := breakerOf(t, `"grade": 2, "count": 99, "minRequestAmount": 1, "timeWindow": 1`)
		var counted, late atomic.Int64
		together(func(int) {
			for range 5 {
				if c.complete(noon, 1, time.Millisecond, true) {
					counted.Add(1)
				} else {
					late.Add(1)
				}
			}
		})
		got := c.b.transitions(0, nil)
		want := BreakerTransition{1, noon, BreakerClosed, BreakerOpen, window.Tally{Total: 100, Errors: 100, RT: 100 * time.Millisecond}}
		if len(got) != 1 || got[0] != want {
			t.Fatalf("transitions %+v", got)
		}
		if counted.Load() != 100 || late.Load() != 5*callers-100 {
			t.Fatalf("%d calls counted and %d late", counted.Load(), late.Load())
		}
	}
}

// TestBreakerConcurrentProbes: of calls that come at once when the wait is over, as many are let
// through as may probe.
func TestBreakerConcurrentProbes(t *testing.T) {
	t.Parallel()
	for range 50 {
		c := breakerOf(t, `"grade": 2, "count": 0, "minRequestAmount": 1, "timeWindow": 1, "halfOpenRequests": 7`)
		c.complete(noon, 1, 0, true)
		var passed, wrong atomic.Int64
		c.b.mu.Lock() // so that many see it open, and wait
		together(func(g int) {
			if g == 0 {
				for range 100 {
					runtime.Gosched()
				}
				c.b.mu.Unlock()
			}
			for range 5 {
				var g grant
				if c.acquire(noon+ms(1000), 1, 0, 0, &g).ok {
					passed.Add(1)
					if g.held.n != 3 {
						wrong.Add(1)
					}
				}
			}
		})
		if passed.Load() != 7 || wrong.Load() != 0 || c.peek(noon+ms(1000), ask{1, 1}, 0, 0).ok {
			t.Fatalf("%d let through, %d of them in another period", passed.Load(), wrong.Load())
		}
	}
}

// TestBreakerConcurrentLife: while the clock runs, with callers that come late, give back or never
// report, no more probes are under way than may be, the transitions make sense, and in the end the
// breaker closes.
func TestBreakerConcurrentLife(t *testing.T) {
	t.Parallel()
	const probes = 3
	c := breakerOf(t, `"grade": 1, "count": 0.5, "minRequestAmount": 20, "timeWindow": 1, "halfOpenRequests": 3, "halfOpenTimeoutMs": 700`)
	var clock atomic.Int64
	clock.Store(noon)
	var mu sync.Mutex
	under := map[breakerPermit]int{}
	most := map[breakerPermit]int{}
	track := func(p breakerPermit, by int) {
		mu.Lock()
		defer mu.Unlock()
		under[p] += by
		most[p] = max(most[p], under[p])
	}
	var seen []BreakerTransition
	together(func(g int) {
		random := rand.New(rand.NewPCG(9, uint64(g)))
		for range 400 {
			now := clock.Add(random.Int64N(ms(2)))
			mu.Lock()
			seen = c.b.transitions(uint64(len(seen)), seen) // as a daemon that logs
			mu.Unlock()
			var gr grant
			if !c.acquire(now-random.Int64N(ms(3)), 1, 0, 0, &gr).ok {
				continue
			}
			track(breakerPermit(gr.held.n), 1)
			now = clock.Add(random.Int64N(ms(2)))
			what := random.IntN(10)
			if what == 0 {
				continue // a lost report: still under way
			}
			track(breakerPermit(gr.held.n), -1)
			if what == 1 {
				c.refund(now, &gr)
			} else {
				c.complete(now, breakerPermit(gr.held.n), time.Millisecond, random.IntN(8) < 5)
			}
		}
	})
	seen = c.b.transitions(uint64(len(seen)), seen)
	if len(seen) < 10 {
		t.Fatalf("%d transitions: hardly anything was tried", len(seen))
	}
	state, at := BreakerClosed, int64(0)
	for i, s := range seen {
		if s.Sequence != uint64(i+1) || s.From != state || s.To == state || s.At < at || s.From == BreakerOpen && s.To == BreakerClosed || s.From == BreakerClosed && s.To == BreakerHalfOpen {
			t.Fatalf("transition %d: %+v after %v at %d", i, s, state, at)
		}
		if s.To == BreakerHalfOpen && s.At-at < int64(time.Second) {
			t.Fatalf("transition %d: a probe %v after opening", i, time.Duration(s.At-at))
		}
		if s.To == BreakerHalfOpen && most[breakerPermit(i+2)] > probes {
			t.Fatalf("transition %d: %d probes at a time", i, most[breakerPermit(i+2)])
		}
		state, at = s.To, s.At
	}
	now := clock.Load()
	for range 2 * probes {
		now += int64(time.Minute)
		var gr grant
		if c.acquire(now, 1, 0, 0, &gr).ok {
			c.complete(now, breakerPermit(gr.held.n), 0, false)
		}
	}
	if got := c.state(now); got != BreakerClosed {
		t.Errorf("when calls are good again: %v", got)
	}
}
