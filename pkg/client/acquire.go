package client

import (
	"context"
	"fmt"
	"time"
)

// lingering is how long a caller who gives up while a call is being begun waits to learn whether it was: a call that
// has begun, and nobody knows of, would keep its place until its lease ends.
const lingering = 250 * time.Millisecond

// Acquire does as Decide does and begins a call, which the Token of the decision stands for. Give it to
// Complete when the call has ended; else the call ends with the lease of its rule. If ctx ends before the
// decision is there, Acquire ends what has begun and returns the error of ctx, up to 250 ms later.
func (c *Client) Acquire(ctx context.Context, r Request) (Decision, error) {
	if ctx.Err() != nil {
		return Decision{}, givenUp(ctx)
	}
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lingering, cancel) })()
	d, err := c.ask(asking, "/v1/acquire", r)
	if ctx.Err() == nil {
		return d, err
	}
	if err == nil {
		c.report(ctx, d.Token, Outcome{Aborted: true})
	}
	return Decision{}, givenUp(ctx)
}

// givenUp returns the error of a caller whose context has ended.
func givenUp(ctx context.Context) error { return fmt.Errorf("sidecard: %w", context.Cause(ctx)) }

// Outcome is how a call ended.
type Outcome struct {
	Failed  bool
	Aborted bool          // it was given up before its end, which says nothing of what it called
	RT      time.Duration // in whole milliseconds, at most a day; 0: as the daemon measures it
}

// Complete ends the call that Acquire began. An empty token, as decisions have where no rule wants to know,
// ends nothing and asks nobody. The error is ErrNoCall if the call has ended before, be it with its lease.
func (c *Client) Complete(ctx context.Context, token string, o Outcome) error {
	if token == "" {
		return nil
	}
	m := completion{Token: token, Error: o.Failed, Aborted: o.Aborted}
	if o.RT > 0 {
		m.RTMs = new(o.RT.Milliseconds())
	}
	return c.post(ctx, "/v1/complete", m, nil)
}

// reporting bounds the report of how a call ended, which is made even if the caller's context has ended: a
// call that is not reported keeps its place until its lease ends.
const reporting = time.Second

// report completes a call. Where that fails, the lease ends it.
func (c *Client) report(ctx context.Context, token string, o Outcome) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reporting)
	defer cancel()
	c.Complete(ctx, token, o)
}
