package window

import (
	"math"
	"time"
)

// history is what the slots of a window hold, newest first, seen from slot seq.
type history struct {
	seq   uint64
	live  int
	total int64
	slots [MaxSampleCount + 1]uint32
}

// in is what the slot seq holds; 0 if it has left.
func (h *history) in(seq uint64) uint32 {
	if age := h.seq - seq; age < uint64(h.live) {
		return h.slots[age]
	}
	return 0
}

// answer is the verdict on n more hits.
func (h *history) answer(n, limit int64) Result {
	return answer(uint32(min(h.total, math.MaxUint32)), n, limit)
}

// until returns how long after now n hits fit, n at most limit, in a window whose slots are width
// nanoseconds wide.
func (h *history) until(now, n, limit, width int64) time.Duration {
	left := h.total
	for age := h.live - 1; n > limit-left; age-- {
		if left -= int64(h.slots[age]); n <= limit-left {
			return h.leaves(age, now, width)
		}
	}
	return 0
}

// reset returns how long after now the oldest slot that holds a charge leaves; 0 if none does.
func (h *history) reset(now, width int64) time.Duration {
	for age := h.live - 1; age >= 0; age-- {
		if h.slots[age] != 0 {
			return h.leaves(age, now, width)
		}
	}
	return 0
}

// leaves is how long after now the slot of that age no longer counts.
func (h *history) leaves(age int, now, width int64) time.Duration {
	return time.Duration(int64(h.seq+uint64(h.live-age))*width - now)
}
