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
		Overflow: rapid.SampledFrom([]Overflow{OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
	}
	if rapid.Bool().Draw(t, "budget") {
		c.Budget = &KeyBudget{Max: 10}
	}
	return s, c, rapid.SampledFrom([]tableSize{{1, 2, 2}, {1, 1, 1}, {1, 1, 7}, {1, 2, 8}, {2, 1, 3}}).Draw(t, "size")
}

// TestKeyTableTwin compares every answer of a small table with those of a map without bounds.
func TestKeyTableTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, c, size := drawKeyTable(t)
		a := shapedKeyTable(t, s.start, c, size)
		b := twin.NewKeyTable(s.start, s.sampleCount, s.interval(), s.mode == Strict)
		var permits []keyPermit
		now, keys := s.start, rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		for i := range rapid.IntRange(1, 150).Draw(t, "calls") {
			if rapid.IntRange(0, 3).Draw(t, "moves") == 0 {
				now = drawTime(t, s, now)
			}
			id := rapid.IntRange(0, keys-1).Draw(t, "key")
			key, name := testKey(id), fmt.Sprint(id)
			n := rapid.Int64Range(0, 5).Draw(t, "n")
			limit := rapid.Int64Range(0, 12).Draw(t, "limit")
			size := a.Stats().Slots
			peek := a.Peek(now, key, n, limit)
			var got, want any
			op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "acquire", "refund", "release", "until", "reset", "maintain", "resize"}).Draw(t, "op")
			if peek.Untracked {
				checkUntracked(t, a, b, now, name, peek, limit)
			} else if ok, remaining := b.Peek(now, name, n, limit); peek != (Result{OK: ok, Remaining: remaining}) {
				t.Fatalf("call %d: Peek = %+v, want %v, %d", i, peek, ok, remaining)
			}
			switch op {
			case "acquire":
				p, r := a.TryAcquire(now, key, n, limit)
				// Peek takes it that a larger shard has room, and it may yet not be so.
				if r.Untracked != peek.Untracked && size == a.Stats().Slots || peek.Untracked && !r.Untracked {
					t.Fatalf("call %d: Peek %+v, then TryAcquire %+v", i, peek, r)
				}
				if r.Untracked {
					checkUntracked(t, a, b, now, name, r, limit)
					continue
				}
				slot, ok, remaining := b.TryAcquire(now, name, n, limit)
				got, want = r, Result{OK: ok, Remaining: remaining}
				if r.OK {
					permits = append(permits, keyPermit{p, name, slot, n})
				} else if p != (KeyPermit{}) {
					t.Fatalf("call %d: a refusal gave the permit %+v", i, p)
				}
			case "refund":
				if len(permits) == 0 {
					continue
				}
				j := rapid.IntRange(0, len(permits)-1).Draw(t, "permit")
				a.Refund(now, permits[j].real)
				b.Refund(now, permits[j].key, permits[j].slot, permits[j].n)
				permits = slices.Delete(permits, j, j+1)
			case "release":
				a.Release(now, key, n)
				b.Release(now, name, n)
			case "until":
				d, ok := a.Until(now, key, n, limit)
				e, comes := b.Until(now, name, n, limit)
				if peek.Untracked {
					e, comes = 0, a.overflow == OverflowAllow
				}
				got, want = fmt.Sprint(d, ok), fmt.Sprint(e, comes)
				if d > 0 && (a.Peek(now+int64(d)-1, key, n, limit).OK || !a.Peek(now+int64(d), key, n, limit).OK) {
					t.Fatalf("call %d: not so after %v: %+v", i, d, a.Peek(now+int64(d), key, n, limit))
				}
			case "reset":
				got, want = a.Reset(now, key), b.Reset(now, name)
			case "maintain":
				a.Maintain(now)
				b.Maintain(now)
			case "resize": // for no reason, up or down
				sh := &a.shards[rapid.IntRange(0, len(a.shards)-1).Draw(t, "shard")]
				sh.resize(rapid.IntRange(a.start, a.most).Draw(t, "groups"), a.form)
			}
			if got != want {
				t.Fatalf("call %d, %s: got %v, want %v", i, op, got, want)
			}
			checkKeyTable(t, a)
		}
	})
}

// checkUntracked holds an untracked verdict to the policy, and the table to having forgotten
// nothing: what has no entry holds no charge that counts.
func checkUntracked(t *rapid.T, a *KeyTable, b *twin.KeyTable, now int64, name string, r Result, limit int64) {
	want := Result{Untracked: true}
	if a.overflow == OverflowAllow {
		want.OK, want.Remaining = true, limit
	}
	if r != want {
		t.Fatalf("untracked: %+v, want %+v", r, want)
	}
	if held := b.Held(now, name); held != 0 {
		t.Fatalf("key %s is untracked and holds %d", name, held)
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
