package main

import (
	"fmt"
	"time"
)

// found is the worst that a search came upon.
type found struct {
	hits     int64         // in any real interval
	within   time.Duration // the shortest time in which so many passed
	arrivals []arrival     // that let them pass
}

// lab runs subjects and remembers what it found.
type lab struct {
	worst    map[subject]found
	patterns int64
	calls    int64
}

func newLab() *lab { return &lab{worst: map[subject]found{}} }

// search attacks a new budget with each pattern and returns the worst. It is an error if more passed
// than the subject's bounds allow, and also if the bound was not met: then it says more than what is
// so, or the search is too weak to tell.
func (l *lab) search(s subject) (found, error) {
	if f, ok := l.worst[s]; ok {
		return f, nil
	}
	var worst found
	for p := range patterns(s) {
		b, err := s.limiter(origin)
		if err != nil {
			return found{}, fmt.Errorf("%s: %w", s, err)
		}
		passed, calls := play(b, p)
		l.patterns++
		l.calls += calls
		if err := s.check(passed); err != nil {
			return found{}, err
		}
		hits, within := most(passed, s.interval)
		if hits > worst.hits || hits == worst.hits && within < worst.within {
			worst = found{hits, within, p}
		}
	}
	if _, bound := s.mode.bound(); worst.hits < bound {
		return found{}, fmt.Errorf("%s: the bound is %d, and no more than %d were seen to pass", s, bound, worst.hits)
	}
	l.worst[s] = worst
	return worst, nil
}

// check compares what passed with everything that the mode promises.
func (s subject) check(passed []admission) error {
	_, bound := s.mode.bound()
	if hits, _ := most(passed, s.interval); hits > bound {
		return fmt.Errorf("%s: %d passed in an interval; the bound is %d", s, hits, bound)
	}
	if s.slots == 0 {
		return nil
	}
	limit := count + s.mode.extra()
	if hits := mostInSlots(passed, s.width(), s.together()); hits > limit {
		return fmt.Errorf("%s: %d passed in %d slots in a row; the bound is %d", s, hits, s.together(), limit)
	}
	if s.mode.extra() == 0 {
		return nil
	}
	if ahead := mostAhead(passed, s.interval); ahead > limit {
		return fmt.Errorf("%s: %d passed beyond what comes back; the bound is %d", s, ahead, limit)
	}
	return nil
}
