package window

import (
	"time"
	"unsafe"
)

// Statistic is what a StatisticNode counted in some time. It may lack what is being counted meanwhile.
type Statistic struct {
	Pass      int64
	Block     int64
	Exception int64         // calls that failed
	Success   int64         // calls that came to their end, those that failed among them
	RT        time.Duration // of the Success calls together
	MinRT     time.Duration // in steps of a microsecond; 0: no call ended
}

// AvgRT is the mean RT; 0 if no call ended.
func (s Statistic) AvgRT() time.Duration {
	if s.Success == 0 {
		return 0
	}
	return s.RT / time.Duration(s.Success)
}

// LastSecond is the second that a StatisticNode decides by: the newest slot of half a second, and the
// one before it.
type LastSecond struct {
	Statistic
	// MaxSuccess is twice the calls that ended in the slot in which more did, so calls a second.
	MaxSuccess int64
	InFlight   int64 // calls that were begun and have not ended, whenever that was
}

// Second is what a StatisticNode counted in one second of the wall clock.
type Second struct {
	Start int64 // in nanoseconds since the epoch
	Statistic
}

// LastSecond returns what was counted in the second before now. It takes no lock but for a rotation.
func (s *StatisticNode) LastSecond(now int64) LastSecond {
	s.advance(now)
	for {
		before := s.steady()
		if r := s.lastSecond(); s.turning.Load() == before {
			return r
		}
	}
}

func (s *StatisticNode) lastSecond() (r LastSecond) {
	// In this order no call is missed that has ended, so that there are never less than none.
	ended := s.sum(eventEnded)
	r.InFlight = s.sum(eventBegun) - ended
	last, current := s.last[eventSuccess].Load(), s.since(eventSuccess)
	r.MaxSuccess = statSlots * max(last, current)
	r.Success = last + current
	r.Pass = s.last[eventPass].Load() + s.since(eventPass)
	r.Block = s.last[eventBlock].Load() + s.since(eventBlock)
	r.Exception = s.last[eventException].Load() + s.since(eventException)
	r.RT = time.Duration(s.last[eventRT].Load() + s.since(eventRT))
	slot := s.slot.Load()
	r.MinRT = microseconds(fasterOf(s.fastestIn(slot), s.fastestIn(slot-1)))
	return r
}

// PassedLastSecond returns how many requests passed in the second before now. It is LastSecond for those who ask
// for nothing else, at each decision.
func (s *StatisticNode) PassedLastSecond(now int64) int64 {
	s.advance(now)
	for {
		before := s.steady()
		if n := s.last[eventPass].Load() + s.since(eventPass); s.turning.Load() == before {
			return n
		}
	}
}

// steady waits for a rotation that is under way, and returns turning. What is read is of one slot if turning
// is the same afterwards.
func (s *StatisticNode) steady() int64 {
	for {
		turning := s.turning.Load()
		if turning&1 == 0 {
			return turning
		}
		s.awaitTurn()
	}
}

// awaitTurn returns when the rotation that is under way, if any, has come to its end.
func (s *StatisticNode) awaitTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

// InFlight returns how many calls were begun and have not ended.
func (s *StatisticNode) InFlight() int64 {
	ended := s.sum(eventEnded) // first, so that there are never less than none
	return s.sum(eventBegun) - ended
}

// PreviousPass returns how many requests passed in the second of the wall clock before that of now.
func (s *StatisticNode) PreviousPass(now int64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	second := s.turn(now)/statSlots - 1
	if m := s.kept(second); m != nil {
		return int64(m.pass)
	}
	return 0
}

// Minute appends what was counted in the last sixty seconds of the wall clock, that of now included, which is not
// over: the oldest first, and those in which nothing was counted too.
func (s *StatisticNode) Minute(now int64, into []Second) []Second {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.turn(now)
	second := newest / statSlots
	for at := second - minuteSlots + 1; at <= second; at++ {
		into = append(into, Second{Start: at * int64(time.Second)})
		r := &into[len(into)-1].Statistic
		var fastest uint32
		if m := s.kept(at); m != nil {
			*r = Statistic{
				Pass: int64(m.pass), Block: int64(m.block), Exception: int64(m.exception),
				Success: int64(m.success), RT: time.Duration(m.rt),
			}
			fastest = m.fastest
		}
		if at == second {
			r.Pass += s.since(eventPass)
			r.Block += s.since(eventBlock)
			r.Exception += s.since(eventException)
			r.Success += s.since(eventSuccess)
			r.RT += time.Duration(s.since(eventRT))
			fastest = fasterOf(fastest, s.fastestIn(newest))
		}
		r.MinRT = microseconds(fastest)
	}
	return into
}

// Maintain gives the memory of the minute back, and returns true, if nothing was counted in it.
func (s *StatisticNode) Maintain(now int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.turn(now)/statSlots - minuteSlots + 1
	for e := range eventBegun {
		if s.since(e) != 0 {
			return false
		}
	}
	if s.minute != nil {
		for i := range s.minute {
			if s.minute[i].second >= oldest {
				return false
			}
		}
		s.minute = nil
	}
	return true
}

// MoreBytes is the memory that the node has taken since it was made.
func (s *StatisticNode) MoreBytes() int64 {
	n := int64(0)
	if stripes := s.spread.Load(); stripes != nil {
		n += int64(len(*stripes)) * int64(unsafe.Sizeof((*stripes)[0]))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.minute != nil {
		n += int64(unsafe.Sizeof(*s.minute))
	}
	return n
}

func microseconds(n uint32) time.Duration { return time.Duration(n) * time.Microsecond }
