package window

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

func newOutcomeWindow(t rapid.TB, now int64, sampleCount int, interval time.Duration) *OutcomeWindow {
	t.Helper()
	w, err := NewOutcomeWindow(now, sampleCount, interval)
	if err != nil {
		t.Fatalf("NewOutcomeWindow(%d, %v): %v", sampleCount, interval, err)
	}
	return w
}

func newOutcomeRing(t rapid.TB, size int) *OutcomeRing {
	t.Helper()
	r, err := NewOutcomeRing(size)
	if err != nil {
		t.Fatalf("NewOutcomeRing(%d): %v", size, err)
	}
	return r
}

var (
	fast   = Outcome{RT: 3 * time.Millisecond}
	slow   = Outcome{RT: 300 * time.Millisecond, Slow: true}
	failed = Outcome{RT: 7 * time.Millisecond, Error: true}
	both   = Outcome{RT: 500 * time.Millisecond, Slow: true, Error: true}
)

func TestOutcomeShapes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sampleCount int
		interval    time.Duration
		ok          bool
	}{
		{1, time.Millisecond, true}, {60, time.Minute, true}, {10, time.Second, true},
		{0, time.Second, false}, {61, time.Minute, false}, {-1, time.Second, false},
		{3, time.Second, false}, {1, 0, false}, {1, -time.Second, false}, {1, math.MaxInt64, false}, {2, time.Millisecond, false},
	} {
		if _, err := NewOutcomeWindow(epoch, c.sampleCount, c.interval); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrShape) {
			t.Errorf("NewOutcomeWindow(%d, %v): %v", c.sampleCount, c.interval, err)
		}
	}
	for size, ok := range map[int]bool{1: true, MaxRingSize: true, 0: false, -1: false, MaxRingSize + 1: false} {
		if _, err := NewOutcomeRing(size); (err == nil) != ok || err != nil && !errors.Is(err, ErrRingSize) {
			t.Errorf("NewOutcomeRing(%d): %v", size, err)
		}
	}
}

func TestOutcomeWindowSlides(t *testing.T) {
	t.Parallel()
	w := newOutcomeWindow(t, at(0), 2, time.Second)
	steps := []struct {
		ms   int64
		o    *Outcome // nil: only asks
		want Tally
	}{
		{0, nil, Tally{}},
		{0, &fast, Tally{Total: 1, RT: 3 * time.Millisecond}},
		{499, &slow, Tally{Total: 2, Slow: 1, RT: 303 * time.Millisecond}},
		{500, &failed, Tally{Total: 3, Slow: 1, Errors: 1, RT: 310 * time.Millisecond}},
		{999, &both, Tally{Total: 4, Slow: 2, Errors: 2, RT: 810 * time.Millisecond}},
		{1000, nil, Tally{Total: 2, Slow: 1, Errors: 2, RT: 507 * time.Millisecond}}, // the slot of 0 has left
		{700, &fast, Tally{Total: 3, Slow: 1, Errors: 2, RT: 510 * time.Millisecond}},
		{1500, nil, Tally{Total: 1, RT: 3 * time.Millisecond}}, // the late one is in the slot of 1000
		{2000, nil, Tally{}},
		{9999, &slow, Tally{Total: 1, Slow: 1, RT: 300 * time.Millisecond}},
	}
	for _, s := range steps {
		got := w.Tally(at(s.ms))
		if s.o != nil {
			got = w.Record(at(s.ms), *s.o)
		}
		if got != s.want {
			t.Errorf("at %d ms: got %+v, want %+v", s.ms, got, s.want)
		}
	}
	w.Reset()
	if got := w.Tally(at(9999)); got != (Tally{}) {
		t.Errorf("after Reset: %+v", got)
	}
	if got := w.Record(at(9999), fast).Total; got != 1 {
		t.Errorf("after Reset, the first call is number %d", got)
	}
}

func TestOutcomeRingSlides(t *testing.T) {
	t.Parallel()
	r := newOutcomeRing(t, 3)
	steps := []struct {
		ms   int64
		o    Outcome
		want Tally
	}{
		{5, fast, Tally{1, 0, 0, 3 * time.Millisecond, at(5)}},
		{6, both, Tally{2, 1, 1, 503 * time.Millisecond, at(5)}},
		{7, failed, Tally{3, 1, 2, 510 * time.Millisecond, at(5)}},
		{1_000_000, slow, Tally{3, 2, 2, 807 * time.Millisecond, at(5)}},
		{2, fast, Tally{3, 1, 1, 310 * time.Millisecond, at(5)}}, // its clock plays no part
		{8, fast, Tally{3, 1, 0, 306 * time.Millisecond, at(5)}},
		{9, fast, Tally{3, 0, 0, 9 * time.Millisecond, at(5)}},
	}
	if got := r.Tally(at(0)); got != (Tally{}) {
		t.Errorf("a new ring holds %+v", got)
	}
	for i, s := range steps {
		if got := r.Record(at(s.ms), s.o); got != s.want || r.Tally(at(s.ms)) != s.want {
			t.Errorf("call %d: got %+v, want %+v", i, got, s.want)
		}
	}
	r.Reset()
	if got := r.Tally(at(10)); got != (Tally{}) {
		t.Errorf("after Reset: %+v", got)
	}
	if got, want := r.Record(at(11), slow), (Tally{1, 1, 0, 300 * time.Millisecond, at(11)}); got != want {
		t.Errorf("after Reset: got %+v, want %+v", got, want)
	}
}

