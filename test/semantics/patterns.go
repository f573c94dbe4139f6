package main

import (
	"iter"
	"slices"
	"time"
)

// horizon is how many intervals a pattern lasts.
const horizon = 3

// randomPatterns is how many of the patterns of a subject are drawn.
const randomPatterns = 40

// patterns yields the arrivals that a subject is attacked with.
func patterns(s subject) iter.Seq[[]arrival] {
	return func(yield func([]arrival) bool) {
		for _, family := range []iter.Seq[[]arrival]{bursts(s), steady(s), manySmall(s), random(s)} {
			for p := range family {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// instants are the moments at which the answer of a subject may change from one nanosecond to the
// next, and the nanosecond before each.
func instants(s subject) []int64 {
	var all []int64
	end := horizon * int64(s.interval)
	switch s.mode {
	case bucket, bucketBurst:
		// It looks at whole milliseconds and refills when more than an interval has passed.
		for at := int64(0); at <= end; at += int64(s.interval) {
			all = append(all, at-1, at, at+int64(time.Millisecond)-1, at+int64(time.Millisecond))
		}
	case queue, queueHits:
		cost := int64(s.interval) / count
		for at := int64(0); at <= end; at += int64(s.interval) / 2 {
			all = append(all, at-1, at, at+cost-1, at+cost)
		}
	default:
		for at := int64(0); at <= end; at += s.width() {
			all = append(all, at-1, at)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)[1:] // without the nanosecond before origin
}

// bursts are clients who know the critical moments: they take one or all at a first, all at a
// second, wait or not, and from then on take all that there is at every one. The first lies in the
// first slot, for what comes later is the same pattern, moved; the second before a window has
// forgotten the first, for then it is a first again.
func bursts(s subject) iter.Seq[[]arrival] {
	return func(yield func([]arrival) bool) {
		all := instants(s)
		for i := range firstSlot(s, all) {
			for j := i; j < len(all) && (s.slots == 0 || all[j] <= int64(s.interval)+2*s.width()); j++ {
				for _, k := range resumptions(s, all, j) {
					for _, times := range []int64{1, everything} {
						p := append([]arrival{{all[i], 1, times}}, drain(s, all[j:j+1])...)
						p = append(p, drain(s, all[k:])...)
						if !yield(p) {
							return
						}
					}
				}
			}
		}
	}
}

// drain is a client who takes all that there is at each of the moments, by the largest calls first.
func drain(s subject, at []int64) []arrival {
	p := make([]arrival, 0, 2*len(at))
	for _, t := range at {
		p = append(p, arrival{t, s.mode.hits(), everything}, arrival{t, 1, everything})
	}
	return p
}

// firstSlot is how many of the instants lie before the second slot, or, without slots, before the
// second interval.
func firstSlot(s subject, all []int64) int {
	n, _ := slices.BinarySearch(all, s.width())
	return n
}

// resumptions are where in the instants a client comes back who was there at j: at the next, an
// interval later, or not at all; at each of the later ones if they are few.
func resumptions(s subject, all []int64, j int) []int {
	if len(all) <= 24 {
		var each []int
		for k := j + 1; k <= len(all); k++ {
			each = append(each, k)
		}
		return each
	}
	later, _ := slices.BinarySearch(all, all[j]+int64(s.interval))
	return slices.Compact([]int{min(j+1, len(all)), later, len(all)})
}

// steady is requests that come evenly, at several multiples of what is allowed, one or more at a
// time.
func steady(s subject) iter.Seq[[]arrival] {
	return func(yield func([]arrival) bool) {
		for _, load := range []int64{1, 2, 3, 10} {
			for _, together := range []int64{1, 7, 30} {
				if !yield(evenly(s, load*count, together, horizon)) {
					return
				}
			}
		}
	}
}

// evenly is n requests an interval, so many at a time, for a number of intervals.
func evenly(s subject, n, together, intervals int64) []arrival {
	p := make([]arrival, 0, n*intervals/together+1)
	for i := int64(0); i < n*intervals; i += together {
		p = append(p, arrival{i * int64(s.interval) / n, 1, together})
	}
	return p
}

// manySmall is many small bursts, of all sizes, that drift over the slots.
func manySmall(s subject) iter.Seq[[]arrival] {
	return func(yield func([]arrival) bool) {
		for _, size := range []int64{3, 10, 33} {
			for _, parts := range []int64{3, 7, 11, 23} {
				var p []arrival
				for at := int64(0); at < horizon*int64(s.interval); at += int64(s.interval) / parts {
					p = append(p, arrival{at, 1, size})
				}
				if !yield(p) {
					return
				}
			}
		}
	}
}

// random is clients without a plan: at any of the critical moments, or between, none, some or all.
func random(s subject) iter.Seq[[]arrival] {
	return func(yield func([]arrival) bool) {
		all := instants(s)
		d := dice(int64(s.interval) + int64(s.slots))
		for range randomPatterns {
			seldom := 1 + d.below(30)
			var p []arrival
			for _, at := range all {
				if d.below(seldom) > 0 {
					continue
				}
				if d.below(4) == 0 {
					at += d.below(s.width())
				}
				if n := len(p); n > 0 {
					at = max(at, p[n-1].at)
				}
				times := 1 + d.below(count)
				if d.below(3) == 0 {
					times = everything
				}
				p = append(p, arrival{at, 1 + d.below(min(s.mode.hits(), 1+d.below(count))), times})
			}
			if !yield(p) {
				return
			}
		}
	}
}

// dice are drawn from the SplitMix64 sequence, so that no release of Go changes the document.
type dice uint64

func (d *dice) below(n int64) int64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int64((z ^ z>>31) >> 1 % uint64(n))
}
