package client

import (
	"context"
	"time"
)

// reporting bounds the report of how a call ended, which is made even if the caller's context has ended: a
// call that is not reported keeps its place until its lease ends.
const reporting = time.Second

// Do calls f if the rules for the resource allow it, after the wait that they want, and reports how it ended:
// whether it failed and how long it took. It returns the error of f; a *Refusal, without having called f, if
// a rule refused or would have the call wait beyond the deadline of ctx; ErrUnavailable, without having called
// f, if nobody decided; or the error of ctx if that ended during the wait. An end that cannot be reported is
// no error of Do. If f panics, the call counts as failed.
func (c *Client) Do(ctx context.Context, resource string, attributes map[string]string, f func() error) error {
	r := Request{Resource: resource, Attributes: attributes, TellWait: true}
	if deadline, ok := ctx.Deadline(); ok {
		if r.MaxWait = time.Until(deadline); r.MaxWait <= 0 {
			r.MaxWait = NoWait
		}
	}
	d, err := c.Acquire(ctx, r)
	if err != nil {
		return err
	}
	if err := d.Err(); err != nil {
		return err
	}
	report := func(o Outcome) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reporting)
		defer cancel()
		c.Complete(ctx, d.Token, o) // else the lease ends the call
	}
	if err := wait(ctx, d.Wait); err != nil {
		report(Outcome{Aborted: true})
		return err
	}
	began, failed := time.Now(), true
	defer func() { report(Outcome{Failed: failed, RT: time.Since(began)}) }()
	err = f()
	failed = err != nil
	return err
}

// wait returns nil when the time has passed, or why ctx ended before.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
