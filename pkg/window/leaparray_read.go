package window

import "time"

// Until returns how long after now a charge of n would fit under limit if nobody else came: at that
// moment it does, a nanosecond earlier it does not. It is 0 if it fits now, and false if it never
// fits (n above limit, or below 1). While a charge by another caller is under way, and so in no
// slot yet, it is taken to stay until the newest slot leaves.
func (a *LeapArray) Until(now, n, limit int64) (time.Duration, bool) {
	limit = enforced(limit)
	if n < 1 || n > limit {
		return 0, false
	}
	for {
		head, total := unpack(a.advance(a.seq(now)))
		excess := int64(total) + n - limit
		if excess <= 0 {
			return 0, true
		}
		if d, ok := a.untilLess(now, head, excess); ok {
			return d, true
		}
		a.awaitRotation()
	}
}

// Reset returns how long after now the oldest slot that holds a charge leaves the window; 0 if the
// window is empty.
func (a *LeapArray) Reset(now int64) time.Duration {
	for {
		head, total := unpack(a.advance(a.seq(now)))
		if total == 0 {
			return 0
		}
		if d, ok := a.untilLess(now, head, 1); ok {
			return d
		}
		a.awaitRotation()
	}
}

// Previous returns what the slot before the newest one holds, also where that slot no longer
// counts (one sample, Aligned): then it is what it held when it left.
func (a *LeapArray) Previous(now int64) int64 {
	for {
		head, _ := unpack(a.advance(a.seq(now)))
		if a.live == 1 {
			if tag, count := unpack(a.previous.Load()); tag == head {
				return int64(count)
			}
		} else if count, ok := a.count(head - 1); ok {
			return int64(count)
		}
		a.awaitRotation()
	}
}

// Snapshot returns the window's content, with Slots in the memory of into if it is large enough.
// Charges that are under way meanwhile may be in Total and not in Slots, or the reverse.
func (a *LeapArray) Snapshot(now int64, into []int64) Snapshot {
retry:
	for {
		head, total := unpack(a.advance(a.seq(now)))
		s := Snapshot{Total: int64(total), Slots: into[:0]}
		for age := a.live; age > 0; age-- {
			count, ok := a.count(head - age + 1)
			if !ok {
				a.awaitRotation()
				continue retry
			}
			s.Slots = append(s.Slots, int64(count))
		}
		return s
	}
}

// total is what counts towards the limit now.
func (a *LeapArray) total(now int64) int64 {
	_, total := unpack(a.advance(a.seq(now)))
	return int64(total)
}

// untilLess returns how long after now so many of the slots up to head have left that they held
// excess, or all of them; false if a rotation has taken one of them.
func (a *LeapArray) untilLess(now int64, head uint32, excess int64) (time.Duration, bool) {
	for age := a.live - 1; ; age-- {
		count, ok := a.count(head - age)
		if !ok {
			return 0, false
		}
		if excess -= int64(count); excess <= 0 || age == 0 {
			return a.untilLeaves(now, head-age), true
		}
	}
}

// untilLeaves returns how long after now the slot seq leaves.
func (a *LeapArray) untilLeaves(now int64, seq uint32) time.Duration {
	return time.Duration((a.whole(now, seq)+int64(a.live))*a.width - now)
}

// whole is the number of the slot seq with its high half: that of now and the signed distance to it.
func (a *LeapArray) whole(now int64, seq uint32) int64 {
	return now/a.width + int64(int32(seq-a.seq(now)))
}

// count returns what the slot seq holds; false if a rotation has taken it, which need not have
// shown its sequence yet.
func (a *LeapArray) count(seq uint32) (uint32, bool) {
	tag, count := unpack(a.slots[seq&a.mask].Load())
	return count, tag == seq
}
