package window

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

func newSlotSketch(columns, live int, width uint64) *slotSketch {
	s := &slotSketch{width: width, live: live}
	s.init(8*columns, slotCell(live), maphash.MakeSeed())
	s.columns = uint64(columns)
	return s
}

// TestSlotSketchTwin compares a sketch with a window for each key: it never counts less, and where
// no two keys share a cell exactly as much, slot by slot.
func TestSlotSketchTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		live := rapid.SampledFrom([]int{1, 2, 3, 11, MaxSampleCount + 1}).Draw(t, "live")
		width := rapid.SampledFrom([]int64{1, 1000}).Draw(t, "width")
		shared := rapid.Bool().Draw(t, "shared")
		columns := 4096
		if shared {
			columns = rapid.IntRange(1, 4).Draw(t, "columns")
		}
		s := newSlotSketch(columns, live, uint64(width))
		s.salt = 3
		// Shortly before slot numbers wrap in 32 bits, or anywhere.
		now := rapid.SampledFrom([]int64{1000, 1<<32 - 3, 1_750_000_000_000}).Draw(t, "slot") * width
		truth := twin.NewKeyTable(0, live, time.Duration(live)*time.Duration(width), false)
		type charge struct {
			key  int
			slot uint64
			n    int64
		}
		var charges []charge
		least := 100 * width
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			switch rapid.SampledFrom([]string{"stay", "stay", "little", "slots", "far", "back"}).Draw(t, "move") {
			case "little":
				now += rapid.Int64Range(1, width).Draw(t, "by")
			case "slots":
				now += rapid.Int64Range(1, int64(live)+1).Draw(t, "slots") * width
			case "far":
				now += rapid.Int64Range(1, 1<<20).Draw(t, "slots") * width
			case "back":
				now -= rapid.Int64Range(1, 3*int64(live)*width).Draw(t, "by")
			}
			now = max(now, least)
			id := rapid.IntRange(0, 20).Draw(t, "key")
			key, name := testKey(id), fmt.Sprint(id)
			n, limit := rapid.Int64Range(1, 5).Draw(t, "n"), rapid.Int64Range(0, 20).Draw(t, "limit")
			var h history
			at := int64(s.look(key, uint64(now), &h))
			if want := max(now, int64(s.newest)); at != want && s.used.Load() {
				t.Fatalf("looked at %d, want %d", at, want)
			}
			held := truth.Held(at, name)
			if h.total < held || !shared && h.total != held {
				t.Fatalf("%d counted, %d held", h.total, held)
			}
			switch rapid.SampledFrom([]string{"charge", "charge", "refund", "drop"}).Draw(t, "op") {
			case "charge":
				slot, r := s.charge(key, uint64(now), n, limit)
				ok, left := truth.Peek(at, name, n, limit)
				if r.OK {
					var other int64
					if other, _, left = truth.TryAcquire(at, name, n, limit); int64(slot) != other {
						t.Fatalf("slot %d, want %d", slot, other)
					}
					charges = append(charges, charge{id, slot, n})
				}
				if r.OK && !ok || r.Remaining > left || !shared && (r.OK != ok || r.Remaining != left) {
					t.Fatalf("charge(%d, %d) = %+v, want %v, %d", n, limit, r, ok, left)
				}
			case "refund":
				if len(charges) == 0 {
					continue
				}
				i := rapid.IntRange(0, len(charges)-1).Draw(t, "charge")
				c := charges[i]
				s.refund(testKey(c.key), uint64(now), c.slot, c.n)
				truth.Refund(at, fmt.Sprint(c.key), int64(c.slot), c.n)
				charges = slices.Delete(charges, i, i+1)
			case "drop":
				// No caller comes before the clock by which it was dropped.
				if s.drop(uint64(at)); !s.used.Load() {
					least = at
				}
			}
		}
	})
}

// TestSlotSketchFull: a count that was as high as counts go stays there, whatever is given back, and
// so is never less than what one of its keys holds.
func TestSlotSketchFull(t *testing.T) {
	t.Parallel()
	s := newSlotSketch(64, 2, 1)
	var keys []Key // that share their cells in the first row, and no other
	cells := map[int]bool{}
	for i := 0; len(keys) < 3; i++ {
		at := s.places(testKey(i))
		if at[0] != s.places(testKey(0))[0] || cells[at[1]] || cells[at[2]] || cells[at[3]] {
			continue
		}
		cells[at[1]], cells[at[2]], cells[at[3]] = true, true, true
		keys = append(keys, testKey(i))
	}
	for _, k := range keys {
		if _, r := s.charge(k, 0, MaxLimit, MaxLimit); !r.OK {
			t.Fatalf("%+v: two keys share all their cells", r)
		}
	}
	count := &s.cells[s.places(keys[0])[0]+1]
	if *count != math.MaxUint32 {
		t.Fatalf("%d counted, want no more than fits", *count)
	}
	s.refund(keys[0], 0, 0, MaxLimit)
	s.refund(keys[1], 0, 0, MaxLimit)
	if *count != math.MaxUint32 {
		t.Errorf("%d counted after a refund, want the most", *count)
	}
	for i, want := range []int64{0, 0, MaxLimit} {
		var h history
		if s.look(keys[i], 0, &h); h.total != want {
			t.Errorf("key %d: %d counted, want %d", i, h.total, want)
		}
	}
	*count = 0
	if s.refund(keys[2], 0, 0, MaxLimit); *count != 0 {
		t.Errorf("a count of none went below that, to %d", *count)
	}
}

