package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// It sends real signals to the test itself, so it does not run beside other tests.
func TestTheFirstSignalStopsAndTheSecondKills(t *testing.T) {
	stop, kill, release := signals()
	defer release()
	for _, ctx := range []context.Context{stop, kill} {
		if ctx.Err() != nil {
			t.Fatal("ended too early")
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			t.Fatal("the signal has no effect")
		}
	}
}

// It sends a real signal too.
func TestAHangUpEndsNothing(t *testing.T) {
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	d.log.wait(t, "SIGHUP ignored: changed rule files are applied without it, another configuration needs a restart", 1)
	if got := passes(t, d.dial(), "orders", 3); got != 2 {
		t.Errorf("%d of 3 passed, want 2", got)
	}
	d.stop()
	if code := d.exit(); code != exitOK {
		t.Errorf("got exit code %d", code)
	}
}

func TestReleaseWithoutASignal(t *testing.T) {
	_, _, release := signals()
	release() // waits for the goroutine that listens
}

func TestToldToStopWhileStarting(t *testing.T) {
	t.Parallel()
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	c := defaults()
	c.Listen, c.HTTP, c.Status, c.Admin.Addr = []string{"unix:" + t.TempDir() + "/s"}, "off", "off", "off"
	if err := serve(process{lookup: nothingSet, stderr: newLogLines(), stop: stop, kill: t.Context()}, c); err != nil {
		t.Errorf("got %v", err)
	}
}

// A listener that breaks ends the daemon with an error: restarted, it may work again, while a
// daemon that answers nobody would look alive.
func TestABrokenListenerEndsTheDaemon(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := defaults()
	c.Rules, c.Listen, c.HTTP, c.Status, c.Admin.Addr = []string{dir}, []string{"tcp:127.0.0.1:0"}, "tcp:127.0.0.1:0", "tcp:127.0.0.1:0", "tcp:127.0.0.1:0"
	s, err := open(t.Context(), c, zerolog.Nop(), nothingSet)
	if err != nil {
		t.Fatal(err)
	}
	s.grpc[0].Close()
	d, err := newDaemon(c, zerolog.Nop(), s)
	if err != nil {
		t.Fatal(err)
	}
	err = d.run(t.Context(), t.Context())
	if err == nil || !strings.Contains(err.Error(), "use of closed network connection") {
		t.Errorf("got %v", err)
	}
	if _, err := s.status[0].Accept(); err == nil {
		t.Error("the status address is still open")
	}
}
