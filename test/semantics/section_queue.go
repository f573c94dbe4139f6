package main

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// queueSection shows how long a queue holds requests back.
func queueSection(d *document, _ *lab) error {
	s := subject{mode: queue, interval: second}
	d.say(`
## How long a queue holds requests back

Count %d per second, so one request every 10 ms, and a ~maxQueueingTimeoutMs~ of %d. The line is how long one more
request would be held back; the strokes at the bottom are requests that were refused, because it would have been that
long or longer.
`, count, s.maxWait().Milliseconds())
	c := chart{
		title:       "How long a queue holds requests back",
		description: "How long a queue holds requests back: under overload the wait climbs to the longest and stays there, after a burst it falls evenly",
		x:           axis{name: "seconds", to: 4 * int64(second), every: int64(second) / 2, unit: int64(second)},
		height:      1500,
	}
	for _, load := range []struct {
		title    string
		arrivals []arrival
	}{
		{"three times count for a second, then half of count", append(evenly(s, overload, 1, 1), later(evenly(s, count/2, 1, 3), second)...)},
		{"40 at once each second, and 40 more a second evenly", merge(inBurstsOf(40, 4), evenly(s, 40, 1, 4))},
		{"90 at once each second", inBurstsOf(90, 4)},
	} {
		p := waits(load.arrivals, window.Rate{Count: count, Interval: second}, s.maxWait(), c.x.to)
		p.title = load.title
		c.panels = append(c.panels, p)
	}
	if err := d.show("queue-waits", c); err != nil {
		return err
	}
	d.say(`
An overload does not make the queue longer and longer: when the wait would reach the longest, requests are refused, and
what passes still passes at count a second. So a queue evens out bursts that are small beside count ×
~maxQueueingTimeoutMs~, and under lasting overload only adds that wait to every request. The answers of a queue are
exact to the nanosecond at any rate; nothing is rounded to milliseconds.

A caller whose deadline is shorter than its wait is refused at once, before it takes a place. The place of a caller who
gives up goes to the next one if no later place has been given; otherwise it stays unused.
`)
	return nil
}

// waits plots how long one more request would be held back, and where requests are refused.
func waits(arrivals []arrival, rate window.Rate, maxWait time.Duration, end int64) panel {
	const step = int64(5 * time.Millisecond)
	t := window.NewThrottle()
	var line, refused series
	refused.rug = true
	look := func(at int64) {
		w := t.Peek(origin+at, 1, 1, rate, patience, false)
		line.points = append(line.points, point{at, w.Wait.Milliseconds()})
	}
	for at := int64(0); at <= end; at += step {
		look(at)
		for len(arrivals) > 0 && arrivals[0].at < at+step {
			a := arrivals[0]
			arrivals = arrivals[1:]
			look(a.at)
			for range a.times {
				if _, w := t.Acquire(origin+a.at, a.hits, rate, maxWait, true); !w.OK {
					refused.points = append(refused.points, point{a.at, 0})
				}
			}
			look(a.at)
		}
	}
	return panel{
		y:      axis{name: "milliseconds", to: 600, every: 100, unit: 1},
		series: []series{line, refused},
		bounds: []bound{{maxWait.Milliseconds(), "maxQueueingTimeoutMs"}},
	}
}

// inBurstsOf is n requests at once each second.
func inBurstsOf(n, seconds int64) []arrival {
	var p []arrival
	for i := range seconds {
		p = append(p, arrival{i * int64(second), 1, n})
	}
	return p
}

// later moves arrivals.
func later(p []arrival, by time.Duration) []arrival {
	for i := range p {
		p[i].at += int64(by)
	}
	return p
}

// merge puts two clients' arrivals in order; at the same moment the first comes first.
func merge(a, b []arrival) []arrival {
	var p []arrival
	for len(a) > 0 && len(b) > 0 {
		if a[0].at <= b[0].at {
			p, a = append(p, a[0]), a[1:]
		} else {
			p, b = append(p, b[0]), b[1:]
		}
	}
	return append(append(p, a...), b...)
}
