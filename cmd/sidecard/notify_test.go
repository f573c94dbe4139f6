package main

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

func TestNotifierTells(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{"a file": filepath.Join(t.TempDir(), "n"), "an abstract socket": "@sidecard-test-notifier"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: socket})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			lookup := func(variable string) (string, bool) { return socket, variable == "NOTIFY_SOCKET" }
			newNotifier(lookup, zerolog.Nop()).send("A=1", "B=2 3")
			manager.SetReadDeadline(time.Now().Add(patience))
			got := make([]byte, 100)
			n, err := manager.Read(got)
			if err != nil || string(got[:n]) != "A=1\nB=2 3" {
				t.Errorf("got %q, %v", got[:n], err)
			}
		})
	}
}

func TestNotifierWithoutManager(t *testing.T) {
	t.Parallel()
	log := newLogLines()
	newNotifier(nothingSet, zerolog.New(log)).send("READY=1")
	if got := log.all(); len(got) != 0 {
		t.Errorf("nobody asked, got %q", got)
	}
	gone := func(string) (string, bool) { return filepath.Join(t.TempDir(), "gone"), true }
	newNotifier(gone, zerolog.New(log)).send("READY=1")
	log.wait(t, "the service manager could not be told", 1)
}

func TestDescribedState(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"STATUS=Serving 3 rules": describeState(true, true, 3),
		"STATUS=Serving 3 rules; newer rule files are wrong, see the log": describeState(false, true, 3),
		"STATUS=Not serving: the rule files are wrong, see the log":       describeState(false, false, 0),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
