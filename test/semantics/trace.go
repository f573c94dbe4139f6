package main

import (
	"math"
	"time"
)

// origin is the virtual time at which every run begins: the start of a slot of every shape.
var origin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// arrival is calls that come at one moment, one after another, until one is refused.
type arrival struct {
	at    int64 // nanoseconds after origin
	hits  int64 // of each call
	times int64 // calls at most
}

// everything is as many calls as pass.
const everything = math.MaxInt64

// admission is hits that passed.
type admission struct {
	at   int64 // the moment of the answer, in nanoseconds after origin
	hits int64
}

// play sends arrivals to a budget and returns what passed, in the order of the answers, and the
// number of calls.
func play(l limiter, arrivals []arrival) (passed []admission, calls int64) {
	for _, a := range arrivals {
		for i := int64(0); i < a.times; i++ {
			calls++
			wait, ok := l.acquire(origin+a.at, a.hits)
			if !ok {
				break
			}
			passed = append(passed, admission{a.at + int64(wait), a.hits})
		}
	}
	return passed, calls
}

// most returns the largest sum of hits in any real interval of the given length, its two ends
// included, and the shortest time in which so many passed.
func most(passed []admission, interval time.Duration) (hits int64, within time.Duration) {
	first, sum := 0, int64(0)
	for _, p := range passed {
		sum += p.hits
		for p.at-passed[first].at > int64(interval) {
			sum -= passed[first].hits
			first++
		}
		d := time.Duration(p.at - passed[first].at)
		if sum > hits || sum == hits && d < within {
			hits, within = sum, d
		}
	}
	return hits, within
}

// mostInSlots returns the largest sum of hits in so many slots in a row.
func mostInSlots(passed []admission, width int64, together int) int64 {
	first, sum, largest := 0, int64(0), int64(0)
	for _, p := range passed {
		sum += p.hits
		for p.at/width-passed[first].at/width >= int64(together) {
			sum -= passed[first].hits
			first++
		}
		largest = max(largest, sum)
	}
	return largest
}

// mostAhead returns by how many hits, at most, the admissions of any span exceed what comes back in
// it at count an interval, rounded up.
func mostAhead(passed []admission, interval time.Duration) int64 {
	level, largest, last := int64(0), int64(0), int64(0) // of 1/interval
	for _, p := range passed {
		level = max(level-(p.at-last)*count, 0) + p.hits*int64(interval)
		last = p.at
		largest = max(largest, level)
	}
	return (largest + int64(interval) - 1) / int64(interval)
}
