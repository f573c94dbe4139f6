package main

import (
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// bucketSection shows how tokens come back.
func bucketSection(d *document, _ *lab) error {
	d.say(`
## How a budget comes back

The same client on two budgets of count %d and burst %d. It takes all that it can get at 0.35 s, nothing until 2.6 s, then
all that it can get again, and from 3.5 s on 5 requests every 50 ms. The lines are what a request would find.
`, count, burst)
	const step = 10 * time.Millisecond
	end := 5 * second
	lazy := window.NewTokenBucket()
	rate := window.Rate{Count: count, Interval: second}
	both, err := window.NewBurst(origin, 10, second, window.Aligned)
	if err != nil {
		return err
	}
	var inBucket, inBoth []point
	for at := time.Duration(0); at <= end; at += step {
		now := origin + int64(at)
		for range comes(at) {
			lazy.TryAcquire(now, 1, rate, burst)
			both.TryAcquire(now, 1, count, burst)
		}
		inBucket = append(inBucket, point{int64(at), lazy.Peek(now, 1, rate, burst).Remaining})
		inBoth = append(inBoth, point{int64(at), both.Peek(now, 1, count, burst).Remaining})
	}
	y := axis{name: "requests that would pass", to: 220, every: 50, unit: 1}
	err = d.show("refill", chart{
		title:       "How a budget comes back",
		description: "How a budget comes back: a token bucket by jumps, more than an interval apart; a burst bit by bit once the window lets go",
		x:           axis{name: "seconds", to: int64(end), every: int64(second) / 2, unit: int64(second)},
		height:      1500,
		panels: []panel{
			{title: string(bucketBurst), y: y, series: []series{{points: inBucket, step: true}}},
			{title: string(alignedBurst), y: y, series: []series{{points: inBoth, step: true}}},
		},
	})
	if err != nil {
		return err
	}
	d.say(`
The token bucket gives nothing for a second, then at one stroke what a second is worth; it is full again after two. A
client who then comes at exactly count a second uses up what the refill brought before there is another, and from
then on lives on refills. The burst limit refuses until the slot that holds the burst has left the window, and then has
what the bucket beside the window holds: that fills all the time, so a client who comes at exactly count a second finds
it as full as before.
`)
	return nil
}

// comes is how many requests the client of the plot sends.
func comes(at time.Duration) int {
	switch {
	case at == 350*time.Millisecond, at == 2600*time.Millisecond:
		return count + burst
	case at >= 3500*time.Millisecond && at%(50*time.Millisecond) == 0:
		return 5
	}
	return 0
}
