package window

import (
	"errors"
	"testing"
	"time"
)

func smallKeyBucket(t *testing.T, o Overflow, interval time.Duration) *KeyBucket {
	t.Helper()
	k, err := newKeyBucket(epoch, KeyBucketConfig{Interval: interval, Overflow: o}, sixteen)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeyBucket(t *testing.T) {
	t.Parallel()
	c := KeyBucketConfig{Interval: time.Second}
	k, err := NewKeyBucket(epoch, c)
	if err != nil {
		t.Fatal(err)
	}
	rate := Rate{3, 1, time.Second}
	a := k.Hash("a")
	p, r := k.TryAcquire(epoch, a, 2, rate, 2)
	if r != (Result{OK: true, Remaining: 3}) {
		t.Errorf("%+v", r)
	}
	if _, r := k.TryAcquire(epoch, a, 4, rate, 2); r != (Result{Remaining: 3}) {
		t.Errorf("%+v", r)
	}
	if d, ok := k.Until(epoch, a, 4, rate, 2); d != 1001*time.Millisecond || !ok {
		t.Errorf("Until = %v, %v", d, ok)
	}
	if d := k.Reset(epoch, a, rate); d != 1001*time.Millisecond {
		t.Errorf("Reset = %v", d)
	}
	k.Refund(epoch, p)
	k.Refund(epoch, KeyBucketPermit{})
	if r := k.Peek(epoch, a, 1, rate, 2); r != (Result{OK: true, Remaining: 5}) {
		t.Errorf("%+v after the refund", r)
	}
	k.TryAcquire(epoch, a, 5, rate, 2)
	k.Release(epoch, a, 4)
	k.Release(epoch, k.Hash("b"), 4)
	if r := k.Peek(epoch, a, 1, rate, 2); r != (Result{OK: true, Remaining: 4}) {
		t.Errorf("%+v after the release", r)
	}
	for _, n := range []int64{0, -1, 6} {
		if _, r := k.TryAcquire(epoch, k.Hash("b"), n, rate, 2); r != (Result{Remaining: 5}) {
			t.Errorf("%d hits: %+v", n, r)
		}
		if d, ok := k.Until(epoch, k.Hash("b"), n, rate, 2); d != 0 || ok {
			t.Errorf("%d hits: Until = %v, %v", n, d, ok)
		}
	}
	if _, r := k.TryAcquire(epoch, a, 1, Rate{}, 9); r != (Result{}) {
		t.Errorf("at no rate: %+v", r)
	}
	if s := k.Stats(); s.Keys != 1 || s.MaxBytes != c.MaxBytes() {
		t.Errorf("%+v, want at most %d bytes", s, c.MaxBytes())
	}
	for _, test := range []struct {
		c    KeyBucketConfig
		want error
	}{
		{KeyBucketConfig{}, ErrShape},
		{KeyBucketConfig{Interval: time.Microsecond}, ErrShape},
		{KeyBucketConfig{Interval: time.Second, MaxKeys: MaxMaxKeys + 1}, ErrMaxKeys},
	} {
		if _, err := NewKeyBucket(epoch, test.c); !errors.Is(err, test.want) {
			t.Errorf("%+v: %v", test.c, err)
		}
	}
}

// TestKeyBucketExpiry: an entry is full again at the rate of its last charge, and no earlier, whether
// it has been dropped or not.
func TestKeyBucketExpiry(t *testing.T) {
	t.Parallel()
	rate := Rate{2, 1, time.Second}
	for _, test := range []struct {
		name  string
		n     int64
		after time.Duration
	}{
		{"one token", 1, 1001 * time.Millisecond},
		{"an interval's", 2, 1001 * time.Millisecond},
		{"three intervals'", 6, 3000 * time.Millisecond},
	} {
		for _, drop := range []bool{false, true} {
			k := smallKeyBucket(t, OverflowBlock, time.Second)
			k.TryAcquire(epoch, 1, test.n, rate, 4)
			before, at := epoch+int64(test.after)-1, epoch+int64(test.after)
			if k.Maintain(before); k.Stats().Keys != 1 {
				t.Errorf("%s: dropped a nanosecond early", test.name)
			}
			if r := k.Peek(before, 1, 6, rate, 4); r.OK {
				t.Errorf("%s: full a nanosecond early", test.name)
			}
			if drop {
				if k.Maintain(at); k.Stats().Keys != 0 {
					t.Errorf("%s: not dropped", test.name)
				}
			}
			// At a slower rate too: it was full before that was asked for.
			if r := k.Peek(at, 1, 5, Rate{1, 1, time.Second}, 4); !r.OK {
				t.Errorf("%s, dropped %v: %+v, want a full bucket", test.name, drop, r)
			}
		}
	}
}

// TestKeyBucketWithoutRoom: what no bucket would hold is refused as such, and of a fraction an
// interval the window admits no more than comes back in one of its own.
func TestKeyBucketWithoutRoom(t *testing.T) {
	t.Parallel()
	rate := Rate{5, 2, time.Second}
	k := smallKeyBucket(t, OverflowSketch, 2*time.Second)
	for i := range 16 {
		k.TryAcquire(epoch, testKey(i), 3, rate, 0)
	}
	key := testKey(16)
	if _, r := k.TryAcquire(epoch, key, 9, rate, 4); r != (Result{Remaining: 7}) {
		t.Errorf("above what a bucket holds: %+v", r)
	}
	if _, r := k.TryAcquire(epoch, key, 4, rate, 4); r != (Result{Remaining: 3, Untracked: true}) {
		t.Errorf("above what the window holds: %+v", r)
	}
	if d, ok := k.Until(epoch, key, 4, rate, 4); d != 0 || ok {
		t.Errorf("Until = %v, %v for what has no room", d, ok)
	}
	p, r := k.TryAcquire(epoch, key, 2, rate, 0)
	if r != (Result{OK: true, Remaining: 1, Untracked: true}) {
		t.Errorf("%+v", r)
	}
	if d, ok := k.Until(epoch, key, 2, rate, 0); d != 3*time.Second || !ok {
		t.Errorf("Until = %v, %v, want until the slot of a second has left with the two after it", d, ok)
	}
	if d := k.Reset(epoch, key, rate); d != 3*time.Second {
		t.Errorf("Reset = %v", d)
	}
	k.Release(epoch, key, 2)
	if r := k.Peek(epoch, key, 2, rate, 0); r.OK {
		t.Errorf("%+v after a release that cannot know", r)
	}
	k.Refund(epoch, p)
	if r := k.Peek(epoch, key, 3, rate, 0); r != (Result{OK: true, Remaining: 3, Untracked: true}) {
		t.Errorf("%+v after the refund", r)
	}
}
