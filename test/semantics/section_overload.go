package main

import "fmt"

// overloadSection tells what passes when far too much comes all the time.
func overloadSection(d *document, _ *lab) error {
	var lines [][]string
	for _, r := range rows(slotted(), singles()) {
		line := []string{string(r.minute.mode), r.minute.sampleCount()}
		for _, load := range []func(subject) []arrival{steadily, atEdges, atOnce} {
			tenths, err := r.minute.mean(load(r.minute))
			if err != nil {
				return err
			}
			if err := sameAtSecond(r.second, load, tenths); err != nil {
				return err
			}
			line = append(line, inTenths(tenths))
		}
		lines = append(lines, line)
	}
	d.say(`
## Constant overload

The mean number that passes in an interval while %d times count come: evenly, one request at a time; in bursts in the
last nanosecond of every slot (of every tenth of an interval where there are no slots); in one burst an interval. The
figures are the same at 1 s and at 60 s.
`, overload/count)
	d.table([]string{"mode", "sampleCount", "evenly", "at slot edges", "once an interval"}, 2, lines)
	d.say(`
- ~aligned~ gives a busy client all of count, whatever its sampleCount.
- ~strict~ counts for one slot longer than the interval, which costs a client who never lets up the (n+1)th part with
  sampleCount n. Who bursts exactly once an interval finds the burst before still counted, and gets every other one.
- A burst makes up for that: the bucket beside the window holds what was not used.
- ~token-bucket~ brings tokens back only more than an interval after the last time. Who bursts exactly once an interval
  is a moment too early each time, and gets every other one; with burst tokens the next refill brings two
  intervals' worth.
- A queue takes from a burst what it can answer within ~maxQueueingTimeoutMs~, here half an interval.
`)
	if err := d.showCumulative(); err != nil {
		return err
	}
	return d.showLoads()
}

// sameAtSecond is an error if the mean at a second is another.
func sameAtSecond(s subject, load func(subject) []arrival, tenths int64) error {
	if s == (subject{}) {
		return nil
	}
	got, err := s.mean(load(s))
	if err == nil && got != tenths {
		err = fmt.Errorf("%s: %s pass on average, and %s at a minute", s, inTenths(got), inTenths(tenths))
	}
	return err
}

// showCumulative plots what has passed since the beginning under an even overload.
func (d *document) showCumulative() error {
	end := 4 * int64(second)
	c := chart{
		title:       "Passed so far under three times count, sampleCount 10",
		description: "Passed so far under three times count: aligned and token-bucket climb in steps, queueing evenly, strict falls behind, a burst is ahead by itself",
		x:           axis{name: "seconds", to: end, every: int64(second) / 2, unit: int64(second)},
		height:      3000,
	}
	p := panel{title: c.title, y: axis{name: "requests that passed", to: 600, every: 100, unit: 1}}
	for _, m := range []mode{aligned, strict, alignedBurst, bucket, queue} {
		s := subject{m, 10, second}
		if m.smooth() {
			s.slots = 0
		}
		b, err := s.limiter(origin)
		if err != nil {
			return err
		}
		passed, _ := play(b, evenly(s, overload, 1, 4))
		line, sum := series{name: string(m), step: true}, int64(0)
		for _, a := range passed {
			if a.at > end {
				break
			}
			sum += a.hits
			line.points = append(line.points, point{a.at, sum})
		}
		line.points = append(line.points, point{end, sum})
		p.series = append(p.series, line)
	}
	c.panels = []panel{p}
	return d.show("overload-time", c)
}

// showLoads plots what passes on average over what comes.
func (d *document) showLoads() error {
	const most = 4 * count
	c := chart{
		title:       "Passed in an interval over what comes evenly",
		description: "Passed in an interval over what comes evenly: aligned passes all up to count, strict less than count, the less the fewer its slots",
		x:           axis{name: "requests that come in an interval", to: most, every: count / 2, unit: 1},
		height:      2600,
	}
	p := panel{title: c.title, y: axis{name: "requests that pass", to: 1200, every: 200, unit: 10}, below: true}
	for _, s := range []subject{
		{aligned, 10, minute}, {strict, 60, minute}, {strict, 10, minute}, {strict, 5, minute}, {strict, 2, minute}, {strict, 1, minute},
	} {
		line := series{name: fmt.Sprintf("%s, sampleCount %d", s.mode, s.slots), points: []point{{0, 0}}}
		for _, percent := range []int64{10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 200, 300, 400} {
			n := count * percent / 100
			tenths, err := s.mean(evenly(s, n, 1, settled+counted(s)))
			if err != nil {
				return err
			}
			line.points = append(line.points, point{n, tenths})
		}
		p.series = append(p.series, line)
	}
	c.panels = []panel{p}
	return d.show("overload-load", c)
}
