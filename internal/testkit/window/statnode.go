package window

import "time"

// StatisticNode is the twin of window.StatisticNode: the list of all that happened.
type StatisticNode struct {
	newest   int64 // latest time that anything came with
	all      []happened
	InFlight int64
}

// Statistic is what a twin tells of some time.
type Statistic struct {
	Pass, Block, Exception, Success int64
	RT, MinRT                       time.Duration
}

type happened struct {
	at int64
	Statistic
}

const halfSecond = int64(time.Second / 2)

// Advance moves the clock, which never goes back.
func (s *StatisticNode) Advance(now int64) { s.newest = max(s.newest, now) }

// Add notes what happened at now, or at the newest time if that is later.
func (s *StatisticNode) Add(now int64, what Statistic) {
	s.Advance(now)
	s.all = append(s.all, happened{s.newest, what})
}

// Withdraw takes back passes that were counted at a time, if they are still in the minute.
func (s *StatisticNode) Withdraw(now, at, n int64) {
	s.Advance(now)
	if at/int64(time.Second) <= s.newest/int64(time.Second)-60 {
		return
	}
	s.all = append(s.all, happened{at, Statistic{Pass: -n}})
}

// LastSecond tells of the newest half second and the one before it, and twice the calls that ended in
// the half second in which more did.
func (s *StatisticNode) LastSecond(now int64) (sum Statistic, maxSuccess int64) {
	s.Advance(now)
	half := s.newest / halfSecond
	last, current := s.between(half-1, half, halfSecond), s.between(half, half+1, halfSecond)
	return s.between(half-1, half+1, halfSecond), 2 * max(last.Success, current.Success)
}

// Minute tells of each of the last sixty seconds.
func (s *StatisticNode) Minute(now int64) []Statistic {
	s.Advance(now)
	second := s.newest / int64(time.Second)
	var out []Statistic
	for at := second - 59; at <= second; at++ {
		out = append(out, s.between(at, at+1, int64(time.Second)))
	}
	return out
}

// between adds up what happened from one slot to before another.
func (s *StatisticNode) between(from, to, width int64) (sum Statistic) {
	for _, h := range s.all {
		if slot := h.at / width; slot < from || slot >= to {
			continue
		}
		sum.Pass += h.Pass
		sum.Block += h.Block
		sum.Exception += h.Exception
		sum.Success += h.Success
		sum.RT += h.RT
		if h.Success > 0 && (sum.MinRT == 0 || h.MinRT < sum.MinRT) {
			sum.MinRT = h.MinRT
		}
	}
	return sum
}
