package window

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestKeyBurst(t *testing.T) {
	t.Parallel()
	c := KeyBurstConfig{SampleCount: 2, Interval: time.Second}
	k, err := NewKeyBurst(epoch, c)
	if err != nil {
		t.Fatal(err)
	}
	a := k.Hash("a")
	p, r := k.TryAcquire(epoch, a, 4, 4, 2)
	if r != (Result{OK: true, Remaining: 2}) {
		t.Errorf("%+v", r)
	}
	if _, r := k.TryAcquire(epoch, a, 3, 4, 2); r != (Result{Remaining: 2}) {
		t.Errorf("%+v", r)
	}
	if d, ok := k.Until(epoch, a, 3, 4, 2); d != time.Second || !ok {
		t.Errorf("Until = %v, %v, want when the slot leaves", d, ok)
	}
	if d := k.Reset(epoch, a); d != time.Second {
		t.Errorf("Reset = %v", d)
	}
	k.Refund(epoch, p)
	k.Refund(epoch, KeyBurstPermit{})
	if r := k.Peek(epoch, a, 1, 4, 2); r != (Result{OK: true, Remaining: 6}) {
		t.Errorf("%+v after the refund", r)
	}
	k.TryAcquire(epoch, a, 6, 4, 2)
	k.Release(epoch, a, 5)
	k.Release(epoch, a, 0)
	k.Release(epoch, k.Hash("b"), 5)
	if r := k.Peek(epoch, a, 1, 4, 2); r != (Result{OK: true, Remaining: 5}) {
		t.Errorf("%+v after the release", r)
	}
	for _, n := range []int64{0, -1, 7, math.MaxInt64} {
		if _, r := k.TryAcquire(epoch, k.Hash("b"), n, 4, 2); r != (Result{Remaining: 6}) {
			t.Errorf("%d hits: %+v", n, r)
		}
		if d, ok := k.Until(epoch, k.Hash("b"), n, 4, 2); d != 0 || ok {
			t.Errorf("%d hits: Until = %v, %v", n, d, ok)
		}
	}
	if _, r := k.TryAcquire(epoch, a, 1, 0, 9); r != (Result{}) {
		t.Errorf("at no count: %+v", r)
	}
	if s := k.Stats(); s.Keys != 1 || s.MaxBytes != c.MaxBytes() {
		t.Errorf("%+v, want at most %d bytes", s, c.MaxBytes())
	}
	for _, test := range []struct {
		c    KeyBurstConfig
		want error
	}{
		{KeyBurstConfig{SampleCount: 1}, ErrShape},
		{KeyBurstConfig{Interval: time.Second}, ErrShape},
		{KeyBurstConfig{SampleCount: 61, Interval: 61 * time.Second}, ErrShape},
		{KeyBurstConfig{SampleCount: 1, Interval: time.Second, MaxKeys: -1}, ErrMaxKeys},
	} {
		if _, err := NewKeyBurst(epoch, test.c); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test.c, err)
		}
	}
}

// TestKeyBurstExtremes: counts at the end of their range, and a count that falls from there to the
// other end while a sketch holds what was charged, lead nowhere out of range.
func TestKeyBurstExtremes(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{time.Minute, 365 * 24 * time.Hour} {
		k, err := newKeyBurst(epoch, KeyBurstConfig{SampleCount: 60, Interval: interval, Mode: Strict, MaxKeys: 16}, tableSize{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 17 {
			p, r := k.TryAcquire(epoch, testKey(i), MaxLimit-5, math.MaxInt64, math.MaxInt64)
			if !r.OK || r.Remaining != 5 || p.sketched != (i == 16) || r.Untracked != (i == 16) {
				t.Fatalf("key %d: %+v, %+v", i, p, r)
			}
		}
		// Half an interval later there is room for the last.
		k.keys.Max = 100
		now := epoch + int64(interval)/60*30
		if r := k.Peek(now, testKey(16), 1, 1, 0); r.OK || r.Untracked {
			t.Errorf("%v: %+v, want that it counts", interval, r)
		}
		// The window has room, but no bucket holds more than comes back in 36 years.
		if r := k.Peek(now, testKey(16), 1, 1, math.MaxInt64); r != (Result{}) {
			t.Errorf("%v: %+v, want an empty bucket", interval, r)
		}
		if d, ok := k.Until(now, testKey(16), 1, 1, 0); !ok || d <= 0 {
			t.Errorf("%v: Until = %v, %v", interval, d, ok)
		}
		for i := range 16 {
			if r := k.Peek(now, testKey(i), 1, 1, 0); r.OK || r.Remaining != 0 {
				t.Errorf("%v, key %d: %+v", interval, i, r)
			}
		}
		checkTable(t, &k.table)
	}
}
