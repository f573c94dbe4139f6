package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// keyBucketRun is a table that does not sketch, and the map without bounds of whole TokenBuckets
// that it is compared with.
type keyBucketRun struct {
	*rapid.T
	real     *KeyBucket
	twins    map[Key]*TokenBucket
	reloaded bool
	now      int64
	key      Key
	f        filling
}

// twin returns the key's bucket, and the time at which a call is served. After a change of rates an
// expired bucket is a full one, as it was at the rate of its last charge.
func (t *keyBucketRun) twin() (b *TokenBucket, at int64) {
	b = t.twins[t.key]
	if b == nil || t.reloaded && !t.real.isLive(t.now, t.key) {
		b = NewTokenBucket()
	}
	return b, t.real.served(t.now, t.key)
}

type keyBucketPermit struct {
	real KeyBucketPermit
	twin BucketPermit
}

// TestKeyBucketTwin compares every answer of a small table with those of a map without bounds.
func TestKeyBucketTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilling(t)
		c := KeyBucketConfig{
			Interval: f.rate.Interval * time.Duration(f.rate.Denominator),
			MaxKeys:  rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys"),
			Overflow: rapid.SampledFrom([]Overflow{OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
		}
		real, err := newKeyBucket(epoch, c, drawSize(t))
		if err != nil {
			t.Fatal(err)
		}
		run := &keyBucketRun{T: t, real: real, twins: map[Key]*TokenBucket{}, now: epoch, f: f}
		reloads := rapid.Bool().Draw(t, "reloads")
		var permits []keyBucketPermit
		keys := rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for range rapid.IntRange(1, 150).Draw(t, "calls") {
			if reloads && rapid.IntRange(0, 19).Draw(t, "reload") == 0 {
				run.f = drawFilling(t)
				run.f.rate.Denominator, run.f.rate.Interval = f.rate.Denominator, f.rate.Interval
				run.reloaded = true
			}
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				run.now = run.f.drawTime(t, run.now)
			}
			run.key = testKey(rapid.IntRange(0, keys-1).Draw(t, "key"))
			n := run.f.drawHits(t)
			switch rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "acquire", "refund", "release", "until", "reset", "maintain", "resize"}).Draw(t, "op") {
			case "acquire":
				if p, ok := run.acquire(n); ok {
					permits = append(permits, p)
				}
			case "refund":
				if len(permits) != 0 {
					j := rapid.IntRange(0, len(permits)-1).Draw(t, "permit")
					run.refund(permits[j])
					permits = slices.Delete(permits, j, j+1)
				}
			case "release":
				if run.real.isLive(run.now, run.key) {
					run.twins[run.key].Release(n)
				}
				run.real.Release(run.now, run.key, n)
			case "until":
				run.until(n)
			case "reset":
				twin, at := run.twin()
				want := twin.Reset(at, run.f.rate)
				if want > 0 {
					want += time.Duration(at - run.now)
				}
				if got := run.real.Reset(run.now, run.key, run.f.rate); got != want {
					t.Fatalf("Reset = %v, want %v", got, want)
				}
			case "maintain":
				run.real.Maintain(run.now)
			case "resize":
				drawResize(t, &run.real.table)
			}
			checkTable(t, &run.real.table)
		}
	})
}

// check holds a verdict to the twin's, and an untracked one to the policy.
func (t *keyBucketRun) check(what string, r, want, fresh Result) {
	t.Helper()
	if r.Untracked {
		if want != fresh {
			t.Fatalf("%s = %+v, and %+v was forgotten; a full bucket says %+v", what, r, want, fresh)
		}
		if t.real.overflow == OverflowBlock {
			want = Result{}
		}
		want.Untracked = true
	}
	if r != want {
		t.Fatalf("%s = %+v, want %+v", what, r, want)
	}
}

func (t *keyBucketRun) peek(n int64) Result {
	t.Helper()
	twin, at := t.twin()
	want := twin.Peek(at, n, t.f.rate, t.f.burst)
	fresh := NewTokenBucket().Peek(at, n, t.f.rate, t.f.burst)
	r := t.real.Peek(t.now, t.key, n, t.f.rate, t.f.burst)
	t.check("Peek", r, want, fresh)
	return r
}

func (t *keyBucketRun) acquire(n int64) (keyBucketPermit, bool) {
	size := t.real.Stats().Slots
	peek := t.peek(n)
	twin, at := t.twin()
	want := twin.Peek(at, n, t.f.rate, t.f.burst)
	p, r := t.real.TryAcquire(t.now, t.key, n, t.f.rate, t.f.burst)
	if r.Untracked != peek.Untracked && size == t.real.Stats().Slots || peek.Untracked && !r.Untracked {
		t.Fatalf("Peek %+v, then TryAcquire %+v", peek, r)
	}
	if r.Untracked || !r.OK {
		if p != (KeyBucketPermit{}) {
			t.Fatalf("%+v gave the permit %+v", r, p)
		}
		if !r.Untracked && r != want {
			t.Fatalf("TryAcquire = %+v, want %+v", r, want)
		}
		return keyBucketPermit{}, false
	}
	t.twins[t.key] = twin
	q, want := twin.TryAcquire(at, n, t.f.rate, t.f.burst)
	if r != want {
		t.Fatalf("TryAcquire = %+v, want %+v", r, want)
	}
	return keyBucketPermit{p, q}, true
}

