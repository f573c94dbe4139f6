package calls

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Deadlines are told from the clock of the windows, whatever the wall clock says meanwhile.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
		r := NewRoom(Config{Engine: engine.New(engine.Options{}), Now: func() int64 { return now }})
		within := func(d time.Duration) context.Context {
			ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(d))
			t.Cleanup(cancel)
			return ctx
		}
		time.Sleep(time.Second)
		now += int64(time.Second)
		for _, c := range []struct {
			ctx  context.Context
			want time.Duration
		}{
			{t.Context(), math.MaxInt64},
			{within(time.Second), 995 * time.Millisecond},
			{within(6 * time.Millisecond), time.Millisecond},
			{within(5 * time.Millisecond), 0},
			{within(1), 0},
			{within(-time.Hour), 0},
			{within(math.MinInt64), 0},
			{within(math.MaxInt64), math.MaxInt64 - time.Second - AnswerTime},
		} {
			if got := r.patience(c.ctx, now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		}
		r.Drain(math.MaxInt64)
		if got := r.patience(t.Context(), now); got != math.MaxInt64 {
			t.Errorf("draining without end: got %v", got)
		}
	})
}
