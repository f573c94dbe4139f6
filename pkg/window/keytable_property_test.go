package window

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// keyPermit is a permit, and what the twin needs to refund it.
type keyPermit struct {
	real KeyPermit
	key  string
	slot int64
	n    int64
}

// drawKeyTable draws a table of one or two shards that has 8 or 16 slots at first.
func drawKeyTable(t *rapid.T) (shape, KeyTableConfig, tableSize) {
	s := shape{
		sampleCount: rapid.SampledFrom([]int{1, 2, 3, 10}).Draw(t, "sampleCount"),
		width:       rapid.SampledFrom([]time.Duration{16 * time.Millisecond, 500 * time.Millisecond, time.Hour}).Draw(t, "width"),
		mode:        rapid.SampledFrom([]Mode{Aligned, Strict}).Draw(t, "mode"),
		start:       epoch + rapid.Int64Range(0, int64(time.Hour)).Draw(t, "start"),
	}
	if rapid.Bool().Draw(t, "wrap") { // shortly before the tags wrap
		lap := int64(s.width) << 16
		s.start = (epoch/lap+1)*lap - rapid.Int64Range(0, 3*int64(s.interval())).Draw(t, "before")
	}
	c := KeyTableConfig{
		SampleCount: s.sampleCount, Interval: s.interval(), Mode: s.mode,
		Layout:   LayoutFor(s.sampleCount, s.mode, rapid.SampledFrom([]int64{20, MaxLimit}).Draw(t, "largest")),
		MaxKeys:  rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys"),
		Overflow: rapid.SampledFrom([]Overflow{OverflowSketch, OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
	}
	if rapid.Bool().Draw(t, "budget") {
		c.Budget = &KeyBudget{Max: 10}
	}
	return s, c, drawSize(t)
}

// keyTableRun is a table, and the map without bounds that it is compared with.
type keyTableRun struct {
	*rapid.T
	real   *KeyTable
	twin   *twin.KeyTable
	shared bool // answers may be less than the twin's
	now    int64
	key    Key
	name   string
	n      int64
	limit  int64
}

// TestKeyTableTwin compares every answer of a small table with those of a map without bounds.
func TestKeyTableTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, c, size := drawKeyTable(t)
		run := &keyTableRun{T: t, real: shapedKeyTable(t, s.start, c, size), now: s.start}
		run.twin = twin.NewKeyTable(s.start, s.sampleCount, s.interval(), s.mode == Strict)
		if c.Overflow == OverflowSketch {
			run.shared = drawSketch(t, run.real.sketch, run.real.over.words)
		}
		var permits []keyPermit
		keys := rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for range rapid.IntRange(1, 150).Draw(t, "calls") {
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				run.now = drawTime(t, s, run.now)
			}
			id := rapid.IntRange(0, keys-1).Draw(t, "key")
			run.key, run.name = testKey(id), fmt.Sprint(id)
			run.n = rapid.Int64Range(0, 5).Draw(t, "n")
			run.limit = rapid.Int64Range(0, 12).Draw(t, "limit")
			switch op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "acquire", "refund", "release", "until", "reset", "maintain", "resize"}).Draw(t, "op"); op {
			case "acquire":
				if p, ok := run.acquire(); ok {
					permits = append(permits, p)
				}
			case "refund":
				if len(permits) != 0 {
					j := rapid.IntRange(0, len(permits)-1).Draw(t, "permit")
					run.refund(permits[j])
					permits = slices.Delete(permits, j, j+1)
				}
			case "release":
				if run.real.hasEntry(run.key) {
					run.twin.Release(run.now, run.name, run.n)
				}
				run.real.Release(run.now, run.key, run.n)
			case "until":
				run.until()
			case "reset":
				got, want := run.real.Reset(run.now, run.key), run.twin.Reset(run.now, run.name)
				if got != want && !run.shared {
					t.Fatalf("Reset = %v, want %v", got, want)
				}
			case "maintain":
				run.real.Maintain(run.now)
				run.twin.Maintain(run.now)
			case "resize":
				drawResize(t, &run.real.table)
			}
			checkTable(t, &run.real.table)
		}
	})
}

// check holds a verdict to the twin's, and an untracked one to the policy.
func (t *keyTableRun) check(what string, r Result, ok bool, remaining int64) {
	t.Helper()
	switch {
	case r.Untracked && t.real.hasEntry(t.key):
		t.Fatalf("%s = %+v, and the key has an entry", what, r)
	case r.Untracked && t.real.overflow != OverflowSketch:
		want := Result{Untracked: true}
		if t.real.overflow == OverflowAllow {
			want.OK, want.Remaining = true, t.limit
		}
		if r != want {
			t.Fatalf("%s = %+v, want %+v", what, r, want)
		}
		// Nothing that counts was forgotten.
		if held := t.twin.Held(t.now, t.name); held != 0 {
			t.Fatalf("key %s is untracked and holds %d", t.name, held)
		}
	case t.shared && (r.OK && !ok || r.Remaining > remaining):
		t.Fatalf("%s = %+v, more than %v, %d", what, r, ok, remaining)
	case !t.shared && (r.OK != ok || r.Remaining != remaining):
		t.Fatalf("%s = %+v, want %v, %d", what, r, ok, remaining)
	}
}

