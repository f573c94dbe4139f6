package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
)

// hangups catches SIGHUP, which would end the process at once, with calls under way and socket files
// left behind. It is what other daemons are told to reload with; ours follows its files by itself.
func hangups() (arrived <-chan os.Signal, release func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c, func() { signal.Stop(c) }
}

// logHangups says that each SIGHUP has no effect, until ctx is done.
func logHangups(ctx context.Context, log zerolog.Logger, arrived <-chan os.Signal) {
	for {
		select {
		case <-arrived:
			log.Info().Msg("SIGHUP ignored: changed rule files are applied without it, another configuration needs a restart")
		case <-ctx.Done():
			return
		}
	}
}
