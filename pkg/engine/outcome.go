package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// Outcome is how a call ended.
type Outcome struct {
	Error bool
	// Aborted says that the client left before the call had come to its end. Breakers then learn
	// from it only that it was slow, if it was.
	Aborted bool
	// RT is how long the call took; 0: as long as it is since its answer was due, which excludes what
	// rules made it wait.
	RT time.Duration
}

// tracker is a controller whose charges last until the call has ended. Each charge is either refunded
// or ended, once.
type tracker interface {
	// needsEnd says whether a charge that is held would stay for good if nobody ended it.
	needsEnd(h hold) bool
	// end ends a charge. The rule may have left its rule set since.
	end(now int64, h hold, e ending)
}

// hold is what ending a charge needs: small, because there is one for as long as the call lasts. What
// it means is the tracker's; one that holds nothing is zero.
type hold struct {
	calls window.KeyCalls
	n     uint32
}

// ending is how a charge ended, and how long after the answer.
type ending struct {
	how how
	rt  time.Duration // 0 unless the outcome is known
}

type how uint8

const (
	succeeded how = iota
	failed
	aborted   // the client left
	lost      // nobody says how: the lease has ended, or whoever asked has gone
	withdrawn // it never began, because the caller had given up before the answer
)

// reported says whether somebody told how the call ended.
func (h how) reported() bool { return h == succeeded || h == failed || h == aborted }

// Complete ends a call that was let pass, and returns true; the outcome goes to the rules that charged
// it. It returns false, and changes nothing, for a token that was never issued, or whose call has been
// ended before, be it by its lease. It allocates nothing.
func (e *Engine) Complete(now int64, t Token, o Outcome) bool {
	i, s := e.tokens.take(t, true)
	if s == nil {
		e.tokens.counters.Foreign.Add(1)
		return false
	}
	e.tokens.counters.Completed.Add(1)
	end := ending{how: succeeded, rt: o.RT}
	switch {
	case o.Aborted:
		end.how = aborted
	case o.Error:
		end.how = failed
	}
	if end.rt == 0 {
		end.rt = time.Duration(max(now-s.answered, 0))
	}
	e.end(now, i, end)
	return true
}

// Expire ends the calls whose lease has ended, and returns how many those were. The daemon calls it
// each second: its cost is that of the calls that it ends, however many others are under way.
func (e *Engine) Expire(now int64) int {
	n := 0
	for {
		var batch [64]uint32
		ended := e.tokens.expire(now, batch[:0])
		for _, i := range ended {
			e.end(now, i, ending{how: lost})
		}
		n += len(ended)
		e.tokens.counters.Expired.Add(int64(len(ended)))
		if len(ended) < len(batch) {
			return n
		}
	}
}

// EndPeer ends the calls of a peer that has gone for good, and returns how many those were. Its cost
// is that of looking at every call under way, some at a time; decisions go on meanwhile.
func (e *Engine) EndPeer(now int64, peer uint32) int {
	n := 0
	if peer == 0 {
		return 0
	}
	var batch [tokenChunkSlots]uint32
	for chunk := range e.tokens.chunks {
		ended := e.tokens.disconnect(chunk, peer, batch[:0])
		for _, i := range ended {
			e.end(now, i, ending{how: lost})
		}
		n += len(ended)
	}
	e.tokens.counters.Disconnected.Add(int64(n))
	return n
}

// Withdraw ends the last call that was decided, if it has a Token and has not ended, as one that never
// began: no rule learns how it went, and places and probes are given back. What it took of windows stays
// taken, unlike with Cancel. It is for callers who only want to know whether a call may begin.
func (e *Engine) Withdraw(now int64, c *Call) {
	if c.Token == (Token{}) {
		return
	}
	if i, s := e.tokens.take(c.Token, false); s != nil {
		e.tokens.counters.Withdrawn.Add(1)
		e.end(now, i, ending{how: withdrawn})
	}
	c.Token = Token{}
}

// end tells the rules and resources of a call, whose slot has been taken, that it has ended, and frees the
// slot.
func (e *Engine) end(now int64, first uint32, end ending) {
	e.inbound.end(now, hold{n: first}, end)
	for i := first; i != noSlot; {
		s := e.tokens.slot(i)
		for _, u := range s.uses {
			if u.by != nil {
				(*u.by).end(now, u.hold, end)
			}
		}
		i = s.next
	}
	e.tokens.free(first)
}

// issue gives a call that passed its token, if a rule wants to know of its end, or if it is tracked.
// Where there is no room for one more, rules refuse after all whose charge could never be given back;
// others, such as breakers that are closed, and the figures of resources do not learn how the call ends.
func (e *Engine) issue(now int64, c *Call) {
	if c.held == 0 && !c.tracked() {
		return
	}
	// The lease, or the end of the peer, may end the call from the moment on at which it has its token.
	e.beginCall(c)
	var ok bool
	if c.Token, ok = e.tokens.issue(now, c); ok {
		return
	}
	e.unbeginCall(c)
	for i := range c.uses {
		u := &c.uses[i]
		if !u.charged || u.rule.tracker == nil {
			continue
		}
		needs := u.rule.tracker.needsEnd(c.grants[i].held)
		if u.rule.system && !needs {
			continue // what it has charged does not wait for the end
		}
		if u.rule.Shadow || !needs {
			u.charged = false
			u.own.ctl.refund(now, &c.grants[i])
			continue
		}
		u.refused, u.reason, u.left = true, ReasonTooManyCalls, 0
		c.Overall = Block
	}
	if c.Overall == Pass {
		e.tokens.counters.Untold.Add(1)
		return
	}
	e.tokens.counters.Refused.Add(1)
	c.refund(now)
}

// tracked says whether the caller wants a token for a call whose end no rule waits for.
func (c *Call) tracked() bool {
	for i := range c.uses {
		if c.Track && c.uses[i].kind == Charge {
			return true
		}
	}
	return false
}

// Outcomes says whether a rule in force wants to know how calls end, so that calls may get a Token.
func (e *Engine) Outcomes() bool { return e.snapshot.Load().tracks }
