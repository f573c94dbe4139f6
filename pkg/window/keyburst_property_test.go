package window

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// keyBurstTwin is one key's Burst, in which only charges move the window: the twin of a window, and
// a bucket beside it.
type keyBurstTwin struct {
	window *twin.KeyTable
	bucket gcraState
	log    []*keyBurstCharge
}

// keyBurstCharge is n tokens taken; n is 0 once they were refunded.
type keyBurstCharge struct{ at, n int64 }

// replay makes the bucket what it would be if what was refunded had never been taken. That is more
// than a Burst gives back, and what a sketch does.
func (b *keyBurstTwin) replay(count int64, interval time.Duration) {
	b.bucket = gcraState{}
	for _, c := range b.log {
		if c.n != 0 {
			b.bucket = b.bucket.take(c.at, c.n, count, int64(interval))
		}
	}
}

// keyBurstRun is a table, and the map without bounds that it is compared with.
type keyBurstRun struct {
	*rapid.T
	shape
	real         *KeyBurst
	twins        map[Key]*keyBurstTwin
	shared       bool // answers may be less than the twin's
	now          int64
	key          Key
	count, burst int64
}

func (t *keyBurstRun) twin() *keyBurstTwin {
	if t.twins[t.key] == nil {
		// It starts long ago, so that its first call sets its clock, which may be a late one.
		t.twins[t.key] = &keyBurstTwin{window: twin.NewKeyTable(0, t.sampleCount, t.interval(), t.mode == Strict)}
	}
	return t.twins[t.key]
}

func (b *keyBurstTwin) peek(at, n, count, burst int64, interval time.Duration) Result {
	_, left := b.window.Peek(at, "", n, count+burst)
	if count == 0 {
		return Result{}
	}
	b.bucket = b.bucket.carry(at, count)
	left = min(left, b.bucket.room(at, count, burst, int64(interval)))
	return Result{OK: n > 0 && n <= left, Remaining: left}
}

// charge charges n, which fit, and returns what to refund.
func (b *keyBurstTwin) charge(at, n, count, burst int64, interval time.Duration) keyBurstPermit {
	slot, _, _ := b.window.TryAcquire(at, "", n, count+burst)
	before := b.bucket
	b.bucket = before.take(at, n, count, int64(interval))
	b.log = append(b.log, &keyBurstCharge{at, n})
	return keyBurstPermit{charge: b.log[len(b.log)-1], slot: slot, n: n, before: before, after: b.bucket}
}

// served is the time at which a call is served: where the sketch is asked, it has a clock too.
func (t *keyBurstRun) served() int64 {
	at := t.real.served(t.now, t.key)
	if t.real.over.used.Load() && !t.real.hasEntry(t.key) {
		at = max(at, int64(t.real.over.newest))
	}
	return at
}

type keyBurstPermit struct {
	real          KeyBurstPermit
	charge        *keyBurstCharge
	slot, n       int64
	before, after gcraState
}

