package window

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// epoch is a moment of 2025 at which a slot of every width used in these tests starts.
const epoch = int64(1_750_003_200) * int64(time.Second)

func newLeapArray(t rapid.TB, now int64, sampleCount int, interval time.Duration, mode Mode) *LeapArray {
	t.Helper()
	a, err := NewLeapArray(now, sampleCount, interval, mode)
	if err != nil {
		t.Fatalf("NewLeapArray(%d, %v): %v", sampleCount, interval, err)
	}
	return a
}

func at(ms int64) int64 { return epoch + ms*int64(time.Millisecond) }

// TestLeapArraySentinel replays what Sentinel 1.8.9's LeapArray does (traces LA-01, 05 and 08): n
// above 0 is added, n 0 asks for the sum.
func TestLeapArraySentinel(t *testing.T) {
	t.Parallel()
	type event struct{ ms, n, sum int64 }
	for _, c := range []struct {
		name        string
		sampleCount int
		events      []event
	}{
		{"LA-01 two slots of 500 ms", 2, []event{
			{100, 3, 3}, {600, 4, 7}, {999, 0, 7}, {1000, 0, 4}, {1100, 5, 9}, {1499, 0, 9}, {1500, 0, 5},
		}},
		{"LA-05 long idle", 2, []event{{100, 1, 1}, {600, 1, 2}, {10000, 0, 0}, {10500, 0, 0}}},
		{"LA-08 one slot", 1, []event{{0, 5, 5}, {999, 0, 5}, {1000, 0, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newLeapArray(t, epoch, c.sampleCount, time.Second, Aligned)
			for _, e := range c.events {
				if e.n > 0 {
					if _, r := a.TryAcquire(at(e.ms), e.n, MaxLimit); !r.OK {
						t.Fatalf("at %d ms: refused", e.ms)
					}
				}
				if got := a.Snapshot(at(e.ms), nil).Total; got != e.sum {
					t.Fatalf("at %d ms: sum = %d, want %d", e.ms, got, e.sum)
				}
			}
		})
	}
}

func TestLeapArrayShape(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		sampleCount int
		interval    time.Duration
		ok          bool
	}{
		{"LA-06 three slots of a second", 3, time.Second, false},
		{"no slot", 0, time.Second, false},
		{"negative slots", -1, time.Second, false},
		{"most slots", 60, time.Minute, true},
		{"too many slots", 61, 61 * time.Second, false},
		{"no interval", 1, 0, false},
		{"negative interval", 1, -time.Second, false},
		{"least slot", 10, 10 * time.Millisecond, true},
		{"slot of half a millisecond", 2, time.Millisecond, false},
		{"interval not in milliseconds", 1, time.Second + 1, false},
		{"a year", 12, 360 * 24 * time.Hour, true},
		{"an age", 1, 40 * 365 * 24 * time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := NewLeapArray(epoch, c.sampleCount, c.interval, Aligned)
			if c.ok && err != nil || !c.ok && !errors.Is(err, ErrShape) {
				t.Fatalf("err = %v, want ok %t", err, c.ok)
			}
		})
	}
}

