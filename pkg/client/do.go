package client

import (
	"context"
	"time"
)

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
	if err := wait(ctx, d.Wait); err != nil {
		c.report(ctx, d.Token, Outcome{Aborted: true})
		return err
	}
	began, failed := time.Now(), true
	defer func() { c.report(ctx, d.Token, Outcome{Failed: failed, RT: time.Since(began)}) }()
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
