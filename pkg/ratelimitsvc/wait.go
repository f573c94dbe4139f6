package ratelimitsvc

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// answerTime is what a call keeps of the time that its caller gives it, for the way of its answer. An
// answer that comes too late is none: Envoy then lets the request pass, or fails it.
const answerTime = 5 * time.Millisecond

// deadlines tells how much time a deadline leaves by the clock that windows live by. It reads no
// clock to do so, because both advance with the monotonic one.
type deadlines struct {
	from time.Time
	now  int64 // what Config.Now said just before from
}

func newDeadlines(now func() int64) deadlines {
	// In this order, what passes between the readings makes deadlines come sooner, not later.
	d := deadlines{now: now()}
	d.from = time.Now()
	return d
}

func (d deadlines) left(now int64, deadline time.Time) time.Duration {
	// The upper bound of Sub is 292 years, so that nothing overflows.
	return max(deadline.Sub(d.from), 0) - time.Duration(now-d.now)
}

// drain says when the last call may be answered late.
type drain struct {
	once  sync.Once
	begun chan struct{} // closed by Drain
	until atomic.Int64  // a reading of Config.Now; math.MaxInt64 before Drain
}

func (d *drain) init() {
	d.begun = make(chan struct{})
	d.until.Store(math.MaxInt64)
}

// Drain prepares for the end of the service, which goes on answering. Calls that wait are answered at
// their time if that comes within limit, and the others are refused when limit has passed; from now
// on a rule refuses what it would make wait any longer. So no call is left waiting after limit, and
// none fails. It returns at once. Only the first Drain has an effect.
func (s *Service) Drain(limit time.Duration) {
	s.drain.once.Do(func() {
		now := s.cfg.Now()
		s.drain.until.Store(now + min(int64(limit), math.MaxInt64-now))
		close(s.drain.begun)
	})
}

// decide lets the engine decide. If c.engine.Wait is positive afterwards, the call has been counted
// as waiting, and hold must follow.
func (s *Service) decide(ctx context.Context, now int64, c *call) {
	// Most of the calls that find no place to wait are told so before they take one in a queue.
	full := s.cfg.Counters.Waiting.Load() >= int64(s.cfg.MaxWaiting)
	c.engine.MaxWait = 0
	if !full {
		c.engine.MaxWait = s.patience(ctx, now)
	}
	s.cfg.Engine.Decide(now, &c.engine)
	if c.engine.Wait > 0 && !s.mayWait() {
		full = true
		s.cfg.Engine.Cancel(now, &c.engine)
		c.engine.MaxWait = 0
		s.cfg.Engine.Decide(now, &c.engine)
	}
	if full && c.refusedToWait() {
		s.cfg.Counters.WaitingRefused.Add(1)
		s.logFull(now)
	}
}

// patience returns how long a call may be made to wait.
func (s *Service) patience(ctx context.Context, now int64) time.Duration {
	patience := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		patience = s.time.left(now, deadline) - answerTime
	}
	if until := s.drain.until.Load(); until != math.MaxInt64 {
		patience = min(patience, time.Duration(until-now))
	}
	return max(patience, 0)
}

// mayWait counts one more call as waiting, unless as many wait as may.
func (s *Service) mayWait() bool {
	if s.cfg.Counters.Waiting.Add(1) <= int64(s.cfg.MaxWaiting) {
		return true
	}
	s.cfg.Counters.Waiting.Add(-1)
	return false
}

// refusedToWait says whether a rule would have let the call pass, had it been allowed to wait.
func (c *call) refusedToWait() bool {
	for i := range c.engine.Verdicts {
		if c.engine.Verdicts[i].Reason == engine.ReasonDeadline {
			return true
		}
	}
	return false
}

// hold returns when a call that was decided at now has waited as its rules want, is given up by its
// caller, or has been refused because the service ends before its time comes. It returns the time.
func (s *Service) hold(ctx context.Context, now int64, c *call) int64 {
	defer s.cfg.Counters.Waiting.Add(-1)
	due := now + int64(c.engine.Wait)
	timer := time.NewTimer(time.Duration(due - s.cfg.Now()))
	defer timer.Stop()
	draining := s.drain.begun
	late := false // the service ends before due
	for {
		select {
		case <-draining:
			draining = nil
			if until := s.drain.until.Load(); until < due {
				late = true
				timer.Reset(time.Duration(until - s.cfg.Now()))
			}
		case <-timer.C:
			at := s.cfg.Now()
			if late && at < due {
				s.cfg.Engine.Cancel(at, &c.engine)
				c.refuse(time.Duration(at - now))
			} else {
				c.age(c.engine.Wait)
			}
			return at
		case <-ctx.Done():
			return s.cfg.Now()
		}
	}
}

// refuse turns the verdicts that want to wait longer than the call has into refusals.
func (c *call) refuse(waited time.Duration) {
	c.engine.Overall, c.engine.Wait = engine.Block, 0
	for i := range c.engine.Verdicts {
		v := &c.engine.Verdicts[i]
		if left := v.Wait - waited; left > 0 {
			v.Code, v.Reason = engine.Block, engine.ReasonDeadline
			v.Rule, v.Limit = v.Queue, v.Queue.Limit+v.Queue.Burst
			v.Remaining, v.Reset, v.Wait = 0, left, 0
		}
	}
	c.age(waited)
}

// age makes the verdicts that passed say how long it takes from now on until a charge is forgotten.
func (c *call) age(waited time.Duration) {
	for i := range c.engine.Verdicts {
		if v := &c.engine.Verdicts[i]; v.Code == engine.Pass {
			v.Reset = max(v.Reset-waited, 0)
		}
	}
}
