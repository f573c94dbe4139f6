package window

import "time"

// Total returns all that was ever counted, without MinRT. It takes no lock. Pass may be less than it was, because
// passes are withdrawn; those withdrawn after their slot are still in it.
func (s *StatisticNode) Total() Statistic {
	return Statistic{
		Exception: s.sum(eventException), // before Success, of which it is part
		Success:   s.sum(eventSuccess),
		RT:        time.Duration(s.sum(eventRT)),
		Pass:      s.sum(eventPass),
		Block:     s.sum(eventBlock),
	}
}
