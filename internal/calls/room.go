package calls

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// DefaultMaxWaiting is how many calls may wait at a time unless the configuration says otherwise. A
// waiting call takes about 15 KiB, most of which is the connection's, so that all together stay below
// 64 MiB.
const DefaultMaxWaiting = 4096

// AnswerTime is what a call keeps of the time that its caller gives it, for the way of its answer. An
// answer that comes too late is none: Envoy then lets the request pass, or fails it.
const AnswerTime = 5 * time.Millisecond

// Config is what a Room works with.
type Config struct {
	Engine *engine.Engine // required
	// Now is the time in Unix nanoseconds, which must advance as the monotonic clock does; required.
	Now      func() int64
	Counters *Counters // nil: nobody reads them
	// Max is how many calls may wait at a time; 0: DefaultMaxWaiting. A rule that would make one more
	// wait refuses it.
	Max int
}

// Room is where calls wait for their turn, however they came in, so that there is one bound on their
// number and one end to their waiting. Make it with NewRoom. Its methods are safe for concurrent use
// with different calls.
type Room struct {
	cfg   Config
	time  deadlines
	drain drain
}

// NewRoom returns an empty room.
func NewRoom(cfg Config) *Room {
	if cfg.Counters == nil {
		cfg.Counters = new(Counters)
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMaxWaiting
	}
	r := &Room{cfg: cfg, time: newDeadlines(cfg.Now)}
	r.drain.begun = make(chan struct{})
	r.drain.until.Store(math.MaxInt64)
	return r
}

// Max returns how many calls may wait at a time.
func (r *Room) Max() int { return r.cfg.Max }

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

// Draining returns a channel that is closed when Drain has been called.
func (r *Room) Draining() <-chan struct{} { return r.drain.begun }

// Drain prepares for the end of the daemon, which goes on answering. Calls that wait are answered at
// their time if that comes within limit, and the others are refused when limit has passed; from now
// on a rule refuses what it would make wait any longer. So no call is left waiting after limit, and
// none fails. It returns at once. Only the first Drain has an effect.
func (r *Room) Drain(limit time.Duration) {
	r.drain.once.Do(func() {
		now := r.cfg.Now()
		r.drain.until.Store(now + min(int64(limit), math.MaxInt64-now))
		close(r.drain.begun)
	})
}

// Decide lets the engine decide the call of a caller who has until the deadline of ctx, and who waits no
// longer than most. If c.Wait is positive afterwards, the call has been counted as waiting, and Hold must
// follow. It returns whether a rule refused because as many calls wait as may.
func (r *Room) Decide(ctx context.Context, now int64, most time.Duration, c *engine.Call) (full bool) {
	// Most of the calls that find no place to wait are told so before they take one in a queue.
	full = r.cfg.Counters.Waiting.Load() >= int64(r.cfg.Max)
	c.MaxWait = 0
	if !full {
		c.MaxWait = min(r.patience(ctx, now), most)
	}
	r.cfg.Engine.Decide(now, c)
	if c.Wait > 0 && !r.mayWait() {
		full = true
		c.MaxWait = 0
		r.cfg.Engine.Redecide(now, c)
	}
	full = full && refusedToWait(c)
	if full {
		r.cfg.Counters.WaitingRefused.Add(1)
	}
	return full
}

// patience returns how long a call may be made to wait.
func (r *Room) patience(ctx context.Context, now int64) time.Duration {
	patience := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		patience = r.time.left(now, deadline) - AnswerTime
	}
	if until := r.drain.until.Load(); until != math.MaxInt64 {
		patience = min(patience, time.Duration(until-now))
	}
	return max(patience, 0)
}

// mayWait counts one more call as waiting, unless as many wait as may.
func (r *Room) mayWait() bool {
	if r.cfg.Counters.Waiting.Add(1) <= int64(r.cfg.Max) {
		return true
	}
	r.cfg.Counters.Waiting.Add(-1)
	return false
}

// refusedToWait says whether a rule would have let the call pass, had it been allowed to wait.
func refusedToWait(c *engine.Call) bool {
	for i := range c.Verdicts {
		if c.Verdicts[i].Reason == engine.ReasonDeadline {
			return true
		}
	}
	return false
}

// Hold returns when a call that Decide decided at now has waited as its rules want, is given up by its
// caller, or has been refused because the daemon ends before its time comes. It returns the time. It
// reads no string of the requests, whose buffer may be gone.
func (r *Room) Hold(ctx context.Context, now int64, c *engine.Call) (at int64) {
	defer func() {
		r.cfg.Counters.Waiting.Add(-1)
		r.cfg.Counters.Waits.Observe(time.Duration(at - now))
	}()
	due := now + int64(c.Wait)
	timer := time.NewTimer(time.Duration(due - r.cfg.Now()))
	defer timer.Stop()
	draining := r.drain.begun
	late := false // the daemon ends before due
	for {
		select {
		case <-draining:
			draining = nil
			if until := r.drain.until.Load(); until < due {
				late = true
				timer.Reset(time.Duration(until - r.cfg.Now()))
			}
		case <-timer.C:
			at = r.cfg.Now()
			if late && at < due {
				waited := time.Duration(at - now)
				r.cfg.Engine.Refuse(at, c, waited)
				age(c, waited)
			} else {
				age(c, c.Wait)
			}
			return at
		case <-ctx.Done():
			return r.cfg.Now()
		}
	}
}

// age makes the verdicts that passed say how long it takes from now on until a charge is forgotten.
func age(c *engine.Call, waited time.Duration) {
	for i := range c.Verdicts {
		if v := &c.Verdicts[i]; v.Code == engine.Pass {
			v.Reset = max(v.Reset-waited, 0)
		}
	}
}
