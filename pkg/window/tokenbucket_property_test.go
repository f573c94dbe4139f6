package window

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// filling is what a token bucket is called with.
type filling struct {
	rate  Rate
	burst int64
}

func (f filling) twin() twin.Rate {
	return twin.Rate{Count: f.rate.Count, Den: f.rate.Denominator, Interval: f.rate.Interval}
}

func drawFilling(t *rapid.T) filling {
	return filling{
		rate: Rate{
			Count:       rapid.SampledFrom([]int64{1, 2, 3, 5, 10, 1000}).Draw(t, "count"),
			Denominator: rapid.SampledFrom([]int64{1, 1, 1, 2, 3, 10}).Draw(t, "denominator"),
			Interval:    rapid.SampledFrom([]time.Duration{ms, 7 * ms, time.Second, 10 * time.Second}).Draw(t, "interval"),
		},
		burst: rapid.SampledFrom([]int64{0, 0, 1, 7}).Draw(t, "burst"),
	}
}

func (f filling) drawHits(t *rapid.T) int64 {
	return rapid.Int64Range(0, min(f.rate.Limit()+f.burst, 9)+1).Draw(t, "n")
}

func (f filling) drawTime(t *rapid.T, now int64) int64 {
	interval := int64(f.rate.Interval)
	switch rapid.SampledFrom([]string{"stay", "stay", "little", "part", "interval", "past it", "far", "back"}).Draw(t, "move") {
	case "little":
		return now + rapid.Int64Range(1, int64(2*ms)).Draw(t, "by")
	case "part":
		return now + rapid.Int64Range(1, interval).Draw(t, "by")
	case "interval":
		return now + interval
	case "past it":
		return now + interval + rapid.Int64Range(0, int64(ms)).Draw(t, "by")
	case "far":
		return now + rapid.Int64Range(1, 20).Draw(t, "intervals")*interval
	case "back":
		return now - rapid.Int64Range(1, 3*interval).Draw(t, "by")
	}
	return now
}

// TestTokenBucketTwin compares every answer with the naive twin's.
func TestTokenBucketTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := NewTokenBucket(), &twin.TokenBucket{}
		f := drawFilling(t)
		permits := map[int]BucketPermit{}
		now := epoch
		for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
			if rapid.IntRange(0, 9).Draw(t, "reload") == 0 {
				f = drawFilling(t)
			}
			now = f.drawTime(t, now)
			n := f.drawHits(t)
			peek := a.Peek(now, n, f.rate, f.burst)
			if peek.Remaining <= 8 {
				if want := b.Remaining(now, f.twin(), f.burst); peek.Remaining != want {
					t.Fatalf("call %d: remaining = %d, want %d", i, peek.Remaining, want)
				}
			}
			switch op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "refund", "release", "until", "reset"}).Draw(t, "op"); op {
			case "acquire":
				p, got := a.TryAcquire(now, n, f.rate, f.burst)
				want := peek
				if want.OK = b.TryAcquire(i, now, n, f.twin(), f.burst); want.OK {
					permits[i] = p
					want.Remaining -= n
				} else if p != (BucketPermit{}) {
					t.Fatalf("a refusal gave the permit %+v", p)
				}
				if got != want || peek.OK != want.OK {
					t.Fatalf("call %d: TryAcquire(%d) = %+v, want %+v", i, n, got, want)
				}
			case "refund":
				if len(permits) == 0 {
					continue
				}
				id := rapid.SampledFrom(sortedIDs(permits)).Draw(t, "id")
				a.Refund(permits[id])
				b.Refund(id)
				delete(permits, id)
			case "release":
				a.Release(n)
				b.Release(n)
			case "until":
				d, ok := a.Until(now, n, f.rate, f.burst)
				if want, comes := b.Until(now, n, f.twin(), f.burst); d != want || ok != comes {
					t.Fatalf("call %d: Until(%d) = %v, %t, want %v, %t", i, n, d, ok, want, comes)
				}
			case "reset":
				if got, want := a.Reset(now, f.rate), b.Reset(now, f.twin()); got != want {
					t.Fatalf("call %d: Reset = %v, want %v", i, got, want)
				}
			}
		}
	})
}

// TestTokenBucketBound holds the published bounds against what was admitted when, by a clock that
// only goes forward, and not given back.
func TestTokenBucketBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, f := NewTokenBucket(), drawFilling(t)
		type admission struct {
			at, n  int64
			permit BucketPermit
		}
		var trace []admission
		now := epoch
		for range rapid.IntRange(1, 80).Draw(t, "calls") {
			now = max(now, f.drawTime(t, now))
			if len(trace) > 0 && rapid.IntRange(0, 5).Draw(t, "refunds") == 0 {
				i := rapid.IntRange(0, len(trace)-1).Draw(t, "which")
				b.Refund(trace[i].permit) // given back or not, it is not used
				trace = slices.Delete(trace, i, i+1)
				continue
			}
			n := max(f.drawHits(t), 1)
			if p, r := b.TryAcquire(now, n, f.rate, f.burst); r.OK {
				trace = append(trace, admission{now, n, p})
			}
		}
		most := f.rate.Limit() + f.burst
		for i, first := range trace {
			once, interval := int64(0), int64(0)
			for _, a := range trace[i:] {
				if a.at == first.at {
					once += a.n
				}
				if a.at-first.at <= int64(f.rate.Interval) {
					interval += a.n
				}
			}
			if once > most {
				t.Fatalf("%d admitted at %d, bound %d", once, first.at, most)
			}
			if interval > 2*most {
				t.Fatalf("%d admitted in an interval from %d on, bound %d", interval, first.at, 2*most)
			}
		}
	})
}

// TestTokenBucketForgetting: once expired, a state answers everything as the zero state does.
func TestTokenBucketForgetting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilling(t)
		var s bucketState
		now := epoch
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			now = f.drawTime(t, now)
			s, _, _ = s.acquire(now, f.drawHits(t), f.rate, f.burst)
		}
		if rapid.Bool().Draw(t, "other denominator") {
			f.rate = drawFilling(t).rate
		}
		for !s.expired(now, f.rate) {
			now += rapid.Int64Range(1, 3*int64(f.rate.Interval)).Draw(t, "wait")
		}
		var fresh bucketState
		for range rapid.IntRange(1, 10).Draw(t, "calls") {
			n := f.drawHits(t)
			var got, want Result
			s, _, got = s.acquire(now, n, f.rate, f.burst)
			fresh, _, want = fresh.acquire(now, n, f.rate, f.burst)
			if got != want {
				t.Fatalf("the state that had expired says %+v, a new one %+v", got, want)
			}
			now = max(now, f.drawTime(t, now))
		}
	})
}
