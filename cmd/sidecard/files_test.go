package main

import (
	"testing"

	"github.com/rs/zerolog"
)

func TestFilesWanted(t *testing.T) {
	t.Parallel()
	c := defaults()
	if got := c.filesWanted(); got != 3*1024+adminConnections+otherFiles {
		t.Errorf("got %d", got)
	}
	c.Status, c.Admin.Addr = "off", "off"
	if got := c.filesWanted(); got != 2*1024+otherFiles {
		t.Errorf("with the status and admin addresses off: got %d", got)
	}
}

func TestTooFewFilesAreAWarning(t *testing.T) {
	t.Parallel()
	for allowed, want := range map[uint64]int{0: 0, 1: 1, 99: 1, 100: 0, 1 << 63: 0} {
		log := newLogLines()
		warnFiles(zerolog.New(log), 100, allowed)
		if got := count(log.all(), `"openFiles":`); got != want {
			t.Errorf("%d allowed: got %d lines, want %d", allowed, got, want)
		}
	}
	if openFiles() == 0 {
		t.Error("it cannot be told how many files may be open")
	}
}
