package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sidecard/sidecard/internal/terminal"
	"github.com/sidecard/sidecard/pkg/admin"
)

// topEvery is how often the table is made anew.
const topEvery = time.Second

func topCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch what a running daemon limits",
		Long: `Ask the admin address of a running daemon each second what becomes of the requests for each
resource and by each rule, and show it as a table, the busiest first. With --rule the values of that
rule's parameter which most requests have are shown too. Ctrl-C ends it.

Where the output is no terminal, with --once and in JSON, one table of one second is printed.`,
		Args: cobra.NoArgs,
	}
	ask := addAdmin(cmd, p, "addr")
	once := cmd.Flags().Bool("once", false, "print one table of one second")
	rule := cmd.Flags().String("rule", "", "rule, by its `ID`, whose values are shown")
	domain := cmd.Flags().String("domain", "", "domain of --rule, if there are several of its id")
	output := outputFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := output.check(); err != nil {
			return err
		}
		c, err := ask.client("addr")
		if err != nil {
			return err
		}
		defer c.close()
		values := ""
		if *rule != "" {
			q := url.Values{"rule": {*rule}}
			if cmd.Flags().Changed("domain") {
				q.Set("domain", *domain)
			}
			values = "/api/v1/top?" + q.Encode()
		}
		fetch := func(ctx context.Context) (topSample, error) { return c.sample(ctx, values) }
		file, _ := p.stdout.(*os.File)
		if file != nil && !*once && !output.json() {
			if _, ok := terminal.SizeOf(file); ok {
				return watchTop(p.stop, file, fetch)
			}
		}
		v, err := topOnce(p.stop, fetch)
		if err != nil {
			return err
		}
		if output.json() {
			return writeIndented(p.stdout, v)
		}
		return writeLines(p.stdout, v.lines(terminal.Size{}))
	}
	return cmd
}

func writeLines(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// sample asks for all that a table needs; values is the path of the values, if they are wanted.
func (c *adminClient) sample(ctx context.Context, values string) (s topSample, err error) {
	paths := []string{"/api/v1/status", "/api/v1/resources?history=1", "/api/v1/rules"}
	for i, into := range []any{&s.status, &s.resources, &s.rules} {
		if err := c.get(ctx, paths[i], into); err != nil {
			return s, err
		}
	}
	if values != "" {
		s.values = new(admin.Top)
		err = c.get(ctx, values, s.values)
	}
	return s, err
}

// topOnce returns a table of what happens in the next interval.
func topOnce(ctx context.Context, fetch func(context.Context) (topSample, error)) (topView, error) {
	before, err := fetch(ctx)
	if err != nil {
		return topView{}, err
	}
	select {
	case <-time.After(topEvery):
	case <-ctx.Done():
		return topView{}, errors.New("told to stop")
	}
	after, err := fetch(ctx)
	return viewTop(&before, &after), err
}

// watchTop shows a table on a terminal, made anew in each interval and when its size changes, until ctx is done.
func watchTop(ctx context.Context, file *os.File, fetch func(context.Context) (topSample, error)) error {
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	if err := terminal.Enter(file); err != nil {
		return err
	}
	defer terminal.Leave(file)
	size := func() terminal.Size { s, _ := terminal.SizeOf(file); return s }
	return (&topLoop{screen: file, size: size, resized: resized, fetch: fetch}).run(ctx)
}

// topLoop draws one table after the other.
type topLoop struct {
	screen  io.Writer
	size    func() terminal.Size
	resized <-chan os.Signal
	fetch   func(context.Context) (topSample, error)
}

// run ends without an error when ctx is done. A daemon that does not answer is waited for.
func (l *topLoop) run(ctx context.Context) error {
	tick := time.NewTicker(topEvery)
	defer tick.Stop()
	var before *topSample
	var view topView
	for {
		now, err := l.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			view.failure = err
		default:
			view = viewTop(before, &now)
			before = &now
		}
		for again := true; again; {
			size := l.size()
			if err := terminal.Draw(l.screen, size.Clip(view.lines(size))); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-l.resized:
			case <-tick.C:
				again = false
			}
		}
	}
}