func TestLeapArrayEdges(t *testing.T) {
	t.Parallel()
	const full = MaxLimit
	for _, c := range []struct {
		name      string
		held      int64
		n, limit  int64
		ok        bool
		remaining int64 // before the charge
		until     time.Duration
		comes     bool
	}{
		{name: "fits", n: 3, limit: 3, ok: true, remaining: 3, comes: true},
		{name: "one too many", held: 1, n: 3, limit: 3, remaining: 2, until: time.Second, comes: true},
		{name: "never fits", n: 4, limit: 3, remaining: 3},
		{name: "limit 0", n: 1, limit: 0},
		{name: "negative limit", n: 1, limit: math.MinInt64},
		{name: "limit below what is held", held: 5, n: 1, limit: 3, until: time.Second, comes: true},
		{name: "no hits", n: 0, limit: 3, remaining: 3},
		{name: "negative hits", n: math.MinInt64, limit: 3, remaining: 3},
		{name: "huge hits", held: 1, n: math.MaxInt64, limit: 3, remaining: 2},
		{name: "huge hits and limit", held: 1, n: math.MaxInt64, limit: math.MaxInt64, remaining: full - 1},
		{name: "greatest charge", n: full, limit: math.MaxInt64, ok: true, remaining: full, comes: true},
		{name: "one above the greatest", n: full + 1, limit: math.MaxInt64, remaining: full},
		{name: "full to the brim", held: full, n: 1, limit: math.MaxInt64, until: time.Second, comes: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newLeapArray(t, epoch, 1, time.Second, Aligned)
			if c.held > 0 {
				a.TryAcquire(epoch, c.held, c.held)
			}
			if got, want := a.Peek(epoch, c.n, c.limit), (Result{OK: c.ok, Remaining: c.remaining}); got != want {
				t.Errorf("Peek = %+v, want %+v", got, want)
			}
			if d, comes := a.Until(epoch, c.n, c.limit); d != c.until || comes != c.comes {
				t.Errorf("Until = %v, %t, want %v, %t", d, comes, c.until, c.comes)
			}
			want := Result{OK: c.ok, Remaining: c.remaining}
			held := c.held
			if c.ok {
				want.Remaining -= c.n
				held += c.n
			}
			p, got := a.TryAcquire(epoch, c.n, c.limit)
			if got != want {
				t.Errorf("TryAcquire = %+v, want %+v", got, want)
			}
			if got := a.Snapshot(epoch, nil); got.Total != held || got.Slots[0] != held {
				t.Errorf("holds %+v, want %d", got, held)
			}
			a.Refund(epoch, p)
			if got := a.Snapshot(epoch, nil).Total; got != c.held {
				t.Errorf("holds %d after the refund, want %d", got, c.held)
			}
		})
	}
}

// TestLeapArrayRefusalWritesNothing holds the promise that a flood of refused calls leaves the
// cache line shared.
func TestLeapArrayRefusalWritesNothing(t *testing.T) {
	t.Parallel()
	a := newLeapArray(t, epoch, 2, time.Second, Aligned)
	a.TryAcquire(epoch, 2, 2)
	before := clone(a)
	a.TryAcquire(epoch, 1, 2)
	a.Peek(epoch, 1, 2)
	if !equal(a, before) {
		t.Error("a refusal changed the window")
	}
}

// TestLeapArrayLayout: word shares its cache line with no other field, and no slot with another
// window.
func TestLeapArrayLayout(t *testing.T) {
	t.Parallel()
	for sampleCount := 1; sampleCount <= MaxSampleCount; sampleCount++ {
		a := newLeapArray(t, epoch, sampleCount, time.Duration(sampleCount)*time.Second, Strict)
		if at := uintptr(unsafe.Pointer(&a.word)); at%cacheLine != 0 {
			t.Fatalf("%d slots: word at %#x", sampleCount, at)
		}
		if at := uintptr(unsafe.Pointer(&a.slots[0])); at%cacheLine != 0 || cap(a.slots)*8%cacheLine != 0 {
			t.Fatalf("%d slots: ring of %d words at %#x", sampleCount, cap(a.slots), at)
		}
	}
	var a LeapArray
	if got := unsafe.Offsetof(a.mu); got != 2*cacheLine {
		t.Errorf("mu at offset %d, want %d", got, 2*cacheLine)
	}
}

func TestLeapArrayAllocatesNothing(t *testing.T) {
	a := newLeapArray(t, epoch, 10, time.Second, Strict)
	now := epoch
	into := make([]int64, 0, 16)
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(7 * time.Millisecond)
		a.Peek(now, 1, 20)
		p, _ := a.TryAcquire(now, 1, 20)
		q, _ := a.TryAcquire(now, 30, 20)
		a.Until(now, 20, 20)
		a.Reset(now)
		a.Refund(now, p)
		a.Refund(now, q)
		a.Release(now, 1)
		a.Previous(now)
		a.Snapshot(now, into)
		a.Maintain(now)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// clone copies a window at rest.
func clone(a *LeapArray) *LeapArray {
	b := &LeapArray{width: a.width, live: a.live, mask: a.mask, slots: make([]atomic.Uint64, len(a.slots))}
	b.word.Store(a.word.Load())
	b.previous.Store(a.previous.Load())
	for i := range a.slots {
		b.slots[i].Store(a.slots[i].Load())
	}
	return b
}

// equal compares two windows at rest to the bit.
func equal(a, b *LeapArray) bool {
	same := a.word.Load() == b.word.Load() && a.previous.Load() == b.previous.Load()
	for i := range a.slots {
		same = same && a.slots[i].Load() == b.slots[i].Load()
	}
	return same
}
