package engine

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// A call that finds its place taken since it looked gives back the hits that it has taken already.
func TestSystemGivesHitsBackForAPlaceLost(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	qps, err := window.NewLeapArray(now, systemSlots, time.Second, window.Aligned)
	if err != nil {
		t.Fatal(err)
	}
	c := &systemController{qps: qps, limit: 10, calls: new(window.Inflight), maxCalls: 1, avgRT: rule.Unchecked, load: rule.Unchecked, cpu: rule.Unchecked}
	c.calls.TryAcquire(1, 1)
	var g grant
	if a := c.acquire(now, 3, 0, 0, &g); a.ok || a.reason != ReasonSystemThread {
		t.Errorf("got %+v", a)
	}
	if r := qps.Peek(now, 1, 10); r.Remaining != 10 {
		t.Errorf("%d of 10 hits are left", r.Remaining)
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inFlight, success int64
		minRT             time.Duration
		want              bool
	}{
		{1, 0, 0, false}, // one alone may always be under way, however fast it ought to be
		{1, 2, time.Microsecond, false},
		{2, 2, time.Microsecond, true},
		{10, 100, 100 * time.Millisecond, false}, // as many as 100 a second at 100 ms each
		{11, 100, 100 * time.Millisecond, true},
		{10, 0, 0, false}, // of calls that never ended the time is taken to be 5 s
		{11, 0, 0, true},
	} {
		s := window.LastSecond{Statistic: window.Statistic{MinRT: tt.minRT}, MaxSuccess: tt.success, InFlight: tt.inFlight}
		if got := overloaded(&s); got != tt.want {
			t.Errorf("%d under way, %d a second, %v: got %v", tt.inFlight, tt.success, tt.minRT, got)
		}
	}
}
