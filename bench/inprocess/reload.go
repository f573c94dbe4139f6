package inprocess

import (
	"context"
	"errors"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sidecard/sidecard/bench/h2load"
	"github.com/sidecard/sidecard/bench/ruleset"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Latency is how long single decisions took by the clock, its reading included.
type Latency struct {
	P999 []float64 // µs, a figure a round
	Max  float64   // ms, of all rounds
}

// reloads takes rules as files, again and again with other limits: first alone, then on another
// processor while decisions go on, turn by turn with decisions that nothing disturbs.
func reloads(ctx context.Context, o Options, f *Figures) error {
	d, err := newDecider(o.Keys, ruleset.Options{Others: o.Rules})
	if err != nil {
		return err
	}
	var files [2][]rule.File
	for i := range files {
		files[i] = ruleset.Files(ruleset.Options{Others: o.Rules, Generation: i + 1})
	}
	reload := func(times int) error {
		for i := range times {
			if err := errors.Join(d.reload(files[i%2]), ctx.Err()); err != nil {
				return err
			}
		}
		return nil
	}
	perRound := (o.Reloads + o.Rounds - 1) / o.Rounds
	for range o.Rounds {
		before, err := processTime()
		if err != nil {
			return err
		}
		if err := reload(perRound); err != nil {
			return err
		}
		after, err := processTime()
		if err != nil {
			return err
		}
		f.Reload = append(f.Reload, float64(after-before)/float64(time.Millisecond)/float64(perRound))
	}

	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	length := 100 * time.Millisecond // of a quiet round: as long as the one before was with reloads
	for range o.Rounds {
		quiet, cancel := context.WithTimeout(ctx, length)
		err := d.time(quiet, &f.Quiet)
		cancel()
		if err != nil {
			return err
		}
		reloading, done := context.WithCancel(ctx)
		failed := make(chan error, 1)
		go func() {
			defer done()
			failed <- reload(perRound)
		}()
		began := time.Now()
		err = d.time(reloading, &f.Reloading)
		if err := errors.Join(err, <-failed); err != nil {
			return err
		}
		length = time.Since(began)
	}
	return nil
}

// reload does what the daemon does with files that have changed.
func (d *decider) reload(files []rule.File) error {
	set, problems := rule.Load(files, rule.Options{})
	if err := problems.Err(); err != nil {
		return err
	}
	changes, err := d.engine.Apply(epoch, set)
	if err == nil && len(changes.Added)+len(changes.Removed)+len(changes.Fresh) > 0 {
		err = errors.New("rules whose limits alone differ did not keep their state")
	}
	return err
}

// time decides until ctx is done and adds to l how long each decision took.
func (d *decider) time(ctx context.Context, l *Latency) error {
	var h h2load.Histogram
	d.passed = 0
	calls := 0
	last := time.Now()
	for ctx.Err() == nil {
		for range 100 {
			d.decide(calls)
			calls++
			now := time.Now()
			h.Record(now.Sub(last))
			last = now
		}
	}
	if d.passed != int64(calls) {
		return errors.New("a decision did not pass, or no rule took part in it")
	}
	l.P999 = append(l.P999, float64(h.Quantile(0.999))/float64(time.Microsecond))
	l.Max = max(l.Max, float64(h.Quantile(1))/float64(time.Millisecond))
	return nil
}

// processTime returns the processor time that all threads of this process have used.
func processTime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano()), err
}
