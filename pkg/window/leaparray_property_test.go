package window

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// shape is a window to try, and the time to start at.
type shape struct {
	sampleCount int
	width       time.Duration
	mode        Mode
	start       int64
}

func (s shape) interval() time.Duration { return time.Duration(s.sampleCount) * s.width }

// drawShape starts at a present-day time, or shortly before the sequence numbers wrap, where that
// is within the range of time.
func drawShape(t *rapid.T) shape {
	s := shape{
		sampleCount: rapid.SampledFrom([]int{1, 2, 5, 10, 60}).Draw(t, "sampleCount"),
		width:       rapid.SampledFrom([]time.Duration{time.Millisecond, 7 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Hour}).Draw(t, "width"),
		mode:        rapid.SampledFrom([]Mode{Aligned, Strict}).Draw(t, "mode"),
		start:       epoch + rapid.Int64Range(0, int64(time.Hour)).Draw(t, "start"),
	}
	if lap := math.MaxInt64 >> 32; int64(s.width) <= int64(lap) && rapid.Bool().Draw(t, "wrap") {
		lap := int64(s.width) << 32
		s.start = (epoch/lap+1)*lap - rapid.Int64Range(0, 3*int64(s.interval())).Draw(t, "before")
	}
	return s
}

// drawTime moves now: not at all, a little, to the edge of a slot, by slots, far beyond the
// interval, or back.
func drawTime(t *rapid.T, s shape, now int64) int64 {
	width := int64(s.width)
	moves := []string{"stay", "stay", "stay", "little", "little", "edge", "edge", "before edge", "slots", "far", "back"}
	switch rapid.SampledFrom(moves).Draw(t, "move") {
	case "little":
		return now + rapid.Int64Range(1, width).Draw(t, "by")
	case "edge":
		return now - now%width + width
	case "before edge":
		return now - now%width + width - 1
	case "slots":
		return now + rapid.Int64Range(1, int64(s.sampleCount)+1).Draw(t, "slots")*width
	case "far":
		return now + rapid.Int64Range(1, 1000).Draw(t, "intervals")*int64(s.interval())
	case "back":
		return now - rapid.Int64Range(1, 3*int64(s.interval())).Draw(t, "by")
	}
	return now
}

// TestLeapArrayTwin compares every answer with the naive twin's.
func TestLeapArrayTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		a := newLeapArray(t, s.start, s.sampleCount, s.interval(), s.mode)
		b := twin.NewLeapArray(s.start, s.sampleCount, s.interval(), s.mode == Strict)
		permits := map[int]Permit{}
		now := s.start
		for i := range rapid.IntRange(40, 80).Draw(t, "calls") {
			now = drawTime(t, s, now)
			n := rapid.Int64Range(0, 5).Draw(t, "n")
			limit := rapid.Int64Range(0, 12).Draw(t, "limit")
			var got, want any
			op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "peek", "refund", "release", "until", "maintain"}).Draw(t, "op")
			switch op {
			case "acquire":
				p, r := a.TryAcquire(now, n, limit)
				ok, remaining := b.TryAcquire(i, now, n, limit)
				got, want = r, Result{OK: ok, Remaining: remaining}
				if r.OK {
					permits[i] = p
				} else if p != (Permit{}) {
					t.Fatalf("a refusal gave the permit %+v", p)
				}
			case "peek":
				ok, remaining := b.Peek(now, n, limit)
				got, want = a.Peek(now, n, limit), Result{OK: ok, Remaining: remaining}
			case "refund":
				if len(permits) == 0 {
					continue
				}
				id := rapid.SampledFrom(sortedKeys(permits)).Draw(t, "id")
				a.Refund(now, permits[id])
				b.Refund(id, now)
				delete(permits, id)
			case "release":
				a.Release(now, n)
				b.Release(now, n)
			case "until":
				d, ok := a.Until(now, n, limit)
				e, comes := b.Until(now, n, limit)
				got, want = fmt.Sprint(d, ok), fmt.Sprint(e, comes)
				checkUntil(t, a, now, n, limit)
			case "maintain":
				a.Maintain(now)
				b.Slots(now)
			}
			if got != want {
				t.Fatalf("call %d, %s: got %v, want %v", i, op, got, want)
			}
			if got, want := a.Previous(now), b.Previous(now); got != want {
				t.Fatalf("call %d, %s: previous = %d, want %d", i, op, got, want)
			}
			if got, want := a.Reset(now), b.Reset(now); got != want {
				t.Fatalf("call %d, %s: reset = %v, want %v", i, op, got, want)
			}
			checkContent(t, a, now, b.Slots(now))
		}
	})
}

