package window

import (
	"fmt"
	"testing"
	"time"
)

func newWarmUp(t testing.TB, count int64, period time.Duration) *WarmUp {
	t.Helper()
	w, err := NewWarmUp(epoch, 2, time.Second, Aligned, WarmUpTerms{count, period, 3})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// admitted counts how many of n requests pass at once.
func (w *WarmUp) admitted(now int64, n int) (passed int) {
	for range n {
		if _, r := w.TryAcquire(now, 1); r.OK {
			passed++
		}
	}
	return passed
}

// TestWarmUpSeries holds what passes second by second when more than enough come in each: the figures
// of Sentinel 1.8.9, but for counts below the cold factor, of which Sentinel lets nothing through.
func TestWarmUpSeries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		count        int64
		period       time.Duration
		offset       int64 // ms
		offered      []int // per second; the last for all that follow
		want, tokens []int
	}{
		{"10 in 10 s", 10, 10 * time.Second, 100, []int{12},
			[]int{3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 10, 10, 10, 10},
			[]int{100, 97, 94, 91, 88, 85, 81, 77, 73, 68, 63, 57, 50, 40, 40, 40}},
		{"100 in 2 s", 100, 2 * time.Second, 0, []int{120}, []int{33, 42, 66, 100}, []int{200, 167, 125, 59}},
		{"count 1", 1, time.Second, 100, []int{2}, []int{1, 1, 1, 1, 1}, []int{0, 0, 0, 0, 0}},
		{"count below the cold factor", 2, 10 * time.Second, 100, []int{2},
			[]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2}, []int{20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 8}},
		{"nothing passes", 0, 10 * time.Second, 0, []int{2}, []int{0, 0, 0}, []int{0, 0, 0}},
		{"cools while few come", 10, 4 * time.Second, 0, []int{12, 12, 12, 12, 12, 12, 12, 2, 2, 2, 2, 2, 12},
			[]int{3, 3, 4, 5, 6, 10, 10, 2, 2, 2, 2, 2, 3}, []int{40, 37, 34, 30, 25, 19, 19, 19, 27, 35, 38, 38, 38}},
		{"cools at the warning", 10, 10 * time.Second, 100, []int{12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 1, 0, 0, 12},
			[]int{3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 1, 0, 0, 4}, []int{100, 97, 94, 91, 88, 85, 81, 77, 73, 68, 63, 57, 50, 50, 50, 80}},
		{"cools below the cold factor", 2, 10 * time.Second, 100, []int{2, 2, 2, 0, 0, 2}, []int{1, 1, 1, 0, 0, 1}, []int{20, 19, 18, 18, 18, 20}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWarmUp(t, tt.count, tt.period)
			for i := range tt.want {
				now := epoch + (int64(i)*1000+tt.offset)*int64(time.Millisecond)
				got := w.admitted(now, tt.offered[min(i, len(tt.offered)-1)])
				if got != tt.want[i] || w.warmth.tokens != int64(tt.tokens[i]) {
					t.Errorf("second %d: %d passed with %d tokens, want %d with %d", i, got, w.warmth.tokens, tt.want[i], tt.tokens[i])
				}
			}
		})
	}
}

// TestWarmUpQueueSeries holds the waits of Sentinel 1.8.9: count 10, 4 s, waiting up to 400 ms.
func TestWarmUpQueueSeries(t *testing.T) {
	t.Parallel()
	q := NewWarmUpQueue(epoch, time.Second, WarmUpTerms{10, 4 * time.Second, 3})
	for i := range int64(8) {
		now, second := epoch+i*int64(time.Second), 300*time.Millisecond
		if i > 0 {
			second = 280 * time.Millisecond
		}
		for n, want := range []Wait{{OK: true}, {OK: true, Wait: second}, {}, {}} {
			_, w := q.Acquire(now, 1, 400*time.Millisecond, false)
			if w.OK != want.OK || w.Wait != want.Wait {
				t.Errorf("second %d, request %d: %+v, want %+v", i, n, w, want)
			}
		}
		if want := map[bool]int64{true: 40, false: 38}[i == 0]; q.warmth.tokens != want {
			t.Errorf("second %d: %d tokens, want %d", i, q.warmth.tokens, want)
		}
	}
}

