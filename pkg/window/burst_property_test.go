package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// drawBurst draws the numbers of a rule.
func drawBurst(t *rapid.T) (count, burst int64) {
	return rapid.Int64Range(0, 7).Draw(t, "count"), rapid.SampledFrom([]int64{0, 1, 3, 11}).Draw(t, "burst")
}

// drawBurstTime moves now as drawTime does, or to when a token or a few come back.
func drawBurstTime(t *rapid.T, s shape, now, count int64) int64 {
	if rapid.Bool().Draw(t, "by tokens") {
		cost := int64(s.interval()) / max(count, 1)
		return now + rapid.Int64Range(0, 4).Draw(t, "tokens")*cost + rapid.Int64Range(-1, 1).Draw(t, "more")
	}
	return drawTime(t, s, now)
}

// drawBurstShape leaves out slots of an hour: sixty of them a move, and the time of the twin's
// search, would lead out of the range of time.
func drawBurstShape(t *rapid.T) shape {
	s := drawShape(t)
	s.width = min(s.width, time.Second)
	s.start = epoch + s.start%int64(time.Hour)
	return s
}

// TestBurstTwin compares every answer with the naive twin's.
func TestBurstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawBurstShape(t)
		a, err := NewBurst(s.start, s.sampleCount, s.interval(), s.mode)
		if err != nil {
			t.Fatal(err)
		}
		b := twin.NewBurst(s.start, s.sampleCount, s.interval(), s.mode == Strict)
		permits := map[int]BurstPermit{}
		count, burst := drawBurst(t)
		now := s.start
		for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
			if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
				count, burst = drawBurst(t)
			}
			now = drawBurstTime(t, s, now, count)
			n := rapid.Int64Range(0, 6).Draw(t, "n")
			var got, want any
			op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "peek", "refund", "release", "until", "maintain"}).Draw(t, "op")
			switch op {
			case "acquire":
				p, r := a.TryAcquire(now, n, count, burst)
				ok, remaining := b.TryAcquire(i, now, n, count, burst)
				got, want = r, Result{OK: ok, Remaining: remaining}
				if r.OK {
					permits[i] = p
				} else if p != (BurstPermit{}) {
					t.Fatalf("a refusal gave the permit %+v", p)
				}
			case "peek":
				ok, remaining := b.Peek(now, n, count, burst)
				got, want = a.Peek(now, n, count, burst), Result{OK: ok, Remaining: remaining}
			case "refund":
				if len(permits) == 0 {
					continue
				}
				id := rapid.SampledFrom(sortedIDs(permits)).Draw(t, "id")
				a.Refund(now, permits[id])
				b.Refund(id, now)
				delete(permits, id)
			case "release":
				a.Release(now, n)
				b.Release(now, n)
			case "until":
				d, ok := a.Until(now, n, count, burst)
				e, comes := b.Until(now, n, count, burst)
				got, want = fmt.Sprint(d, ok), fmt.Sprint(e, comes)
			case "maintain":
				a.Maintain(now)
			}
			if got != want {
				t.Fatalf("call %d, %s: got %v, want %v", i, op, got, want)
			}
			if got, want := a.Reset(now), b.Reset(now); got != want {
				t.Fatalf("call %d, %s: then Reset = %v, want %v", i, op, got, want)
			}
		}
	})
}

// TestBurstBound holds the published bounds against what was admitted when, by a clock that only
// goes forward, and not given back.
func TestBurstBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawBurstShape(t)
		b, err := NewBurst(s.start, s.sampleCount, s.interval(), s.mode)
		if err != nil {
			t.Fatal(err)
		}
		count, burst := drawBurst(t)
		var trace []struct{ at, n int64 }
		var permits []BurstPermit
		now := s.start
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = max(now, drawBurstTime(t, s, now, count))
			if len(trace) > 0 && rapid.IntRange(0, 5).Draw(t, "refunds") == 0 {
				i := rapid.IntRange(0, len(trace)-1).Draw(t, "which")
				b.Refund(now, permits[i]) // given back or not, it is not used
				trace, permits = slices.Delete(trace, i, i+1), slices.Delete(permits, i, i+1)
				continue
			}
			n := rapid.Int64Range(1, 4).Draw(t, "n")
			if p, r := b.TryAcquire(now, n, count, burst); r.OK {
				trace, permits = append(trace, struct{ at, n int64 }{now, n}), append(permits, p)
			}
		}
		live := int64(s.sampleCount) + int64(s.mode)
		for i, first := range trace {
			slots, span := int64(0), int64(0)
			for _, last := range trace[i:] {
				if span += last.n; !withinBurst(last.at-first.at, span, count, burst, s.interval()) {
					t.Fatalf("%d admitted in %d ns from %d on, %d + %d in %v", span, last.at-first.at, first.at, count, burst, s.interval())
				}
				if last.at/int64(s.width)-first.at/int64(s.width) < live {
					slots += last.n
				}
			}
			if slots > count+burst {
				t.Fatalf("%d admitted in %d slots from %d on, limit %d + %d", slots, live, first.at, count, burst)
			}
		}
	})
}

// withinBurst says whether sum is at most count + burst + span*count/interval.
func withinBurst(span, sum, count, burst int64, interval time.Duration) bool {
	return (sum-count-burst)*int64(interval) <= span*count
}

// TestBurstForgetting: once expired, a bucket answers everything as the zero state does.
func TestBurstForgetting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawBurstShape(t)
		interval := int64(s.interval())
		draw := func() (count, burst int64) {
			count, burst = drawBurst(t)
			return max(count, 1), burst
		}
		call := func(g gcraState, now, n, count, burst int64) (gcraState, int64) {
			g = g.carry(now, count)
			room := g.room(now, count, burst, interval)
			if n >= 1 && n <= room {
				g = g.take(now, n, count, interval)
			}
			return g, room
		}
		var g gcraState
		now := epoch
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			count, burst := draw()
			now = drawBurstTime(t, s, now, count)
			g, _ = call(g, now, rapid.Int64Range(0, 6).Draw(t, "n"), count, burst)
		}
		for !g.expired(now) {
			now += rapid.Int64Range(1, interval).Draw(t, "wait")
		}
		var fresh gcraState
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			count, burst := draw()
			n := rapid.Int64Range(0, 6).Draw(t, "n")
			var got, want int64
			g, got = call(g, now, n, count, burst)
			fresh, want = call(fresh, now, n, count, burst)
			if got != want {
				t.Fatalf("the state that had expired has room for %d, a new one for %d", got, want)
			}
			now = max(now, drawBurstTime(t, s, now, count))
		}
	})
}
