package ruleswatch

import (
	"context"
	"time"
)

// settler reads a content that others change at their own pace, and decides which readings to report.
// A reading is reported when a second one, a debounce later, agrees with it: what is seen in the middle
// of a change (a file gone, half written, some files new and some old) is gone by then, while a state
// that stays is reported however many events arrive meanwhile. A content that never rests is
// reported as it is when the patience ends, so that nothing can postpone a report for ever.
type settler struct {
	first    time.Duration // from the first sign of a change to the first reading
	debounce time.Duration // between the readings that must agree
	patience time.Duration // after the first sign, the newest reading is taken as it is
	poll     time.Duration // readings without any sign of a change
}

// run reports the first reading at once and then each that differs from the one reported before,
// until ctx ends. A receive on maybe is a sign that something may have changed; signs that arrive while
// a change is being settled must not be lost (one is enough: a channel with a buffer of one).
func (s settler) run(ctx context.Context, maybe <-chan struct{}, read func() Document, emit func(Document)) {
	poll := time.NewTicker(s.poll)
	defer poll.Stop()
	reported := read()
	emit(reported)
	for {
		select {
		case <-ctx.Done():
			return
		case <-maybe:
		case <-poll.C:
		}
		if d, ok := s.settle(ctx, reported, read); ok {
			reported = d
			emit(d)
		}
	}
}

// settle returns the reading to report, or false if the content is what was reported already, or ctx
// has ended.
func (s settler) settle(ctx context.Context, reported Document, read func() Document) (Document, bool) {
	start := time.Now()
	if !sleep(ctx, s.first) {
		return Document{}, false
	}
	previous := read()
	for !previous.same(reported) {
		if !sleep(ctx, s.debounce) {
			return Document{}, false
		}
		d := read()
		if d.same(reported) {
			return Document{}, false
		}
		if d.same(previous) || time.Since(start) >= s.patience {
			return d, true
		}
		previous = d
	}
	return Document{}, false
}

// sleep waits for d and returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
