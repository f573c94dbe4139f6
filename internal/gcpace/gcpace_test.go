package gcpace

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPercent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		live uint64
		want int
	}{
		{0, 250}, // before the first collection
		{1 << 20, 250},
		{4 << 20, 250},
		{5 << 20, 200},
		{10 << 20, 100},
		{20 << 20, 50},
		{40 << 20, 25},
		{1 << 30, 25},
		{math.MaxUint64, 25},
	}
	for _, tt := range tests {
		if got := percent(tt.live); got != tt.want {
			t.Errorf("%d live bytes: GOGC=%d, want %d", tt.live, got, tt.want)
		}
	}
}

// TestRunFollowsTheHeap collects for real and has the live bytes made up.
func TestRunFollowsTheHeap(t *testing.T) {
	const found = 77
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	live := make(chan uint64)
	sets := make(chan int, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx, func() uint64 { return <-live }, func(percent int) int {
			sets <- percent
			return found
		})
	}()

	live <- 0
	if got := <-sets; got != 250 {
		t.Errorf("GOGC=%d at first, want 250", got)
	}
	for _, step := range []struct {
		live uint64
		want int // 0: left as it is
	}{
		{4 << 20, 0},
		{10 << 20, 100},
		{11 << 20, 0}, // 90: not worth stopping the world
		{12 << 20, 83},
		{1 << 30, 25},
		{1 << 20, 250},
	} {
		// A collection may pass while nobody waits for it yet, so it takes one or two.
		for done := false; !done; {
			runtime.GC()
			select {
			case live <- step.live:
				done = true
			default:
			}
		}
		if step.want == 0 {
			continue // a value in sets now would stand in the way of the next one, and differ from it
		}
		if got := <-sets; got != step.want {
			t.Errorf("GOGC=%d for %d live bytes, want %d", got, step.live, step.want)
		}
	}
	stop()
	if got := <-sets; got != found {
		t.Errorf("GOGC=%d at the end, want %d as it was found", got, found)
	}
	<-ended
}

// TestLiveBytes puts an object on the heap that dwarfs all others.
func TestLiveBytes(t *testing.T) {
	live := liveBytes()
	const size = 64 << 20
	object := make([]byte, size)
	runtime.GC()
	with := live()
	runtime.KeepAlive(object)
	runtime.GC()
	if without := live(); with < size || without > size/2 {
		t.Errorf("%d live bytes with an object of %d, %d without it", with, size, without)
	}
}

// TestRunSetsThePercentage looks at the runtime itself.
func TestRunSetsThePercentage(t *testing.T) {
	before := debug.SetGCPercent(111)
	defer debug.SetGCPercent(before)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Run(ctx)
	}()
	// Reading by setting and setting back could undo what Run sets in between, for good.
	percentNow := func() int {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return int(sample[0].Value.Uint64())
	}
	for percentNow() != most {
		runtime.Gosched()
	}
	stop()
	<-ended
	if got := percentNow(); got != 111 {
		t.Errorf("GOGC=%d after Run, want 111 as before", got)
	}
}
