package engine

import "time"

// finish gives the refunds that were asked for, counts, and writes the verdicts. The uses of a
// request stand together, because they were collected request by request.
func (c *Call) finish(now int64) {
	for i := range c.uses {
		u := &c.uses[i]
		if u.kind == Refund {
			u.release(now)
		}
		u.count(c.Overall, c.again)
	}
	for from := 0; from < len(c.uses); {
		to := from + 1
		for to < len(c.uses) && c.uses[to].item == c.uses[from].item {
			to++
		}
		c.Verdicts[c.uses[from].item].decide(now, c.MaxWait, c.uses[from:to])
		from = to
	}
}

// release gives hits back. A request whose budget is not known gives nothing back.
func (u *use) release(now int64) {
	if u.own.ctl == nil || u.reason != ReasonNone {
		return
	}
	u.own.ctl.release(now, u.n, u.key)
	u.left = u.own.ctl.peek(now, ask{1, 1}, 0, u.key).remaining
}

func (u *use) count(overall Code, again bool) {
	switch {
	case u.kind != Charge:
		return
	case u.refused && u.rule.Shadow:
		u.rule.ShadowBlock.Add(1)
	case u.refused:
		u.rule.Blocked.Add(1)
	case overall == Pass:
		u.rule.Passed.Add(1)
		if u.wait > 0 && !u.rule.Shadow {
			u.rule.Waited.Add(1)
		}
	}
	if u.untracked && !again {
		u.rule.Untracked.Add(1)
	}
}

// uncount takes back what count counted of a call that passed.
func (u *use) uncount() {
	switch {
	case u.kind != Charge:
	case u.refused: // in shadow, because the call passed
		u.rule.ShadowBlock.Add(-1)
	default:
		u.rule.Passed.Add(-1)
		if u.wait > 0 && !u.rule.Shadow {
			u.rule.Waited.Add(-1)
		}
	}
}

// never is the wait of a use that will not fit whatever leaves the window, or of which nobody can
// say when it will.
const never = time.Duration(1<<63 - 1)

// retryAfter is how long until the use would be admitted if nobody else came.
func (u *use) retryAfter(now int64, maxWait time.Duration) time.Duration {
	switch u.reason {
	case ReasonLimit, ReasonDeadline, ReasonBreaker, ReasonSystemQPS:
	default:
		return never
	}
	d, ok := u.own.ctl.until(now, u.ask.total, maxWait, u.key)
	if !ok {
		return never
	}
	// Several requests of a call that queue behind each other may be too many for any moment.
	if u.rule.turn == turnQueue && u.ask.first != u.ask.total && !u.own.ctl.peek(now+int64(d), u.ask, maxWait, u.key).ok {
		return never
	}
	return max(d, 1) // it was refused, so there is a wait, however much room came back since
}

// decide answers one request from the rules that were applied to it.
func (v *Verdict) decide(now int64, maxWait time.Duration, uses []use) {
	var best *use
	var longest time.Duration
	for i := range uses {
		u := &uses[i]
		if u.rule.feeds {
			continue
		}
		v.Matched = v.Matched || !u.rule.system
		switch {
		case u.rule.Shadow:
			if u.refused && v.ShadowRule == nil {
				v.ShadowRule = u.rule
			}
		case u.refused:
			w := u.retryAfter(now, maxWait)
			if v.Code == Pass || w > longest || w == longest && u.rule.order < best.rule.order {
				v.Code, best, longest = Block, u, w
			}
		case v.Code == Block || u.own.ctl == nil || !u.rule.HasLimit() || u.reason != ReasonNone:
		case best == nil || u.left < best.left || u.left == best.left && u.rule.order < best.rule.order:
			best = u
		}
	}
	if best == nil {
		return
	}
	v.Rule, v.Limit, v.Unlimited, v.Reason = best.rule, best.own.limit, best.own.ctl == nil, best.reason
	switch {
	case v.Code == Pass:
		v.Remaining = best.left
		v.wait(uses)
		v.Reset = best.own.ctl.reset(now, best.key)
	case longest != never:
		v.Reset = longest
	}
}

// wait notes the longest wait that a request is promised, and the rule that promises it.
func (v *Verdict) wait(uses []use) {
	for i := range uses {
		if u := &uses[i]; !u.rule.Shadow && u.wait > v.Wait {
			v.Wait, v.Queue, v.queueLimit = u.wait, u.rule, u.own.limit
		}
	}
}
