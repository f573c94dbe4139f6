package window

import "math"

// advance returns the number of the newest slot, after a rotation if that lies behind now.
func (s *StatisticNode) advance(now int64) int64 {
	slot := s.slot.Load()
	if now < (slot+1)*int64(statWidth) {
		return slot
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn(now)
}

// turn makes the slot of now the newest, if it is newer, and returns the newest. The lock is held.
func (s *StatisticNode) turn(now int64) int64 {
	slot, next := s.slot.Load(), now/int64(statWidth)
	if next <= slot {
		return slot
	}
	s.turning.Add(1)
	var left statSums
	for e := range statEvents {
		left[e] = s.since(e)
		s.mark[e].Add(left[e])
		last := left[e]
		if next != slot+1 {
			last = 0
		}
		s.last[e].Store(last)
	}
	s.slot.Store(next)
	s.turning.Add(1)
	s.keep(slot, &left)
	return next
}

// since is what was counted since the newest slot began.
func (s *StatisticNode) since(e event) int64 { return s.sum(e) - s.mark[e].Load() }

// sum adds up one counter.
func (s *StatisticNode) sum(e event) int64 {
	n := s.own.counts[e].Load()
	if stripes := s.spread.Load(); stripes != nil {
		for i := range *stripes {
			n += (*stripes)[i].counts[e].Load()
		}
	}
	return n
}

// keep adds what a slot held to its second of the minute. The lock is held.
func (s *StatisticNode) keep(slot int64, left *statSums) {
	if *left == (statSums{}) {
		return
	}
	if s.minute == nil {
		s.minute = new([minuteSlots]minuteSlot)
	}
	second := slot / statSlots
	m := &s.minute[second%minuteSlots]
	if m.second != second {
		*m = minuteSlot{second: second}
	}
	m.rt += left[eventRT]
	addTo(&m.pass, left[eventPass])
	addTo(&m.block, left[eventBlock])
	addTo(&m.exception, left[eventException])
	addTo(&m.success, left[eventSuccess])
	m.fastest = fasterOf(m.fastest, s.fastestIn(slot))
}

// addTo adds n, up to what fits: a request may ask for any number of hits.
func addTo(count *uint32, n int64) { *count = uint32(min(int64(*count)+n, math.MaxUint32)) }

// kept returns what is known of a second, without what is in the newest slot; nil if that is nothing.
// The lock is held.
func (s *StatisticNode) kept(second int64) *minuteSlot {
	if s.minute == nil {
		return nil
	}
	if m := &s.minute[second%minuteSlots]; m.second == second {
		return m
	}
	return nil
}

// fastestIn returns the least RT of a slot in microseconds; 0 if no call ended in it, or it has left.
func (s *StatisticNode) fastestIn(slot int64) uint32 {
	tag, us := unpack(s.fastest[slot%statSlots].Load())
	if tag != uint32(slot) {
		return 0
	}
	return us
}

// fasterOf returns the lesser of two RTs, of which 0 is none.
func fasterOf(a, b uint32) uint32 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