func (t *keyBucketRun) refund(p keyBucketPermit) {
	t.key = p.real.key
	if t.real.hasEntry(t.key) {
		t.twins[t.key].Refund(p.twin)
	}
	t.real.Refund(t.now, p.real)
}

func (t *keyBucketRun) until(n int64) {
	peek := t.peek(n)
	twin, at := t.twin()
	d, ok := t.real.Until(t.now, t.key, n, t.f.rate, t.f.burst)
	want, comes := twin.Until(at, n, t.f.rate, t.f.burst)
	if want > 0 {
		want += time.Duration(at - t.now)
	}
	if peek.Untracked {
		want, comes = 0, t.real.overflow == OverflowAllow
	}
	if d != want || ok != comes {
		t.Fatalf("Until = %v, %v, want %v, %v", d, ok, want, comes)
	}
}

// charges is what one key was admitted and did not give back.
type charges []struct {
	at, n    int64
	sketched bool
}

// within is the most that lies in any span, both ends included.
func (c charges) within(span int64, sketched bool) (most int64) {
	for i := range c {
		sum := int64(0)
		for _, b := range c[i:] {
			if b.at-c[i].at <= span && (!sketched || b.sketched) {
				sum += b.n
			}
		}
		most = max(most, sum)
	}
	return most
}

// TestKeyBucketSketchBound holds what a small table admits, to keys that find room and to those
// that do not, to the bounds: twice what a bucket holds in any interval, and of what the sketch
// admitted what comes back in an interval.
func TestKeyBucketSketchBound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFilling(t)
		interval := f.rate.Interval * time.Duration(f.rate.Denominator)
		c := KeyBucketConfig{Interval: interval, MaxKeys: rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys")}
		k, err := newKeyBucket(epoch, c, drawSize(t))
		if err != nil {
			t.Fatal(err)
		}
		drawSketch(t, k.sketch, k.over.words)
		admitted := map[Key]charges{}
		now, keys := epoch, rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for i := range rapid.IntRange(1, 200).Draw(t, "calls") {
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				now = max(now, f.drawTime(t, now))
			}
			key := testKey(rapid.IntRange(0, keys-1).Draw(t, "key"))
			n := f.drawHits(t)
			peek := k.Peek(now, key, n, f.rate, f.burst)
			d, ok := k.Until(now, key, n, f.rate, f.burst)
			if ok && !k.Peek(now+int64(d), key, n, f.rate, f.burst).OK {
				t.Fatalf("call %d: not so after %v", i, d)
			}
			switch rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "acquire", "cancel", "maintain"}).Draw(t, "op") {
			case "acquire":
				size := k.Stats().Slots
				p, r := k.TryAcquire(now, key, n, f.rate, f.burst)
				if r.OK != (p != (KeyBucketPermit{})) || size == k.Stats().Slots && (r.OK != peek.OK || r.Untracked != peek.Untracked || r.OK != (ok && d == 0)) {
					t.Fatalf("call %d: %+v after Peek %+v and Until %v, %v", i, r, peek, d, ok)
				}
				if r.OK {
					admitted[key] = append(admitted[key], struct {
						at, n    int64
						sketched bool
					}{now, n, p.sketched})
				}
			case "cancel":
				before := fmt.Sprint(k.Peek(now, key, 1, f.rate, f.burst))
				p, r := k.TryAcquire(now, key, n, f.rate, f.burst)
				k.Refund(now, p)
				if after := fmt.Sprint(k.Peek(now, key, 1, f.rate, f.burst)); r.Untracked && after != before {
					t.Fatalf("call %d: %s before, %s after %+v was given back", i, before, after, p)
				}
			case "maintain":
				k.Maintain(now)
			}
			checkTable(t, &k.table)
		}
		for key, c := range admitted {
			if most, bound := c.within(int64(f.rate.Interval), false), 2*(f.rate.Limit()+f.burst); most > bound {
				t.Fatalf("key %d: %d in an interval, want at most %d: %v", key, most, bound, c)
			}
			if most := c.within(int64(interval)-1, true); most > f.rate.Limit() {
				t.Fatalf("key %d: %d without room in an interval, want at most %d: %v", key, most, f.rate.Limit(), c)
			}
		}
	})
}
