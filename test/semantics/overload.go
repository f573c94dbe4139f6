package main

import "fmt"

// overload is how many requests an interval come when a budget is overloaded.
const overload = 3 * count

// settled is how many intervals a budget is given before what passes is counted.
const settled = 12

// counted is over how many intervals it is counted. What passes under a regular load repeats: with
// slots, after as many intervals as there are slots, one more included, or after twice as many.
// Without, after a time that differs, so that it is counted for long.
func counted(s subject) int64 {
	if s.slots == 0 {
		return 660
	}
	period := 2 * int64(s.slots+1)
	return (60 + period - 1) / period * period
}

// mean returns what passes in an interval on average, in tenths.
func (s subject) mean(load []arrival) (tenths int64, err error) {
	b, err := s.limiter(origin)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s, err)
	}
	passed, _ := play(b, load)
	if err := s.check(passed); err != nil {
		return 0, err
	}
	from, sum := settled*int64(s.interval), int64(0)
	to := from + counted(s)*int64(s.interval)
	for _, p := range passed {
		if p.at >= from && p.at < to {
			sum += p.hits
		}
	}
	return (sum*10 + counted(s)/2) / counted(s), nil
}

// steadily is an overload that comes evenly.
func steadily(s subject) []arrival { return evenly(s, overload, 1, settled+counted(s)) }

// atEdges is an overload that comes in the last nanosecond of every slot, or, where there are no
// slots, of every tenth of an interval.
func atEdges(s subject) []arrival {
	if s.slots == 0 {
		return inParts(s, 10)
	}
	return inParts(s, int64(s.slots))
}

// atOnce is an overload that comes once an interval, in the last nanosecond of a slot.
func atOnce(s subject) []arrival { return inParts(s, 1) }

// inParts is an overload in so many bursts an interval, each in the nanosecond before a slot.
func inParts(s subject, parts int64) []arrival {
	var p []arrival
	for i := int64(1); i <= (settled+counted(s))*parts; i++ {
		p = append(p, arrival{i*(int64(s.interval)/parts) - 1, 1, overload / parts})
	}
	return p
}
