package envoytest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProcessStopEndsTheChild(t *testing.T) {
	t.Parallel()
	p, err := StartProcess(filepath.Join(t.TempDir(), "log"), "/bin/sh", "-c", "echo hello; exec sleep 600")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.Done():
	default:
		t.Error("the child still runs")
	}
	if err := p.Stop(time.Minute); err != nil {
		t.Errorf("a second stop: %v", err)
	}
}

func TestProcessStopKillsWhatIgnoresTerm(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	p, err := StartProcess(log, "/bin/sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 600; done")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := Poll(ctx, "the trap", func(context.Context) (bool, error) { return strings.Contains(p.Log(), "deaf"), nil }); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(time.Millisecond); err == nil {
		t.Error("no error for a child that had to be killed")
	}
	if got, want := p.Tail(1), "sh | deaf\n"; got != want {
		t.Errorf("tail: got %q, want %q", got, want)
	}
}

func TestProcessReportsExitStatus(t *testing.T) {
	t.Parallel()
	p, err := StartProcess(filepath.Join(t.TempDir(), "log"), "/bin/sh", "-c", "exit 3")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Wait(ctx); err == nil || !strings.Contains(err.Error(), "3") {
		t.Errorf("got %v, want exit status 3", err)
	}
}
