// Command sidecard is a rate-limit daemon beside one Envoy, and the tools around its rule files.
//
// This package parses flags and files, wires the other packages together and prints. Every
// sub-command has a file of its own; no decision is made here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// The exit codes of every sub-command.
const (
	exitOK      = 0
	exitFailure = 1 // what was asked for was understood and did not work out
	exitUsage   = 2 // the command line, a variable or the config file is wrong
	exitSilence = 3 // nobody answered, where 1 is an answer: sidecard decide
)

// process is what a command may touch of the world outside, so that a test can stand in for it.
type process struct {
	lookup         func(variable string) (string, bool)
	stdout, stderr io.Writer
	stop           context.Context // done: drain and end
	kill           context.Context // done: end at once; never before stop
}

func main() {
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00" // of all loggers; nothing logs yet
	stop, kill, release := signals()
	code := run(process{
		lookup: os.LookupEnv,
		stdout: os.Stdout,
		stderr: os.Stderr,
		stop:   stop,
		kill:   kill,
	}, os.Args[1:])
	release()
	os.Exit(code)
}

// signals returns a context that ends with the first SIGTERM or SIGINT and one that ends with the
// second. release stops the listening and waits for it to have stopped.
func signals() (stop, kill context.Context, release func()) {
	kill, cancelKill := context.WithCancel(context.Background())
	stop, cancelStop := context.WithCancel(kill)
	arrived := make(chan os.Signal, 2)
	signal.Notify(arrived, syscall.SIGTERM, syscall.SIGINT)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, cancel := range []func(){cancelStop, cancelKill} {
			select {
			case <-arrived:
				cancel()
			case <-kill.Done():
				return
			}
		}
	}()
	return stop, kill, func() {
		signal.Stop(arrived)
		cancelKill()
		<-ended
	}
}

// errReported is returned by a command that failed and has already said so.
var errReported = errors.New("reported")

// errUnread is returned by a command that could not read what it was given, and has already said so.
var errUnread = errors.New("unread")

// usageError marks an error that the caller of the command made: a wrong flag, variable or key.
type usageError struct{ error }

// noAnswer marks an error of a command whose exit code is the answer that it got.
type noAnswer struct{ error }

// run executes one command line and returns the exit code.
func run(p process, args []string) int {
	root := &cobra.Command{
		Use:           "sidecard",
		Short:         "A rate-limit sidecar for Envoy",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	started := false // whatever fails before a command starts is a fault of the command line
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return suggestFlag(cmd, err) })
	root.AddCommand(serveCommand(p), checkCommand(p), testCommand(p), decideCommand(p), explainCommand(p), statusCommand(p), rulesCommand(p), topCommand(p), probeCommand(p), healthcheckCommand(p), versionCommand(p))
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)

	cmd, err := root.ExecuteC()
	var usage usageError
	var silence noAnswer
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailure
	case errors.Is(err, errUnread):
		return exitUsage
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "%s: %v\n", cmd.CommandPath(), err)
		return exitUsage
	case errors.As(err, &silence):
		fmt.Fprintf(p.stderr, "%s: %v\n", cmd.CommandPath(), err)
		return exitSilence
	case !started:
		fmt.Fprintf(p.stderr, "%s: %v\nRun '%s --help' for usage.\n", cmd.CommandPath(), err, cmd.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(p.stderr, "%s: %v\n", cmd.CommandPath(), err)
		return exitFailure
	}
}
