package main

import (
	"fmt"
	"time"
)

// retrySection tells how long a refused client waits.
func retrySection(d *document, _ *lab) error {
	checked := int64(0)
	for _, s := range subjects() {
		n, err := s.retries()
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%s: no pattern made it refuse", s)
		}
		checked += n
	}
	var lines [][]string
	for _, r := range rows(slotted(), singles()) {
		line := []string{string(r.minute.mode), r.minute.sampleCount()}
		for _, s := range []subject{r.second, r.minute} {
			if s == (subject{}) {
				line = append(line, "", "")
				continue
			}
			for _, at := range []int64{0, s.lastMoment()} {
				told, err := s.afterAll(at)
				if err != nil {
					return err
				}
				line = append(line, told.String())
			}
		}
		lines = append(lines, line)
	}
	d.say(`
## How long a refused client waits

Everything that there is is taken in one moment, at the beginning or at the very end of a slot (of a millisecond for
~token-bucket~, which knows no finer time). One more request comes at the same moment and is refused. If nobody else
comes, it passes after:
`)
	d.table([]string{"mode", "sampleCount", "1 s, from the beginning", "from the end", "60 s, from the beginning", "from the end"}, 2, lines)
	d.say(`
That is what the daemon tells a refused request, and it is exact: of %s refusals, under random arrivals and for calls of
one hit and of many, each would have passed at the moment named and was still refused a nanosecond before. On the wire
the time is rounded up to whole seconds, so that a client who obeys ~Retry-After~ is let in unless another took the
room. A call that can never pass, because it asks for more than the whole limit, is told no time.

For a queue this is the time until it takes the request; the time in brackets is how long it is then held back.
`, grouped(checked))
	return nil
}

// lastMoment is the last nanosecond of the first slot, or of the first millisecond.
func (s subject) lastMoment() int64 {
	switch s.mode {
	case bucket, bucketBurst:
		return int64(time.Millisecond) - 1
	case queue, queueHits:
		return int64(s.interval)/count - 1
	}
	return s.width() - 1
}

func (r refusal) String() string {
	if r.wait > 0 {
		return fmt.Sprintf("%s (%s)", exactly(r.after), exactly(r.wait))
	}
	return exactly(r.after)
}
