package window

import (
	"testing"
	"unsafe"
)

// TestBudgetLayout: no two budgets of these kinds share a cache line, and the states stay small.
func TestBudgetLayout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"Throttle", unsafe.Sizeof(Throttle{}), cacheLine},
		{"TokenBucket", unsafe.Sizeof(TokenBucket{}), cacheLine},
		{"Burst", unsafe.Sizeof(Burst{}), cacheLine},
		{"Inflight", unsafe.Sizeof(Inflight{}), cacheLine},
		{"StatisticNode", unsafe.Sizeof(StatisticNode{}), 4 * cacheLine},
		{"statStripe", unsafe.Sizeof(statStripe{}), cacheLine},
		{"minuteSlot", unsafe.Sizeof(minuteSlot{}), 40},
		{"throttleState", unsafe.Sizeof(throttleState{}), 16},
		{"bucketState", unsafe.Sizeof(bucketState{}), 24},
		{"gcraState", unsafe.Sizeof(gcraState{}), 16},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, c.got, c.want)
		}
	}
}