// TestKeyBurstTwin compares every answer of a small table with those of a map without bounds. What
// the sketch admits, the twin would admit too.
func TestKeyBurstTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawBurstShape(t)
		c := KeyBurstConfig{
			SampleCount: s.sampleCount, Interval: s.interval(), Mode: s.mode,
			MaxKeys:  rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys"),
			Overflow: rapid.SampledFrom([]Overflow{OverflowSketch, OverflowSketch, OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
		}
		real, err := newKeyBurst(s.start, c, drawSize(t))
		if err != nil {
			t.Fatal(err)
		}
		run := &keyBurstRun{T: t, shape: s, real: real, twins: map[Key]*keyBurstTwin{}, now: s.start}
		if run.shared = c.Overflow == OverflowSketch; run.shared {
			drawSketch(t, real.sketch, real.over.words)
		}
		run.count, run.burst = drawBurst(t)
		var permits []keyBurstPermit
		keys := rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for range rapid.IntRange(1, 150).Draw(t, "calls") {
			if !run.shared && rapid.IntRange(0, 19).Draw(t, "reload") == 0 {
				run.count, run.burst = drawBurst(t)
			}
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				run.now = drawBurstTime(t, s, run.now, run.count)
			}
			run.key = testKey(rapid.IntRange(0, keys-1).Draw(t, "key"))
			n := rapid.Int64Range(0, 6).Draw(t, "n")
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
				if run.shared { // a refund may give back once more what was released
					continue
				}
				if run.real.isLive(run.now, run.key) {
					b := run.twin()
					b.window.Release(run.now, "", n)
					b.bucket = b.bucket.release(run.now, n, int64(run.interval()))
				}
				run.real.Release(run.now, run.key, n)
			case "until":
				run.until(n)
			case "reset":
				at := run.real.served(run.now, run.key)
				want := run.twin().window.Reset(at, "")
				if want > 0 {
					want += time.Duration(at - run.now)
				}
				if got := run.real.Reset(run.now, run.key); got != want && !run.shared {
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
func (t *keyBurstRun) check(what string, r, want, fresh Result) {
	t.Helper()
	if t.shared {
		if r.OK && !want.OK || r.Remaining > want.Remaining {
			t.Fatalf("%s = %+v, more than %+v", what, r, want)
		}
		return
	}
	if r.Untracked {
		if want != fresh {
			t.Fatalf("%s = %+v, and %+v was forgotten; an empty one says %+v", what, r, want, fresh)
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

func (t *keyBurstRun) peek(n int64) (r, want Result) {
	t.Helper()
	at := t.served()
	b := t.twin()
	if !t.real.isLive(t.now, t.key) { // then no bucket is carried to another count
		b = &keyBurstTwin{window: b.window, bucket: b.bucket}
	}
	want = b.peek(at, n, t.count, t.burst, t.interval())
	fresh := (&keyBurstTwin{window: twin.NewKeyTable(at, t.sampleCount, t.interval(), false)}).peek(at, n, t.count, t.burst, t.interval())
	r = t.real.Peek(t.now, t.key, n, t.count, t.burst)
	t.check("Peek", r, want, fresh)
	return r, want
}

func (t *keyBurstRun) acquire(n int64) (keyBurstPermit, bool) {
	size := t.real.Stats().Slots
	t.peek(n) // which may carry the bucket to another count, whereupon the entry expires earlier
	peek, want := t.peek(n)
	at, live := t.served(), t.real.isLive(t.now, t.key)
	p, r := t.real.TryAcquire(t.now, t.key, n, t.count, t.burst)
	if r.Untracked != peek.Untracked && size == t.real.Stats().Slots || peek.Untracked && !r.Untracked || peek.Untracked == r.Untracked && peek.OK != r.OK {
		t.Fatalf("Peek %+v, then TryAcquire %+v", peek, r)
	}
	if p == (KeyBurstPermit{}) {
		if r.OK && (!r.Untracked || t.real.overflow != OverflowAllow) {
			t.Fatalf("%+v without a permit", r)
		}
		return keyBurstPermit{}, false
	}
	if !r.OK || p.sketched != r.Untracked || r.Untracked == t.real.hasEntry(t.key) {
		t.Fatalf("%+v gave the permit %+v", r, p)
	}
	if want.Remaining -= n; !want.OK || r.Remaining > want.Remaining || !t.shared && r.Remaining != want.Remaining {
		t.Fatalf("TryAcquire = %+v, want %+v", r, want)
	}
	if full := &t.twin().bucket.full; !live && full.up() <= at {
		*full = instant{ns: at, of: uint32(t.count)} // the table does not know when it was
	}
	q := t.twin().charge(at, n, t.count, t.burst, t.interval())
	if uint64(q.slot) != p.slot && !(t.shared && uint64(q.slot) < p.slot) {
		t.Fatalf("charged slot %d, want %d", p.slot, q.slot)
	}
	q.real = p
	return q, true
}

func (t *keyBurstRun) refund(p keyBurstPermit) {
	t.key = p.real.key
	b := t.twin()
	if t.shared || t.real.isLive(t.now, t.key) {
		at := t.now
		if t.shared { // the sketch gives back for one slot longer, which nobody counts
			at = p.slot * int64(t.width)
		}
		b.window.Refund(at, "", p.slot, p.n)
		p.charge.n = 0
		if t.shared {
			b.replay(t.count, t.interval())
		} else if b.bucket == p.after {
			b.bucket = p.before
		}
	}
	t.real.Refund(t.now, p.real)
}

func (t *keyBurstRun) until(n int64) {
	t.peek(n) // as in acquire
	peek, _ := t.peek(n)
	d, ok := t.real.Until(t.now, t.key, n, t.count, t.burst)
	if ok && d == 0 && !peek.OK && t.real.overflow != OverflowAllow {
		t.Fatalf("Until = %v, %v, and Peek %+v", d, ok, peek)
	}
	// Without room, an entry of another key may expire meanwhile.
	early := d > 0 && !peek.Untracked && t.real.Peek(t.now+int64(d)-1, t.key, n, t.count, t.burst).OK
	if d > 0 && (early || !t.real.Peek(t.now+int64(d), t.key, n, t.count, t.burst).OK) {
		t.Fatalf("not so after %v: %+v", d, t.real.Peek(t.now+int64(d), t.key, n, t.count, t.burst))
	}
	if ok != (n > 0 && t.count > 0 && n <= t.count+t.burst) && !peek.Untracked {
		t.Fatalf("Until = %v, %v for %d of %d + %d", d, ok, n, t.count, t.burst)
	}
}