func (t *keyTableRun) acquire() (keyPermit, bool) {
	size := t.real.Stats().Slots
	peek := t.real.Peek(t.now, t.key, t.n, t.limit)
	ok, remaining := t.twin.Peek(t.now, t.name, t.n, t.limit)
	t.check("Peek", peek, ok, remaining)
	p, r := t.real.TryAcquire(t.now, t.key, t.n, t.limit)
	// Peek takes it that a larger shard has room, and it may yet not be so.
	if r.Untracked != peek.Untracked && size == t.real.Stats().Slots || peek.Untracked && !r.Untracked {
		t.Fatalf("Peek %+v, then TryAcquire %+v", peek, r)
	}
	if r.OK {
		remaining -= t.n
	}
	t.check("TryAcquire", r, ok, remaining)
	if p == (KeyPermit{}) {
		if r.OK && (!r.Untracked || t.real.overflow != OverflowAllow) {
			t.Fatalf("%+v without a permit", r)
		}
		return keyPermit{}, false
	}
	if !r.OK || p.sketched != r.Untracked {
		t.Fatalf("%+v gave the permit %+v", r, p)
	}
	slot, _, _ := t.twin.TryAcquire(t.now, t.name, t.n, t.limit)
	if uint64(slot) != p.seq {
		t.Fatalf("charged slot %d, want %d", p.seq, slot)
	}
	return keyPermit{p, t.name, slot, t.n}, true
}

func (t *keyTableRun) refund(p keyPermit) {
	// What an entry took over from the sketch is not given back.
	if !p.real.sketched || !t.real.hasEntry(p.real.key) {
		t.twin.Refund(t.now, p.key, p.slot, p.n)
	}
	t.real.Refund(t.now, p.real)
}

func (t *keyTableRun) until() {
	peek := t.real.Peek(t.now, t.key, t.n, t.limit)
	d, ok := t.real.Until(t.now, t.key, t.n, t.limit)
	want, comes := t.twin.Until(t.now, t.name, t.n, t.limit)
	if peek.Untracked && t.real.overflow != OverflowSketch {
		want, comes = 0, t.real.overflow == OverflowAllow
	}
	if ok != comes || !t.shared && d != want || d < want {
		t.Fatalf("Until = %v, %v, want %v, %v", d, ok, want, comes)
	}
	if d > 0 && (t.real.Peek(t.now+int64(d)-1, t.key, t.n, t.limit).OK || !t.real.Peek(t.now+int64(d), t.key, t.n, t.limit).OK) {
		t.Fatalf("not so after %v: %+v", d, t.real.Peek(t.now+int64(d), t.key, t.n, t.limit))
	}
}

// TestKeyTableLateMaintain lets tags wrap, any number of times and with nothing maintained: a table
// of words may refuse in error then, but never admits more than it should.
func TestKeyTableLateMaintain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := KeyTableConfig{SampleCount: rapid.IntRange(1, 2).Draw(t, "sampleCount"), Layout: LayoutWord}
		c.Interval = time.Duration(c.SampleCount) * 16 * time.Millisecond
		a := smallKeyTable(t, epoch, c)
		b := twin.NewKeyTable(epoch, c.SampleCount, c.Interval, false)
		now := epoch
		for i := range rapid.IntRange(1, 80).Draw(t, "calls") {
			jump := rapid.SampledFrom([]int64{0, 0, 1, 1, 2, 1<<15 - 1, 1 << 15, 1<<16 - 1, 1 << 16, 1<<16 + 1, 5 << 16}).Draw(t, "slots")
			now += jump * int64(16*time.Millisecond)
			id := rapid.IntRange(0, 25).Draw(t, "key")
			n := rapid.Int64Range(1, 5).Draw(t, "n")
			if ok, _ := b.Peek(now, fmt.Sprint(id), n, 6); !ok && a.Peek(now, testKey(id), n, 6).OK {
				t.Fatalf("call %d: Peek would admit too much", i)
			}
			if rapid.IntRange(0, 9).Draw(t, "maintain") == 0 {
				a.Maintain(now)
				b.Maintain(now)
			}
			p, r := a.TryAcquire(now, testKey(id), n, 6)
			if !r.OK {
				continue
			}
			slot, ok, _ := b.TryAcquire(now, fmt.Sprint(id), n, 6)
			if !ok {
				t.Fatalf("call %d: admitted too much", i)
			}
			if rapid.IntRange(0, 4).Draw(t, "refund") == 0 {
				a.Refund(now, p)
				b.Refund(now, fmt.Sprint(id), slot, n)
			}
		}
	})
}
