package window

import (
	"errors"
	"testing"
	"time"
)

func smallKeyThrottle(o Overflow) *KeyThrottle {
	return newKeyThrottle(epoch, KeyThrottleConfig{Overflow: o}, sixteen)
}

func TestKeyThrottle(t *testing.T) {
	t.Parallel()
	k, err := NewKeyThrottle(epoch, KeyThrottleConfig{})
	if err != nil {
		t.Fatal(err)
	}
	rate := Rate{5, 1, time.Second}
	a, b := k.Hash("a"), k.Hash("b")
	for i := range 6 {
		want := Wait{OK: i < 5, Wait: min(time.Duration(i), 4) * 200 * time.Millisecond, Remaining: int64(max(4-i, 0))}
		if i == 5 {
			want.Wait = 0
		}
		_, w, untracked := k.Acquire(epoch, a, 1, rate, time.Second, true)
		if w != want || untracked {
			t.Errorf("request %d: %+v, untracked %v, want %+v", i, w, untracked, want)
		}
	}
	if w, untracked := k.Peek(epoch, b, 2, 5, rate, time.Second, true); w != (Wait{OK: true, Wait: 600 * time.Millisecond, Remaining: 5}) || untracked {
		t.Errorf("Peek of another key: %+v, untracked %v", w, untracked)
	}
	if d, ok := k.Until(epoch, a, 1, rate, 0, false); d != time.Second || !ok {
		t.Errorf("Until = %v, %v", d, ok)
	}
	for _, n := range []int64{0, -1, 6} {
		if _, w, untracked := k.Acquire(epoch, b, n, rate, time.Hour, false); w.OK || untracked {
			t.Errorf("%d hits: %+v, untracked %v", n, w, untracked)
		}
	}
	if _, w, untracked := k.Acquire(epoch, b, 1, Rate{}, time.Hour, false); w != (Wait{}) || untracked {
		t.Errorf("at no rate: %+v, untracked %v", w, untracked)
	}
	if s := k.Stats(); s.Keys != 1 || s.MaxBytes != (KeyThrottleConfig{}).MaxBytes() {
		t.Errorf("%+v", s)
	}
	if _, err := NewKeyThrottle(epoch, KeyThrottleConfig{MaxKeys: -1}); !errors.Is(err, ErrMaxKeys) {
		t.Errorf("err = %v", err)
	}
}

// TestKeyThrottleRefund: only the newest promise of a key is taken back, in an entry and without.
func TestKeyThrottleRefund(t *testing.T) {
	t.Parallel()
	rate := Rate{10, 1, time.Second}
	k := smallKeyThrottle(OverflowSketch)
	acquire := func(key Key, wait time.Duration, untracked bool) KeyPromise {
		t.Helper()
		p, w, u := k.Acquire(epoch, key, 1, rate, time.Second, false)
		if !w.OK || w.Wait != wait || u != untracked {
			t.Fatalf("%+v, untracked %v, want a wait of %v", w, u, wait)
		}
		return p
	}
	first, second := acquire(testKey(0), 0, false), acquire(testKey(0), 100*time.Millisecond, false)
	if k.Refund(epoch, first) || !k.Refund(epoch, second) || !k.Refund(epoch, first) || k.Refund(epoch, first) || k.Refund(epoch, KeyPromise{}) {
		t.Error("not the newest first, and each once")
	}
	for i := range 16 {
		acquire(testKey(i), 0, false)
	}
	a, b := testKey(20), testKey(21)
	acquire(a, 0, true)
	second = acquire(a, 100*time.Millisecond, true)
	if !k.Refund(epoch, second) || k.Refund(epoch, second) {
		t.Error("the newest promise without room, once")
	}
	second = acquire(a, 100*time.Millisecond, true)
	acquire(b, 0, true)
	if k.Refund(epoch, second) {
		t.Error("another key was promised a moment since")
	}
	acquire(a, 200*time.Millisecond, true)
	// An interval later there is room, and the key follows its last promise as long as that matters.
	third := acquire(a, 300*time.Millisecond, true)
	now := epoch + int64(time.Second)
	if _, w, u := k.Acquire(now, a, 10, rate, time.Second, false); w.Wait != 300*time.Millisecond || u {
		t.Errorf("%+v, untracked %v, want to follow the promise at 300 ms", w, u)
	}
	if k.Refund(now, third) {
		t.Error("taken back, though the key has a later promise")
	}
	checkTable(t, &k.table)
}

// TestKeyThrottleLate: a caller whose clock lies behind that of the table is promised nothing that
// lies before what it may have forgotten, and waits from its own now.
func TestKeyThrottleLate(t *testing.T) {
	t.Parallel()
	rate := Rate{1, 1, time.Second}
	for _, overflow := range []Overflow{OverflowSketch, OverflowBlock, OverflowAllow} {
		k := smallKeyThrottle(overflow)
		k.Acquire(epoch, testKey(0), 1, rate, 0, false)
		k.Maintain(epoch + int64(time.Second)) // drops it
		if k.Stats().Keys != 0 {
			t.Fatal("not dropped")
		}
		now := epoch + int64(999*time.Millisecond)
		if _, w, _ := k.Acquire(now, testKey(0), 1, rate, 0, false); w != (Wait{OK: true, Wait: time.Millisecond}) {
			t.Errorf("%d: %+v, want the moment at which the entry had expired", overflow, w)
		}
		if d, ok := k.Until(now, testKey(0), 1, rate, 0, false); d != 1001*time.Millisecond || !ok {
			t.Errorf("%d: Until = %v, %v", overflow, d, ok)
		}
	}
}