func TestWarmUpTerms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		terms         WarmUpTerms
		interval      time.Duration
		warning, most int64
		cold          int64 // allowed when cold
	}{
		{WarmUpTerms{10, 10 * time.Second, 3}, time.Second, 50, 100, 3},
		{WarmUpTerms{100, 2 * time.Second, 3}, time.Second, 100, 200, 33},
		{WarmUpTerms{600, 5 * time.Minute, 3}, time.Minute, 1500, 3000, 200},
		{WarmUpTerms{1, time.Second, 3}, time.Second, 0, 0, 1},
		{WarmUpTerms{10, 10 * time.Second, 0}, time.Second, 100, 166, 5},
		{WarmUpTerms{10, 10 * time.Second, 1 << 40}, time.Second, 0, 0, 10},
		{WarmUpTerms{10, -1, 3}, time.Second, 0, 0, 10},
		{WarmUpTerms{-5, time.Second, 3}, time.Second, 0, 0, 0},
		{WarmUpTerms{1 << 50, time.Second, 3}, time.Second, MaxLimit / 2, MaxLimit/2 + 1<<30 - 1, MaxLimit / 3},
		{WarmUpTerms{MaxLimit, maxInterval, MaxColdFactor}, time.Millisecond, 0, 0, MaxLimit / MaxColdFactor},
	}
	for _, tt := range tests {
		w := tt.terms.over(int64(tt.interval))
		if tt.warning+tt.most > 0 && (w.warning != tt.warning || w.most != tt.most) {
			t.Errorf("%v: tokens %d to %d, want %d to %d", tt.terms, w.warning, w.most, tt.warning, tt.most)
		}
		if got := newWarmth(w, 0).allowed(); got != tt.cold {
			t.Errorf("%v: %d allowed when cold, want %d", tt.terms, got, tt.cold)
		}
		if r := newWarmth(w, 0).rate(int64(tt.interval)); w.limit > 0 && !r.Valid() {
			t.Errorf("%v: rate %+v", tt.terms, r)
		}
	}
}

// TestWarmUpAdjust changes the count of cold, half warm and warm windows.
func TestWarmUpAdjust(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tokens, to, want, allowed int64 }{
		{100, 100, 1000, 33}, {100, 5, 50, 1}, {75, 100, 750, 50}, {50, 100, 500, 100}, {20, 100, 200, 100}, {0, 100, 0, 100}, {51, 5, 26, 4}, {100, 0, 0, 0},
	} {
		w := newWarmUp(t, 10, 10*time.Second)
		w.warmth.tokens = tt.tokens
		w.Adjust(epoch, WarmUpTerms{tt.to, 10 * time.Second, 3})
		if _, got := w.limit(epoch); w.warmth.tokens != tt.want || got != tt.allowed {
			t.Errorf("%d tokens at 10, then %d: %d tokens, %d allowed; want %d, %d", tt.tokens, tt.to, w.warmth.tokens, got, tt.want, tt.allowed)
		}
	}
	w := newWarmUp(t, 1, time.Second) // warm whatever happens
	w.Adjust(epoch, WarmUpTerms{90, 10 * time.Second, 3})
	if _, got := w.limit(epoch); got != 90 {
		t.Errorf("%d allowed", got)
	}
}

// TestWarmUpCharge warms the window by requests that it does not limit.
func TestWarmUpCharge(t *testing.T) {
	t.Parallel()
	w := newWarmUp(t, 10, 2*time.Second)
	for i := range int64(4) {
		w.Charge(epoch+i*int64(time.Second), 15)
	}
	now := epoch + 4*int64(time.Second)
	if got := w.admitted(now, 20); got != 10 {
		t.Errorf("%d admitted, want 10: it is warm", got)
	}
	p := w.Charge(now, 5)
	if r := w.Peek(now, 1); r.OK || r.Remaining != 0 {
		t.Errorf("%+v above the limit", r)
	}
	w.Refund(now, p)
	w.Refund(now, WarmUpPermit{})
	if got := w.leap.total(now); got != 10 {
		t.Errorf("%d charged", got)
	}
}