// checkUntil holds Until to its word on a copy: at that time the charge fits, a nanosecond earlier
// it does not.
func checkUntil(t *rapid.T, a *LeapArray, now, n, limit int64) {
	d, ok := a.Until(now, n, limit)
	if !ok || d == 0 {
		if got := a.Peek(now, n, limit).OK; got != ok {
			t.Fatalf("Until = %v, %t, yet Peek says %t", d, ok, got)
		}
		return
	}
	c := clone(a)
	if c.Peek(now+int64(d)-1, n, limit).OK {
		t.Fatalf("Until = %v, yet %d fits before", d, n)
	}
	if !c.Peek(now+int64(d), n, limit).OK {
		t.Fatalf("Until = %v, yet %d does not fit then", d, n)
	}
}

// checkContent compares the slots with want, and the total with their sum.
func checkContent(t *rapid.T, a *LeapArray, now int64, want []int64) {
	got := a.Snapshot(now, nil)
	if !slices.Equal(got.Slots, want) {
		t.Fatalf("slots = %v, want %v", got.Slots, want)
	}
	sum := int64(0)
	for _, n := range got.Slots {
		sum += n
	}
	if got.Total != sum {
		t.Fatalf("total = %d, slots %v", got.Total, got.Slots)
	}
}

// TestLeapArrayBound holds the published bounds against the trace alone: what was admitted when,
// by a clock that only goes forward, and not given back.
func TestLeapArrayBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		limit := rapid.Int64Range(1, 8).Draw(t, "limit")
		a := newLeapArray(t, s.start, s.sampleCount, s.interval(), s.mode)
		type admission struct {
			at, n  int64
			permit Permit
		}
		var trace []admission
		now, latest := s.start, s.start
		for range rapid.IntRange(40, 80).Draw(t, "calls") {
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				now = drawTime(t, s, now)
			} else {
				now = latest + rapid.Int64Range(0, int64(s.width)).Draw(t, "by")
			}
			latest = max(latest, now)
			if len(trace) > 0 && rapid.IntRange(0, 5).Draw(t, "refunds") == 0 {
				i := rapid.IntRange(0, len(trace)-1).Draw(t, "which")
				held := a.Snapshot(now, nil).Total
				a.Refund(now, trace[i].permit)
				// Without an effect if the slot had left: then it was admitted all the same.
				if a.Snapshot(now, nil).Total < held {
					trace = slices.Delete(trace, i, i+1)
				}
				continue
			}
			n := rapid.Int64Range(1, 4).Draw(t, "n")
			if p, r := a.TryAcquire(now, n, limit); r.OK {
				trace = append(trace, admission{latest, n, p})
			}
		}
		for i, first := range trace {
			var slots, real int64
			for _, last := range trace[i:] {
				if last.at/int64(s.width)-first.at/int64(s.width) < int64(s.sampleCount) {
					slots += last.n
				}
				if last.at-first.at < int64(s.interval()) {
					real += last.n
				}
			}
			if slots > limit {
				t.Fatalf("%d admitted in %d slots from %d on, limit %d", slots, s.sampleCount, first.at, limit)
			}
			if bound := limit * int64(2-s.mode); real > bound {
				t.Fatalf("%d admitted in %v from %d on, bound %d", real, s.interval(), first.at, bound)
			}
		}
	})
}

func sortedKeys(permits map[int]Permit) []int {
	var keys []int
	for k := range permits {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