// TestPromiseSketchTwin compares a sketch with a queue for each key: no promise is earlier than it
// would be there, and only the newest is taken back.
func TestPromiseSketchTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &promiseSketch{}
		s.init(8, promiseCell, maphash.MakeSeed())
		s.columns, s.salt = uint64(rapid.SampledFrom([]int{1, 3, 4096}).Draw(t, "columns")), 3
		s.cells = nil
		p := drawPacing(t)
		truth := map[Key]*Throttle{}
		type promise struct {
			key  Key
			id   uint64
			twin Promise
		}
		var promises []promise
		now := epoch
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			now = max(now, p.drawTime(t, now))
			key := testKey(rapid.IntRange(0, 9).Draw(t, "key"))
			if truth[key] == nil {
				truth[key] = NewThrottle()
			}
			n := drawHits(t, p.rate)
			looked := s.look(key).peek(now, n, n, p.rate, p.maxWait, p.strict)
			switch rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "refund", "drop"}).Draw(t, "op") {
			case "acquire":
				id, w := s.acquire(key, now, n, p.rate, p.maxWait, p.strict)
				if w.OK != looked.OK || w.Wait != looked.Wait || w.OK != (id != 0) {
					t.Fatalf("acquire = %d, %+v, where look promised %+v", id, w, looked)
				}
				if !w.OK {
					continue
				}
				q, want := truth[key].Acquire(now, n, p.rate, p.maxWait, p.strict)
				if !want.OK || w.Wait < want.Wait {
					t.Fatalf("acquire = %+v, earlier than %+v", w, want)
				}
				if s.columns == 4096 && p.cost(1) >= 1000 && w.Wait > want.Wait+time.Duration(len(promises)+1) {
					t.Fatalf("acquire = %+v, want %+v and no more than what is rounded up", w, want)
				}
				promises = append(promises, promise{key, id, q})
			case "refund":
				if len(promises) == 0 {
					continue
				}
				i := len(promises) - 1 - rapid.IntRange(0, min(1, len(promises)-1)).Draw(t, "promise")
				c := promises[i]
				newest := c.id == s.last.id && s.used.Load() && s.last.until > uint64(now)
				if got := s.refund(c.key, uint64(now), c.id); got != newest {
					t.Fatalf("refund = %v, newest promise: %v", got, newest)
				}
				if newest && !truth[c.key].Refund(now, c.twin) {
					t.Fatal("taken back, and not the newest of its key")
				}
				if s.refund(c.key, uint64(now), c.id) {
					t.Fatal("taken back twice")
				}
				promises = slices.Delete(promises, i, i+1)
			case "drop":
				s.drop(uint64(now))
				if s.used.Load() != (s.cells != nil) {
					t.Fatal("used is not what it is")
				}
			}
		}
	})
}

// TestSketchDrop: the memory comes with the first charge, and goes when all charges have left, not
// before.
func TestSketchDrop(t *testing.T) {
	t.Parallel()
	s := newSlotSketch(64, 3, 10)
	var h history
	if s.look(1, 7, &h); s.cells != nil || s.used.Load() {
		t.Error("looked at, and made")
	}
	s.refund(1, 7, 0, 1)
	s.drop(1 << 40)
	if slot, r := s.charge(1, 15, 2, 5); slot != 1 || r != (Result{OK: true, Remaining: 3}) || !s.used.Load() {
		t.Errorf("charge = %d, %+v", slot, r)
	}
	if s.drop(39); s.cells == nil {
		t.Error("dropped while the charge counts")
	}
	if s.look(1, 39, &h); h.total != 2 {
		t.Errorf("%d counted", h.total)
	}
	if s.drop(40); s.cells != nil || s.used.Load() {
		t.Error("not dropped")
	}
	if s.refund(1, 40, 1, 2); s.cells != nil {
		t.Error("made by a refund")
	}

	// Of promises, the last one made need not be the last to matter.
	var q promiseSketch
	q.init(0, promiseCell, maphash.MakeSeed())
	rate := Rate{2, 1, 10}
	for range 3 {
		q.acquire(1, 100, 2, rate, 100, false)
	}
	q.acquire(2, 100, 2, rate, 100, false)
	if q.drop(129); q.cells == nil {
		t.Error("dropped, though the promise at 120 matters to a call at 129")
	}
	if q.drop(130); q.cells != nil {
		t.Error("not dropped")
	}
}