// TestWarmUpRefundDoesNotWarm gives back all that passes, every second: the window stays cold.
func TestWarmUpRefundDoesNotWarm(t *testing.T) {
	t.Parallel()
	w := newWarmUp(t, 10, 2*time.Second)
	for i := range int64(10) {
		now := epoch + i*int64(time.Second)
		var permits []WarmUpPermit
		for {
			p, r := w.TryAcquire(now, 1)
			if !r.OK {
				break
			}
			permits = append(permits, p)
		}
		if len(permits) != 3 {
			t.Errorf("second %d: %d admitted, want 3", i, len(permits))
		}
		for _, p := range permits {
			w.Refund(now, p)
		}
	}
}

// TestWarmUpBeginsOnce: of callers who find that an interval is due, only the first takes from the tokens.
func TestWarmUpBeginsOnce(t *testing.T) {
	t.Parallel()
	w := newWarmUp(t, 10, 10*time.Second)
	w.admitted(epoch, 3)
	at := epoch/w.interval + 1
	w.begin(at)
	begun := w.warmth
	w.begin(at)
	w.begin(at - 1)
	if w.warmth != begun || begun.tokens != 97 {
		t.Errorf("%d tokens, then %d; want 97", begun.tokens, w.warmth.tokens)
	}
}

// TestWarmUpAfterAges cools for as many intervals, of as many requests each, as there can be.
func TestWarmUpAfterAges(t *testing.T) {
	t.Parallel()
	terms := WarmUpTerms{MaxLimit, time.Millisecond * 10, 3}.over(int64(time.Millisecond))
	w := warmth{warmUpTerms: terms}.next(1<<43, 0)
	if w.tokens != w.most || w.allowed() != MaxLimit/3 {
		t.Errorf("%d of %d tokens, %d allowed", w.tokens, w.most, w.allowed())
	}
}

func TestWarmUpShape(t *testing.T) {
	t.Parallel()
	for _, shape := range []struct {
		samples  int
		interval time.Duration
	}{{0, time.Second}, {7, time.Second}, {1, 0}} {
		if _, err := NewWarmUp(epoch, shape.samples, shape.interval, Aligned, WarmUpTerms{1, time.Second, 3}); err != ErrShape {
			t.Errorf("%v: %v", shape, err)
		}
	}
}

func TestWarmUpAllocatesNothing(t *testing.T) {
	w, q := newWarmUp(t, 10, 10*time.Second), NewWarmUpQueue(epoch, time.Second, WarmUpTerms{10, 10 * time.Second, 3})
	now := epoch
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(90 * time.Millisecond)
		p, _ := w.TryAcquire(now, 1)
		w.Peek(now, 1)
		w.Until(now, 3)
		w.Refund(now, p)
		w.Adjust(now, WarmUpTerms{10 + now%7, 10 * time.Second, 3})
		promise, _ := q.Acquire(now, 1, time.Second, true)
		q.Peek(now, 1, 2, time.Second, true)
		q.Until(now, 3, time.Second, true)
		q.Refund(now, promise)
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkWarmUp(b *testing.B) {
	for _, mode := range []string{"admit", "refuse"} {
		b.Run(mode, func(b *testing.B) {
			w := newWarmUp(b, MaxLimit, time.Second)
			if mode == "refuse" {
				w = newWarmUp(b, 0, time.Second)
			}
			now := epoch
			for b.Loop() {
				now += 1000
				w.TryAcquire(now, 1)
			}
		})
	}
}

func (t WarmUpTerms) String() string {
	return fmt.Sprintf("%d in %v, cold %d", t.Limit, t.Period, t.ColdFactor)
}
