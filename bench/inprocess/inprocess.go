// Package inprocess measures what the daemon is made of, without its transport: decisions, windows, the
// key table, reloading. Figures that are compared are taken turn by turn, so that a machine that is
// faster in one second than in the next does not decide. Go's own benchmarks beside the code measure
// more, one after the other.
package inprocess

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Options say how much is measured.
type Options struct {
	Rounds  int // of every measurement
	Calls   int // of a function in one round
	Keys    int // distinct paths and users of the decisions
	Table   int // keys of the key table that is timed
	Rules   int // rules that do not concern a decision: of a reload, and times ten to see whether decisions stay flat
	Reloads int // beside which decisions are timed
}

// Default is what the table of targets asks for.
func Default() Options {
	return Options{Rounds: 9, Calls: 100_000, Keys: 10_000, Table: 700_000, Rules: 1000, Reloads: 100}
}

// Figures is what was measured. A slice holds a figure a round; those of the same index were taken
// within the same second.
type Figures struct {
	Decide       []float64 // ns, with ten rules that do not concern it
	DecideAmong  []float64 // ns, with ten times Options.Rules of them
	DecideAllocs float64
	CAS          []float64 // ns, of a loop around one compare-and-swap
	Admit        []float64 // ns, of a window
	Refuse       []float64 // ns
	KeyBytes     float64   // a key, at a load of 70 %
	KeyAdmit     []float64 // ns
	Reload       []float64 // ms of processor time, to read and apply rules of which all have changed
	Quiet        Latency   // of decisions while nothing else happens
	Reloading    Latency   // of decisions while rules are reloaded without a pause
}

// Measure takes all figures. It needs two processors to itself and takes a quarter of a minute.
func Measure(ctx context.Context, o Options) (*Figures, error) {
	var f Figures
	for _, m := range []struct {
		what string
		take func(context.Context, Options, *Figures) error
	}{
		{"decisions", decisions},
		{"windows", windows},
		{"the key table", keyTable},
		{"reloads", reloads},
	} {
		if err := m.take(ctx, o, &f); err != nil {
			return nil, fmt.Errorf("measuring %s: %w", m.what, err)
		}
	}
	return &f, nil
}

// series measures functions turn by turn and appends to the slice of each, for each round, the
// nanoseconds that one call takes. They are those that this thread was on a processor for: what else
// the machine does costs it only the processor's caches.
func series(ctx context.Context, o Options, functions map[*[]float64]func(i int)) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range o.Rounds {
		for into, f := range functions {
			if err := ctx.Err(); err != nil {
				return err
			}
			before, err := threadTime()
			if err != nil {
				return err
			}
			for i := range o.Calls {
				f(i)
			}
			after, err := threadTime()
			if err != nil {
				return err
			}
			*into = append(*into, float64(after-before)/float64(o.Calls))
		}
	}
	return nil
}

// threadTime returns the processor time that this thread has used.
func threadTime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano()), err
}
