// Package gcpace paces the garbage collector by headroom instead of by share. The daemon's heap at
// rest is a MiB or two, which the runtime by default collects each time that 4 MiB are in use:
// dozens of times a second under load, to save memory that nobody would miss. Here a small heap may
// grow by a fixed number of bytes between two collections and a large one by less than its own size,
// so that the small one costs less time than by default and the large one less memory.
package gcpace

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// headroom is how many bytes may be allocated between two collections. This much keeps the whole
	// process well below 30 MiB after any load, as long as rules and keys are few. 6 MiB more would
	// save another 3 % of a busy daemon's time.
	headroom = 10 << 20

	// most is the percentage of heaps below 4 MiB. The runtime collects them once 4 MiB times
	// this share are in use, which is headroom again.
	most = 250

	// least bounds the time that a large heap takes: its live bytes are marked at most once for every
	// quarter of them that is allocated. What makes a heap large here is key tables; they hold no
	// pointers, so that marking one takes next to no time.
	least = 25
)

// percent returns the GOGC at which about headroom bytes are allocated between two collections of a
// heap with that many live bytes.
func percent(live uint64) int {
	return int(min(max(100*headroom/max(live, 1), least), most))
}

// Run sets the percentage of the collector now and after each collection until ctx is done, then
// back to what it found. The runtime's memory limit stays in force: whichever of the two asks for
// the earlier collection gets it. The percentage belongs to the process, so there should be one Run
// at a time, and none if the user has set GOGC.
func Run(ctx context.Context) {
	run(ctx, liveBytes(), debug.SetGCPercent)
}

// run is Run on a runtime of the caller's: set returns the percentage before it.
func run(ctx context.Context, live func() uint64, set func(percent int) int) {
	now := percent(live())
	found := set(now)
	defer func() { set(found) }()
	for {
		select {
		case <-nextCollection():
		case <-ctx.Done():
			return
		}
		// Setting stops the world for a moment, so small steps are not taken.
		if want := percent(live()); 8*max(want-now, now-want) > now {
			set(want)
			now = want
		}
	}
}

// nextCollection returns a channel that is closed after the next collection. What tells is an object
// that nothing holds: no timer wakes an idle process.
func nextCollection() <-chan struct{} {
	// Large enough for memory of its own: smaller ones share a block with others and live as long.
	type sentinel [32]byte
	done := make(chan struct{})
	runtime.AddCleanup(new(sentinel), func(done chan struct{}) { close(done) }, done)
	return done
}

// liveBytes returns a function that returns how many bytes the last collection found in use, 0
// before the first. It must not be called by two goroutines at a time.
func liveBytes() func() uint64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	return func() uint64 {
		metrics.Read(samples)
		return samples[0].Value.Uint64()
	}
}
