package h2load

import (
	"math"
	"testing"
	"time"
)

// TestOpenLoopKeepsSchedule lets the client stand still for half of the run: every arrival of that
// time must still be sent, with the time it was planned for.
func TestOpenLoopKeepsSchedule(t *testing.T) {
	t.Parallel()
	const begin, second = 1_000, int64(time.Second)
	load := Load{Duration: time.Second}
	prompt := newPacer(begin, load, 1000, math.MaxInt64, 7)
	stuck := newPacer(begin, load, 1000, math.MaxInt64, 7)

	var want, got []int64
	for now := int64(begin); !prompt.done(now); now += 1000 {
		for at, ok := prompt.due(now); ok; at, ok = prompt.due(now) {
			want = append(want, at)
		}
	}
	for _, now := range []int64{begin + second/4, begin + 3*second/4, begin + 2*second} {
		for at, ok := stuck.due(now); ok; at, ok = stuck.due(now) {
			if at > now {
				t.Fatalf("a call of %d was due at %d", at, now)
			}
			got = append(got, at)
		}
	}
	if !stuck.done(begin + 2*second) {
		t.Error("not done at twice the duration")
	}
	if len(got) != len(want) {
		t.Fatalf("%d calls instead of %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("call %d is of %d, want %d", i, got[i], want[i])
		}
	}
	if n := len(got); n < 850 || n > 1150 { // 4.7 standard deviations; the seed is fixed
		t.Errorf("%d arrivals in a second at 1000 a second", n)
	}
	if last := got[len(got)-1]; last >= begin+second {
		t.Errorf("an arrival at %d, after the end", last)
	}
}

func TestOpenLoopGapsAreExponential(t *testing.T) {
	t.Parallel()
	p := newPacer(0, Load{}, 1e6, 100_000, 1)
	var prev int64
	var longer, n int
	for at, ok := p.due(math.MaxInt64); ok; at, ok = p.due(math.MaxInt64) {
		if at-prev > 1000 {
			longer++
		}
		prev = at
		n++
	}
	if n != 100_000 {
		t.Fatalf("%d arrivals", n)
	}
	// Of exponential gaps the share 1/e is longer than their mean.
	if share := float64(longer) / float64(n); math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("%.3f of the gaps exceed the mean", share)
	}
}

func TestClosedLoop(t *testing.T) {
	t.Parallel()
	p := newPacer(100, Load{Duration: 50}, 0, 3, 1)
	for range 2 {
		if at, ok := p.due(120); !ok || at != 120 {
			t.Fatalf("due = %d, %v", at, ok)
		}
	}
	if _, ok := p.due(150); ok || !p.done(150) {
		t.Error("a call started at the end of the duration")
	}
	if _, ok := p.due(149); !ok {
		t.Error("no call just before the end")
	}
	if _, ok := p.due(149); ok || !p.done(149) {
		t.Error("a fourth call of three")
	}
}