// TestOutcomeTimes: no time that is reported makes a sum wrong for the calls after it.
func TestOutcomeTimes(t *testing.T) {
	t.Parallel()
	if got := (Tally{}).Plus(Outcome{RT: -time.Second}).Plus(Outcome{RT: math.MaxInt64}); got.RT != MaxRT || got.Total != 2 {
		t.Errorf("got %+v", got)
	}
	full := Tally{RT: math.MaxInt64 - MaxRT}.Plus(Outcome{RT: MaxRT})
	if full.RT != math.MaxInt64 || full.Plus(fast).RT != math.MaxInt64 {
		t.Errorf("got %v, then %v", full.RT, full.Plus(fast).RT)
	}
	w := newOutcomeWindow(t, epoch, 3, 3*time.Second)
	w.Record(at(0), fast)
	w.slots[w.place].RT = math.MaxInt64 - 1 // as after two million calls of an hour
	for _, s := range []struct {
		ms   int64
		want time.Duration
	}{{1000, math.MaxInt64}, {2000, math.MaxInt64}, {3000, 3 * fast.RT}, {4000, 3 * fast.RT}} {
		if got := w.Record(at(s.ms), fast).RT; got != s.want {
			t.Errorf("at %d ms: got %v, want %v", s.ms, got, s.want)
		}
		if got := w.Tally(at(s.ms)).RT; got != s.want {
			t.Errorf("at %d ms, then: got %v, want %v", s.ms, got, s.want)
		}
	}
	if got := w.Tally(at(4500)).RT; got != 3*fast.RT {
		t.Errorf("got %v", got)
	}
	r := newOutcomeRing(t, MaxRingSize)
	for range MaxRingSize {
		r.Record(epoch, Outcome{RT: math.MaxInt64})
	}
	if got := r.Tally(epoch).RT; got != MaxRingSize*MaxRT {
		t.Errorf("a full ring of the longest calls took %v", got)
	}
	for range MaxRingSize {
		r.Record(epoch, fast)
	}
	if got := r.Tally(epoch).RT; got != MaxRingSize*fast.RT {
		t.Errorf("then, of fast calls, %v", got)
	}
}

// outcomes is what the two have in common.
type outcomes interface {
	Record(now int64, o Outcome) Tally
	Tally(now int64) Tally
	Reset()
}

// twinOutcomes is the same of the twins.
type twinOutcomes interface {
	Record(now int64, o twin.Outcome) twin.Tally
	Tally(now int64) twin.Tally
	Reset()
}

// compareOutcomes makes the same calls to both and compares every answer.
func compareOutcomes(t *rapid.T, a outcomes, b twinOutcomes, s shape) {
	now := s.start
	for i := range rapid.IntRange(1, 80).Draw(t, "calls") {
		now = drawTime(t, s, now)
		o := Outcome{
			RT:    time.Duration(rapid.SampledFrom([]int64{-1, 0, 1, 1e6, 1e9, 4e12, math.MaxInt64}).Draw(t, "rt")),
			Slow:  rapid.Bool().Draw(t, "slow"),
			Error: rapid.Bool().Draw(t, "error"),
		}
		var got Tally
		var want twin.Tally
		switch op := rapid.SampledFrom([]string{"record", "record", "record", "record", "tally", "reset"}).Draw(t, "op"); op {
		case "record":
			got, want = a.Record(now, o), b.Record(now, twin.Outcome(o))
		case "tally":
			got, want = a.Tally(now), b.Tally(now)
		default:
			if rapid.IntRange(0, 4).Draw(t, "really") == 0 {
				a.Reset()
				b.Reset()
			}
		}
		if got != Tally(want) {
			t.Fatalf("call %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestOutcomeWindowTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawShape(t)
		compareOutcomes(t, newOutcomeWindow(t, s.start, s.sampleCount, s.interval()),
			twin.NewOutcomeWindow(s.start, s.sampleCount, s.interval()), s)
	})
}

func TestOutcomeRingTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 2, 3, 10, 100}).Draw(t, "size")
		compareOutcomes(t, newOutcomeRing(t, size), twin.NewOutcomeRing(size), drawShape(t))
	})
}

func TestOutcomesAllocateNothing(t *testing.T) {
	w, r := newOutcomeWindow(t, epoch, 10, time.Second), newOutcomeRing(t, 100)
	now := epoch
	if got := testing.AllocsPerRun(1000, func() {
		now += int64(37 * time.Millisecond)
		for _, o := range [...]Outcome{fast, both} {
			w.Record(now, o)
			r.Record(now, o)
		}
		w.Tally(now)
		r.Tally(now)
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() { w.Reset(); r.Reset() }); got != 0 {
		t.Errorf("%v allocations by Reset, want 0", got)
	}
}

// TestOutcomeLayout: whole cache lines, so that no neighbour on the heap shares one.
func TestOutcomeLayout(t *testing.T) {
	t.Parallel()
	sizes := []uintptr{unsafe.Sizeof(OutcomeWindow{}), unsafe.Sizeof(OutcomeRing{})}
	if want := []uintptr{2 * cacheLine, 2 * cacheLine}; !slices.Equal(sizes, want) {
		t.Errorf("sizes %v, want %v", sizes, want)
	}
}
