package window

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// drawWarmUp draws terms that warm up within a few intervals, or hardly at all.
func drawWarmUp(t *rapid.T, interval time.Duration) WarmUpTerms {
	return WarmUpTerms{
		Limit:      rapid.SampledFrom([]int64{0, 1, 2, 3, 5, 10, 11, 100}).Draw(t, "limit"),
		Period:     time.Duration(rapid.Int64Range(1, 12).Draw(t, "period")) * interval / 2,
		ColdFactor: rapid.SampledFrom([]int64{2, 3, 3, 4, 10}).Draw(t, "cold"),
	}
}

func drawWarmUpShape(t *rapid.T) shape {
	s := drawBurstShape(t)
	s.sampleCount = min(s.sampleCount, 10)
	return s
}

// TestWarmUpTwin compares every answer with the naive twin's.
func TestWarmUpTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawWarmUpShape(t)
		terms := drawWarmUp(t, s.interval())
		a, err := NewWarmUp(s.start, s.sampleCount, s.interval(), s.mode, terms)
		if err != nil {
			t.Fatal(err)
		}
		b := twin.NewWarmUp(s.start, s.sampleCount, s.mode == Strict, twin.WarmUpTerms{Limit: terms.Limit, Period: terms.Period, Cold: terms.ColdFactor, Interval: s.interval()})
		permits := map[int]WarmUpPermit{}
		now := s.start
		for i := range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = drawTime(t, s, now)
			n := rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 3, 5, 40}).Draw(t, "n")
			if _, got := a.limit(now); got != b.Allowed(now) {
				t.Fatalf("call %d at %d: %d allowed, twin %d", i, now, got, b.Allowed(now))
			}
			var got, want any
			switch op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "refund", "until", "maintain"}).Draw(t, "op"); op {
			case "acquire":
				p, r := a.TryAcquire(now, n)
				ok, remaining := b.TryAcquire(i, now, n)
				got, want = r, Result{OK: ok, Remaining: remaining}
				if permits[i] = p; r.OK != (p != WarmUpPermit{}) {
					t.Fatalf("%+v and %+v", p, r)
				}
			case "refund":
				if len(permits) == 0 {
					continue
				}
				id := rapid.SampledFrom(sortedIDs(permits)).Draw(t, "id")
				a.Refund(now, permits[id])
				b.Refund(id, now)
				delete(permits, id)
			case "until":
				d, ok := a.Until(now, n)
				e, expected := b.Until(now, n)
				got, want = fmt.Sprint(d, ok), fmt.Sprint(e, expected)
			case "maintain":
				a.Maintain(now)
				b.Maintain(now)
			}
			if got != want {
				t.Fatalf("call %d at %d, n %d: %v, twin %v", i, now, n, got, want)
			}
		}
	})
}

// TestWarmUpQueueTwin compares every answer with the naive twin's. Its clock does not go back: a
// queue in which that happens has a test of its own.
func TestWarmUpQueueTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawWarmUpShape(t)
		terms := drawWarmUp(t, s.interval())
		terms.Limit = max(terms.Limit, 1)
		a := NewWarmUpQueue(s.start, s.interval(), terms)
		b := twin.NewWarmUpQueue(s.start, twin.WarmUpTerms{Limit: terms.Limit, Period: terms.Period, Cold: terms.ColdFactor, Interval: s.interval()})
		bound := twin.Bound{Wait: time.Duration(rapid.Int64Range(0, 4).Draw(t, "wait")) * s.interval() / 2, Strict: rapid.Bool().Draw(t, "strict")}
		promises := map[int]WarmUpPromise{}
		now := s.start
		for i := range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = max(drawTime(t, s, now), now)
			n := rapid.SampledFrom([]int64{0, 1, 1, 1, 2, 40}).Draw(t, "n")
			if len(promises) > 0 && rapid.IntRange(0, 4).Draw(t, "refund") == 0 {
				id := rapid.SampledFrom(sortedIDs(promises)).Draw(t, "id")
				if got, want := a.Refund(now, promises[id]), b.Refund(id, now); got != want {
					t.Fatalf("refund: %v, twin %v", got, want)
				}
				delete(promises, id)
				continue
			}
			peek := a.Peek(now, n, n, bound.Wait, bound.Strict)
			until, possible := a.Until(now, n, bound.Wait, bound.Strict)
			p, w := a.Acquire(now, n, bound.Wait, bound.Strict)
			ok, wait := b.Acquire(i, now, n, bound)
			if w.OK != ok || w.Wait != wait || peek.OK != ok || peek.Wait != wait {
				t.Fatalf("call %d at %d, n %d: peeked %+v, got %+v, twin %v %v", i, now, n, peek, w, ok, wait)
			}
			if w.OK {
				promises[i] = p
			}
			if possible != (n >= 1 && n <= terms.Limit) || ok != (possible && until == 0) {
				t.Fatalf("call %d, n %d: until %v %v, but %v", i, n, until, possible, ok)
			}
			if possible && until > 0 {
				then := *a.clone()
				if w := then.Peek(now+int64(until), n, n, bound.Wait, bound.Strict); !w.OK {
					t.Fatalf("call %d, n %d: refused %v later, when it is to be admitted", i, n, until)
				}
			}
		}
	})
}

// clone is for looking into the future.
func (q *WarmUpQueue) clone() *WarmUpQueue {
	return &WarmUpQueue{interval: q.interval, queue: q.queue, warmth: q.warmth, passed: q.passed}
}
