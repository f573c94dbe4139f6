package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// Every figure is for this count, and for this burst where there is one.
const (
	count = 100
	burst = 100
)

// The two intervals that every mode is run at.
const (
	second = time.Second
	minute = time.Minute
)

// mode is what a rule can be told to do with requests above its count.
type mode string

const (
	aligned      mode = "aligned"
	strict       mode = "strict"
	alignedBurst mode = "aligned + burst"
	strictBurst  mode = "strict + burst"
	bucket       mode = "token-bucket"
	bucketBurst  mode = "token-bucket + burst"
	queue        mode = "queueing"
	queueHits    mode = "queueing, 10 hits a call" // a call of many hits takes as many places
)

// slotted are the modes that have slots, and so a sampleCount.
func slotted() []mode { return []mode{aligned, strict, alignedBurst, strictBurst} }

// smooth are the modes that have none.
func smooth() []mode { return []mode{bucket, bucketBurst, queue, queueHits} }

// singles are those of them whose clients ask for one hit after another.
func singles() []mode { return []mode{bucket, bucketBurst, queue} }

func (m mode) smooth() bool { return slices.Contains(smooth(), m) }

// id names the rule of the mode on the page.
func (m mode) id() string { return "orders-" + strings.ReplaceAll(string(m), " + ", "-") }

// fields are what chooses the mode in a rule, besides count, intervalSec and sampleCount.
func (m mode) fields() string {
	switch m {
	case strict:
		return `"window": "strict"`
	case alignedBurst:
		return fmt.Sprintf(`"burst": %d`, burst)
	case strictBurst:
		return fmt.Sprintf(`"window": "strict", "burst": %d`, burst)
	case bucket:
		return `"window": "token-bucket"`
	case bucketBurst:
		return fmt.Sprintf(`"window": "token-bucket", "burst": %d`, burst)
	case queue, queueHits:
		return `"controlBehavior": "queue"`
	}
	return `"window": "aligned"`
}

// extra is what may pass at once above count.
func (m mode) extra() int64 {
	if m == alignedBurst || m == strictBurst || m == bucketBurst {
		return burst
	}
	return 0
}

// hits is the most that a client of the mode asks for in one call.
func (m mode) hits() int64 {
	switch m {
	case queue:
		return 1
	case queueHits:
		return 10
	}
	return count
}

// bound is what any real interval admits at most, its two ends included, in words and as a number.
func (m mode) bound() (string, int64) {
	switch m {
	case strict:
		return "count", count
	case alignedBurst:
		return "2·count + burst", 2*count + burst
	case strictBurst:
		return "count + burst", count + burst
	case bucket:
		return "2·count - 1", 2*count - 1
	case bucketBurst:
		// What is left of a full bucket, less the request that started its interval, and what two
		// intervals bring back, as far as the bucket holds it.
		return "2·count + burst + min(count, burst) - 1", 2*count + burst + min(count, burst) - 1
	case queue:
		return "count + 1", count + 1
	case queueHits:
		return "count + hits of a call", count + m.hits()
	}
	return "2·count", 2 * count
}

// subject is a mode in one shape.
type subject struct {
	mode     mode
	slots    int // sampleCount; 0 where there are none
	interval time.Duration
}

func (s subject) String() string {
	if s.slots == 0 {
		return fmt.Sprintf("%s at %s", s.mode, s.interval)
	}
	return fmt.Sprintf("%s at %s with sampleCount %d", s.mode, s.interval, s.slots)
}

// sampleCounts are the shapes of the modes with slots. A slot is a whole number of milliseconds,
// so a second has no 60.
func sampleCounts(interval time.Duration) []int {
	if interval == second {
		return []int{1, 2, 5, 10, 20}
	}
	return []int{1, 2, 5, 10, 20, 60}
}

// subjects are all of them, in the order of the document.
func subjects() []subject {
	var all []subject
	for _, m := range slotted() {
		for _, interval := range []time.Duration{second, minute} {
			for _, k := range sampleCounts(interval) {
				all = append(all, subject{m, k, interval})
			}
		}
	}
	for _, m := range smooth() {
		all = append(all, subject{m, 0, second}, subject{m, 0, minute})
	}
	return all
}

// maxWait is the longest that queueing holds a request back.
func (s subject) maxWait() time.Duration { return s.interval / 2 }

// limiter makes a new budget, nothing of which is used, from what the engine makes its own.
func (s subject) limiter(now int64) (limiter, error) {
	rate := window.Rate{Count: count, Interval: s.interval}
	switch s.mode {
	case bucket, bucketBurst:
		return bucketLimiter{window.NewTokenBucket(), rate, s.mode.extra()}, nil
	case queue, queueHits:
		return queueLimiter{window.NewThrottle(), rate, s.maxWait()}, nil
	}
	kind := window.Aligned
	if s.mode == strict || s.mode == strictBurst {
		kind = window.Strict
	}
	if s.mode.extra() > 0 {
		b, err := window.NewBurst(now, s.slots, s.interval, kind)
		return burstLimiter{b, count, s.mode.extra()}, err
	}
	w, err := window.NewLeapArray(now, s.slots, s.interval, kind)
	return windowLimiter{w, count}, err
}

// width is how long a slot lasts.
func (s subject) width() int64 { return int64(s.interval) / int64(max(s.slots, 1)) }

// together is how many slots in a row hold at most count, and burst.
func (s subject) together() int {
	if s.mode == strict || s.mode == strictBurst {
		return s.slots + 1
	}
	return s.slots
}
