package engine

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// SystemSample is what the daemon has measured of the system that it runs in.
type SystemSample struct {
	Load float64 // load average; negative: unknown
	CPU  float64 // use of the processors that the application may have, 1 for all of them; negative: unknown
}

// SetSystem tells the engine how the system stands, for the system rules. What is unknown refuses nothing; before
// the first call all is.
func (e *Engine) SetSystem(s SystemSample) {
	e.load.set(s.Load)
	e.cpu.set(s.CPU)
}

// System returns what SetSystem was told last.
func (e *Engine) System() SystemSample { return SystemSample{Load: e.load.get(), CPU: e.cpu.get()} }

// gauge is a number that is not negative, or unknown. The zero value is 0.
type gauge struct{ bits atomic.Uint64 }

func (g *gauge) set(v float64) {
	if !(v >= 0) { // nor a number
		v = -1
	}
	g.bits.Store(math.Float64bits(v))
}

func (g *gauge) get() float64 { return math.Float64frombits(g.bits.Load()) }

// systemRule compiles a system rule. What it has counted goes on if one of the same id that counts the same is in
// force.
func (c *compiler) systemRule(s *rule.SystemRule, counters map[ruleName]*Counters) (*CompiledRule, error) {
	ctl := &systemController{
		limit: s.Limit, avgRT: s.AvgRT, load: s.Load, cpu: s.CPU, maxCalls: s.MaxThread + 1,
		inbound: &c.engine.inbound.stats, nowLoad: &c.engine.load, nowCPU: &c.engine.cpu,
	}
	counts := s.Limit != rule.Unchecked && s.Limit <= rule.MaxLimit
	key := fmt.Sprintf("system\x00%s\x00%v/%v/%v", s.ID, counts, s.Interval, s.MaxThread != rule.Unchecked)
	m, found := c.old.memories[key]
	if !found {
		if counts {
			var err error
			if m.leap, err = window.NewLeapArray(c.now, systemSlots, s.Interval, window.Aligned); err != nil {
				return nil, fmt.Errorf("%s: rule %q: %w", s.Pos, s.ID, err)
			}
		}
		if s.MaxThread != rule.Unchecked {
			m.calls = new(window.Inflight)
		}
	}
	c.next.memories[key] = m
	ctl.qps, ctl.calls = m.leap, m.calls
	r := &CompiledRule{
		ID: s.ID, Shadow: s.Shadow, Response: s.Response, memory: m, allowance: allowance{ctl: ctl}, system: true,
	}
	if s.NeedsOutcomes() {
		r.tracker, r.lease = ctl, s.Lease
	}
	c.count(r, counters)
	return r, nil
}

// systemSlots is Sentinel's number of slots of a second.
const systemSlots = 2

// systemController refuses calls while all of them together have too much to do. What can be counted exactly, calls a
// second and calls under way, it charges; the rest it only looks at. It is a tracker where the rule looks at how calls
// end.
type systemController struct {
	qps      *window.LeapArray // nil: unchecked
	limit    int64             // of qps
	calls    *window.Inflight  // nil: unchecked
	maxCalls int64             // under way; one more than maxThread, as in Sentinel
	avgRT    time.Duration     // these are rule.Unchecked if unchecked
	load     float64
	cpu      float64

	inbound         *window.StatisticNode
	nowLoad, nowCPU *gauge
}

func (c *systemController) peek(now int64, a ask, _ time.Duration, _ window.Key) answer {
	if c.qps != nil && !c.qps.Peek(now, a.first, c.limit).OK {
		return answer{reason: ReasonSystemQPS}
	}
	if c.calls != nil && !c.calls.Peek(1, c.maxCalls).OK {
		return answer{reason: ReasonSystemThread}
	}
	if why := c.judge(now); why != ReasonNone {
		return answer{reason: why}
	}
	return fed
}

// judge looks at what is measured.
func (c *systemController) judge(now int64) Reason {
	highLoad := c.load >= 0 && c.nowLoad.get() > c.load
	if c.avgRT >= 0 || highLoad {
		s := c.inbound.LastSecond(now)
		if c.avgRT >= 0 && s.AvgRT() > c.avgRT {
			return ReasonSystemRT
		}
		if highLoad && overloaded(&s) {
			return ReasonSystemLoad
		}
	}
	if c.cpu >= 0 && c.nowCPU.get() > c.cpu {
		return ReasonSystemCPU
	}
	return ReasonNone
}

// Sentinel's bounds of what overloaded goes by.
const (
	leastMinRT   = time.Millisecond
	unknownMinRT = 5 * time.Second
	leastSuccess = systemSlots // a second: one call in a slot
)

// overloaded says whether more calls are under way than the system has shown to cope with: by Little's law as many as
// end in a second at its best, times what the fastest of them took. BBR knows a connection's capacity in the same way,
// hence Sentinel's name for it.
func overloaded(s *window.LastSecond) bool {
	minRT := max(s.MinRT, leastMinRT)
	if s.MinRT == 0 {
		minRT = unknownMinRT
	}
	copes := float64(max(s.MaxSuccess, leastSuccess)) * minRT.Seconds()
	return s.InFlight > 1 && float64(s.InFlight) > copes
}

func (c *systemController) acquire(now, n int64, _ time.Duration, _ window.Key, g *grant) answer {
	g.held = hold{n: 1}
	if c.qps != nil {
		var r window.Result
		if g.leap, r = c.qps.TryAcquire(now, n, c.limit); !r.OK {
			return answer{reason: ReasonSystemQPS}
		}
	}
	if c.calls != nil && !c.calls.TryAcquire(1, c.maxCalls).OK {
		c.refundQPS(now, g)
		return answer{reason: ReasonSystemThread}
	}
	return fed
}

// refund gives back what a call has not put into its token.
func (c *systemController) refund(now int64, g *grant) bool {
	c.refundQPS(now, g)
	if g.held != (hold{}) {
		c.end(now, g.held, ending{how: withdrawn})
	}
	return true
}

func (c *systemController) refundQPS(now int64, g *grant) {
	if c.qps != nil {
		c.qps.Refund(now, g.leap)
	}
}

// release does nothing: hits that are given back are those of a resource.
func (c *systemController) release(int64, int64, window.Key) {}

// until is known of calls a second alone.
func (c *systemController) until(now, n int64, _ time.Duration, _ window.Key) (time.Duration, bool) {
	if c.qps == nil || c.calls != nil && !c.calls.Peek(1, c.maxCalls).OK || c.judge(now) != ReasonNone {
		return 0, false
	}
	return c.qps.Until(now, n, c.limit)
}

// reset is 0: nobody asks it of a rule without a limit of its own.
func (c *systemController) reset(int64, window.Key) time.Duration { return 0 }

func (c *systemController) needsEnd(hold) bool { return c.calls != nil }

func (c *systemController) end(_ int64, h hold, _ ending) {
	if c.calls != nil {
		c.calls.Release(int64(h.n))
	}
}
