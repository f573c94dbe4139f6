package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// boundsSection sets the worst that was found beside what is promised.
func boundsSection(d *document, l *lab) error {
	var lines [][]string
	for _, r := range rows(slotted(), smooth()) {
		words, bound := r.minute.mode.bound()
		line := []string{string(r.minute.mode), r.minute.sampleCount(), fmt.Sprintf("%s = %d", words, bound)}
		for _, s := range []subject{r.second, r.minute} {
			if s == (subject{}) {
				line = append(line, "", "")
				continue
			}
			worst, err := l.search(s)
			if err != nil {
				return err
			}
			line = append(line, strconv.FormatInt(worst.hits, 10), exactly(worst.within))
		}
		lines = append(lines, line)
	}
	d.say(`
## The worst interval

The largest number that passed in any interval, over %s patterns of arrivals: bursts at every edge of every slot,
alone and in pairs, with a client who comes back at every later edge or after a pause, even overload, many small
bursts, and clients without a plan; one hit or many a call. "Within" is the shortest time in which so many passed. Every
bound was met and none was exceeded, so the bounds are exact: no smaller number could be promised.
`, grouped(l.patterns))
	d.table([]string{"mode", "sampleCount", "bound for any interval", "most in any 1 s", "within", "most in any 60 s", "within"}, 3, lines)
	d.say(`
Two more bounds were held in every run: the slots that count together, sampleCount of them and one more with ~strict~,
admit at most count, and with a burst count + burst; and with a burst any stretch of time t admits at most
count + burst + t·count/interval. A slot is a whole number of milliseconds, so a second cannot have 60.
`)
	for _, k := range []int{2, 10} {
		if err := d.showWorst(l, k); err != nil {
			return err
		}
	}
	return nil
}

// showWorst plots what passed in the second before each moment, mode by mode, under the arrivals
// that were the worst for it.
func (d *document) showWorst(l *lab, slots int) error {
	title := fmt.Sprintf("What the last second admitted under the worst arrivals, sampleCount %d", slots)
	c := chart{
		title:       title,
		description: title + ": one panel for each mode, none above its bound",
		x:           axis{name: "seconds", to: (horizon + 1) * int64(second), every: int64(second) / 2, unit: int64(second)},
		height:      850,
	}
	for _, m := range []mode{aligned, strict, alignedBurst, strictBurst, bucket, bucketBurst, queue} {
		s := subject{m, slots, second}
		if m.smooth() {
			s.slots = 0
		}
		worst, err := l.search(s)
		if err != nil {
			return err
		}
		b, err := s.limiter(origin)
		if err != nil {
			return err
		}
		passed, _ := play(b, worst.arrivals)
		words, limit := m.bound()
		c.panels = append(c.panels, panel{
			title:  string(m),
			y:      axis{name: "in the last second", to: 500, every: 100, unit: 1},
			series: []series{{points: lastInterval(passed, second, c.x.to), step: true}},
			bounds: []bound{{limit, words}},
		})
	}
	return d.show(fmt.Sprintf("worst-%d", slots), c)
}

// lastInterval is how much passed in the interval before each moment, that moment included, up to
// the end.
func lastInterval(passed []admission, interval time.Duration, end int64) []point {
	changes := map[int64]int64{}
	for _, p := range passed {
		changes[p.at] += p.hits
		changes[p.at+int64(interval)+1] -= p.hits
	}
	var moments []int64
	for at := range changes {
		if at < end {
			moments = append(moments, at)
		}
	}
	slices.Sort(moments)
	points, sum := []point{{0, 0}}, int64(0)
	for _, at := range moments {
		sum += changes[at]
		points = append(points, point{at, sum})
	}
	return append(points, point{end, sum})
}
