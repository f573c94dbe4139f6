package envoytest

import (
	"context"
	"fmt"
	"time"
)

// Poll asks until ok says true or the context ends, then names what was waited for and the last
// error. An error of ok means not yet.
func Poll(ctx context.Context, what string, ok func(context.Context) (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := ok(ctx)
		if done {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err == nil {
				err = ctx.Err()
			}
			return fmt.Errorf("waited in vain for %s: %w", what, err)
		}
	}
}

// Pause waits for d, or until the context ends: for tests of waiting times that a server gave.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
