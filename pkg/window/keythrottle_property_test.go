package window

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// keyThrottleRun is a table, and the map without bounds of whole Throttles that it is compared with.
type keyThrottleRun struct {
	*rapid.T
	real  *KeyThrottle
	twins map[Key]*Throttle
	// shared: answers may be later than the twin's, because sketches are shared or round up.
	shared bool
	now    int64
	key    Key
	p      pacing
}

func (t *keyThrottleRun) twin() *Throttle {
	if t.twins[t.key] == nil {
		t.twins[t.key] = NewThrottle()
	}
	return t.twins[t.key]
}

type keyPromise struct {
	real KeyPromise
	twin Promise
}

// TestKeyThrottleTwin compares every answer of a small table with those of a map without bounds.
func TestKeyThrottleTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := KeyThrottleConfig{
			MaxKeys:  rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys"),
			Overflow: rapid.SampledFrom([]Overflow{OverflowSketch, OverflowSketch, OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
		}
		run := &keyThrottleRun{T: t, real: newKeyThrottle(epoch, c, drawSize(t)), twins: map[Key]*Throttle{}, now: epoch, p: drawPacing(t)}
		first := run.p.rate
		run.shared = run.p.rate.Count > 10 || run.p.rate.Interval < time.Second // then costs are no whole nanoseconds
		if c.Overflow == OverflowSketch && drawSketch(t, run.real.sketch, promiseCell) {
			run.shared = true
		}
		if !run.shared {
			first.Interval *= 2520
			run.p.rate = first
		}
		var promises []keyPromise
		keys := rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for range rapid.IntRange(1, 150).Draw(t, "calls") {
			if rapid.IntRange(0, 19).Draw(t, "reload") == 0 {
				run.p = drawPacing(t)
				run.p.rate.Denominator, run.p.rate.Interval = first.Denominator, first.Interval
				if !run.shared {
					run.p.rate.Count = min(run.p.rate.Count, 10)
				}
			}
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				run.now = max(run.p.drawTime(t, run.now), epoch)
			}
			run.key = testKey(rapid.IntRange(0, keys-1).Draw(t, "key"))
			n := drawHits(t, run.p.rate)
			switch rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "acquire", "peek", "refund", "until", "maintain", "resize"}).Draw(t, "op") {
			case "acquire":
				if p, ok := run.acquire(n); ok {
					promises = append(promises, p)
				}
			case "peek":
				run.peek(n, n+rapid.Int64Range(-1, 3).Draw(t, "more"))
			case "refund":
				if len(promises) != 0 {
					j := rapid.IntRange(0, len(promises)-1).Draw(t, "promise")
					run.refund(promises[j])
					promises = slices.Delete(promises, j, j+1)
				}
			case "until":
				run.until(n)
			case "maintain":
				run.real.Maintain(run.now)
			case "resize":
				drawResize(t, &run.real.table)
			}
			checkTable(t, &run.real.table)
		}
	})
}

// check holds an answer to the twin's, and an untracked one to the policy.
func (t *keyThrottleRun) check(what string, w Wait, untracked bool, want, fresh Wait) {
	t.Helper()
	switch {
	case untracked && t.real.overflow != OverflowSketch:
		if t.real.overflow == OverflowBlock {
			want = Wait{}
		}
		if w != want || want != fresh && want != (Wait{}) {
			t.Fatalf("%s = %+v, want %+v; nothing promised: %+v", what, w, want, fresh)
		}
	case t.shared && t.real.overflow == OverflowSketch:
		if w.OK && (!want.OK || w.Wait < want.Wait) || w.Remaining > want.Remaining {
			t.Fatalf("%s = %+v, more than %+v", what, w, want)
		}
	case w != want:
		t.Fatalf("%s = %+v, %v, want %+v", what, w, untracked, want)
	}
}

// expect returns what the twin, and what a Throttle that has promised nothing, answer at the time
// that a call is served at.
func (t *keyThrottleRun) expect(first, total int64) (at int64, want, fresh Wait) {
	at = t.real.served(t.now, t.key)
	want = late(t.twin().Peek(at, first, total, t.p.rate, t.p.maxWait, t.p.strict), t.now, at)
	fresh = late(NewThrottle().Peek(at, first, total, t.p.rate, t.p.maxWait, t.p.strict), t.now, at)
	return at, want, fresh
}

func (t *keyThrottleRun) peek(first, total int64) (Wait, bool) {
	t.Helper()
	_, want, fresh := t.expect(first, total)
	w, untracked := t.real.Peek(t.now, t.key, first, total, t.p.rate, t.p.maxWait, t.p.strict)
	t.check("Peek", w, untracked, want, fresh)
	return w, untracked
}

func (t *keyThrottleRun) acquire(n int64) (keyPromise, bool) {
	size := t.real.Stats().Slots
	peek, peeked := t.peek(n, n)
	at, want, fresh := t.expect(n, n)
	p, w, untracked := t.real.Acquire(t.now, t.key, n, t.p.rate, t.p.maxWait, t.p.strict)
	if untracked != peeked && size == t.real.Stats().Slots || peeked && !untracked || untracked == peeked && (w.OK != peek.OK || w.Wait != peek.Wait) {
		t.Fatalf("Peek %+v, %v, then Acquire %+v, %v", peek, peeked, w, untracked)
	}
	w.Remaining, want.Remaining, fresh.Remaining = 0, 0, 0 // Peek's have been compared
	t.check("Acquire", w, untracked, want, fresh)
	if p == (KeyPromise{}) {
		if w.OK && (!untracked || t.real.overflow != OverflowAllow) {
			t.Fatalf("%+v without a promise", w)
		}
		return keyPromise{}, false
	}
	if !w.OK || untracked != (p.sketched != 0) || untracked == t.real.hasEntry(t.key) {
		t.Fatalf("%+v, %v gave the promise %+v", w, untracked, p)
	}
	q, _ := t.twin().Acquire(at, n, t.p.rate, t.p.maxWait, t.p.strict)
	return keyPromise{p, q}, true
}

func (t *keyThrottleRun) refund(p keyPromise) {
	t.key = p.real.key
	live := t.real.isLive(t.now, t.key)
	if t.real.Refund(t.now, p.real) {
		if !t.twin().Refund(t.now, p.twin) {
			t.Fatalf("%+v was taken back, and is not the newest promise", p)
		}
		return
	}
	// Of promises in the sketch, not every newest one of its key can be taken back; and an entry that
	// was made anew may start from the promises of others.
	if p.real.sketched == 0 && t.twin().state == p.twin.after && live && !t.shared {
		t.Fatalf("%+v is the newest promise, and was not taken back", p)
	}
}

func (t *keyThrottleRun) until(n int64) {
	_, untracked := t.peek(n, n)
	at := t.real.served(t.now, t.key)
	d, ok := t.real.Until(t.now, t.key, n, t.p.rate, t.p.maxWait, t.p.strict)
	want, comes := t.twin().Until(at, n, t.p.rate, t.p.maxWait, t.p.strict)
	if want > 0 {
		want += time.Duration(at - t.now)
	}
	if untracked && t.real.overflow != OverflowSketch {
		want, comes = 0, t.real.overflow == OverflowAllow
	}
	less := t.shared && t.real.overflow == OverflowSketch
	if ok != comes || d < want || d != want && !less {
		t.Fatalf("Until = %v, %v, want %v, %v", d, ok, want, comes)
	}
}
