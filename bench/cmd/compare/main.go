// Command compare measures the sidecard daemon beside the plain gRPC server of ../floor: both
// answer the same calls over Unix sockets, turn by turn, on a core of their own, while the load
// client runs on another. It prints Markdown. With -sidecard and -base it compares any two builds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sidecard/sidecard/bench/inprocess"
)

// options are the command line.
type options struct {
	rounds         int
	duration       time.Duration
	warmup         time.Duration
	keys           int
	rows           string
	root           string
	sidecard, base string
	fill           int
	targets        bool
	inprocess      inprocess.Options
}

func main() {
	o := options{inprocess: inprocess.Default()}
	flag.IntVar(&o.rounds, "rounds", 8, "rounds of every load on every server")
	flag.DurationVar(&o.duration, "d", time.Second, "length of one measurement")
	flag.DurationVar(&o.warmup, "warmup", 200*time.Millisecond, "load before each measurement")
	flag.IntVar(&o.keys, "keys", 10_000, "distinct paths, users and addresses")
	flag.StringVar(&o.rows, "rows", "m1,m32,c4m16,r5k", "loads to measure, separated by commas")
	flag.StringVar(&o.root, "root", "..", "the repository")
	flag.StringVar(&o.sidecard, "sidecard", "", "`binary` to measure, a daemon or a plain server; if not given, the daemon of -root")
	flag.StringVar(&o.base, "base", "", "`binary` to compare with, of either kind; if not given, the plain server")
	flag.IntVar(&o.fill, "fill", 0, "also measure the memory of that many live keys in one rule (1000000 takes half a minute)")
	flag.BoolVar(&o.targets, "targets", false, "also measure in process, and print the table of targets, for which a daemon and the plain server are needed; -fill is 1000000 then unless given")
	flag.Parse()
	if o.targets && o.fill == 0 {
		o.fill = 1_000_000
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out, progress io.Writer) (err error) {
	rows, err := selectRows(o.rows)
	if err != nil {
		return err
	}
	if o.rounds < 1 || o.duration <= 0 {
		return errors.New("-rounds and -d must be positive")
	}
	cores, err := pin()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cores.unpin()) }()
	// The client keeps next to nothing; its collector need not run often.
	gogc := debug.SetGCPercent(400)
	defer debug.SetGCPercent(gogc)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))

	dir, err := os.MkdirTemp("", "sidecard-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	subjects, err := build(ctx, dir, o)
	if err != nil {
		return err
	}
	if o.targets && (!subjects[0].daemon || subjects[1].daemon) {
		return errors.New("-targets is about a daemon and the plain server")
	}
	if err := printHeader(out, subjects, cores, o); err != nil {
		return err
	}
	side, err := measureSide(ctx, dir, subjects, cores, o)
	if err != nil {
		return err
	}
	runs, err := measureLoads(ctx, dir, subjects, rows, cores, o, side, progress)
	if err != nil {
		return err
	}
	printLoads(out, subjects, rows, runs)
	printRatios(out, subjects, rows, runs)
	printSide(out, subjects, side)
	if !o.targets {
		return nil
	}
	fmt.Fprintln(progress, "in process")
	if err := cores.unpin(); err != nil {
		return err
	}
	debug.SetGCPercent(gogc)
	figures, err := inprocess.Measure(ctx, o.inprocess)
	if err != nil {
		return err
	}
	printTargets(out, slices.Concat(
		decisionTargets(o.inprocess, figures), loadTargets(rows, runs), sideTargets(side), reloadTargets(o.inprocess, figures, side)))
	return nil
}

func selectRows(names string) ([]row, error) {
	var rows []row
next:
	for name := range strings.SplitSeq(names, ",") {
		for _, r := range allRows {
			if r.name == name {
				rows = append(rows, r)
				continue next
			}
		}
		return nil, fmt.Errorf("-rows: no load %q", name)
	}
	return rows, nil
}
