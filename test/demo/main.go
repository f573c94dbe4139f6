// Command demo shows the whole of sidecard at work: a real Envoy with the shipped bootstrap asks
// the built daemon, which decides from the example rules, while three times the limits are sent;
// then a rule changes, the way Kubernetes changes a ConfigMap. `make demo` runs it from the root of
// the repository. It exits 0 only if every bound was kept and used, and ends all that it started.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
	"github.com/sidecard/sidecard/pkg/rule"
)

const (
	bootstrap = "envoy/envoy.yaml"
	examples  = "examples/rules"

	// phase is how long each load lasts.
	phase = 6 * time.Second
	// emptied is longer than the interval of the rules that two phases meet in, so that each starts
	// with empty windows.
	emptied = 1200 * time.Millisecond
	// patience is how long anything that is waited for may take.
	patience = 30 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run plays the demo in a directory of its own and leaves nothing behind.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "sidecard-demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	files, err := ruleFiles(examples)
	if err != nil {
		return err
	}
	volume := filepath.Join(dir, "rules")
	if err := configmap.Write(volume, files); err != nil {
		return err
	}
	envoy, err := envoytest.Program("ENVOY", "envoy")
	if err != nil {
		return err
	}
	sidecard, err := envoytest.Program("SIDECARD", "sidecard")
	if err != nil {
		return err
	}
	started, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stack, err := envoytest.Start(started, envoytest.Options{
		Envoy: envoy, Sidecard: sidecard, Bootstrap: bootstrap, Rules: volume, Dir: dir, Args: []string{"--drain", "1s"},
	})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, errors.New("ends of the logs:\n"+stack.Tails(20)))
		}
		err = errors.Join(err, stack.Stop())
	}()
	if err := stack.WaitReady(started); err != nil {
		return err
	}
	fmt.Fprintf(out, "Envoy on %s asks sidecard (pid %d) over %s; rules: %s, mounted like a ConfigMap.\n",
		stack.Address, stack.Sidecard.PID(), stack.Socket, examples)
	return play(ctx, out, stack, volume, files)
}

// play sends the loads and judges what came of them.
func play(ctx context.Context, out io.Writer, stack *envoytest.Stack, volume string, files map[string][]byte) error {
	var rows []row
	for n, loads := range phases(stack.URL) {
		if err := envoytest.Pause(ctx, emptied); err != nil {
			return err
		}
		fmt.Fprintf(out, "Load %d: three times the limits for %s …\n", n+1, phase)
		done, err := runAll(ctx, loads, files)
		if err != nil {
			return err
		}
		rows = append(rows, done...)
	}
	print(out, rows)

	changed, err := withCount(files, swapRule, swapCount)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nNow the rule %s changes to a count of %d, as Kubernetes swaps a ConfigMap …\n", swapRule, swapCount)
	swapped := time.Now()
	if err := configmap.Write(volume, changed); err != nil {
		return err
	}
	if err := waitForCount(ctx, stack.URL+"/search", swapCount); err != nil {
		return err
	}
	fmt.Fprintf(out, "… in force %s after the swap, in the same process (pid %d, not restarted). The same load again:\n",
		time.Since(swapped).Round(time.Millisecond), stack.Sidecard.PID())
	after, err := runAll(ctx, swapLoads(stack.URL), changed)
	if err != nil {
		return err
	}
	print(out, after)
	return verdict(ctx, out, stack, append(rows, after...))
}

// verdict fails unless every row is good and Envoy, which lets a request pass when it gets no
// answer, got one to each call.
func verdict(ctx context.Context, out io.Writer, stack *envoytest.Stack, rows []row) error {
	var errs []error
	for _, r := range rows {
		if r.fault != "" {
			errs = append(errs, fmt.Errorf("%s: %s", r.rule.ID, r.fault))
		}
	}
	limits, err := stack.Limits(ctx)
	if err == nil && limits.Errors != 0 {
		err = fmt.Errorf("%d calls of Envoy got no answer", limits.Errors)
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nEvery bound was kept. Envoy counts %d requests let through, %d refused and %d calls without an answer.\n",
		limits.OK, limits.Over, limits.Errors)
	return nil
}

// ruleFiles reads the rule files of a directory by name.
func ruleFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// parse loads rule files as the daemon does, and returns the rules by id.
func parse(files map[string][]byte) (map[string]rule.LimitRule, error) {
	var list []rule.File
	for name, data := range files {
		list = append(list, rule.File{Name: name, Data: data})
	}
	set, problems := rule.Load(list, rule.Options{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	rules := make(map[string]rule.LimitRule)
	for _, r := range set.Limits {
		rules[r.ID] = r
	}
	return rules, nil
}
