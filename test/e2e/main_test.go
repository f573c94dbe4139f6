//go:build e2e

// Package e2e drives the built daemon behind a real Envoy that runs the shipped bootstrap. It is
// run by `make e2e`, which builds the one and fetches the other; ENVOY and SIDECARD name the
// binaries.
package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	bootstrap         = "../../envoy/envoy.yaml"
	outcomesBootstrap = "../../envoy/envoy-outcomes.yaml" // with reports of how requests end
)

// limit is how long any one thing that a test waits for may take on a machine that is busy.
const limit = time.Minute

// binary returns the program that a variable names, or what the PATH has under the given name.
func binary(t *testing.T, variable, name string) string {
	t.Helper()
	path, err := envoytest.Program(variable, name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func envoy(t *testing.T) string    { return binary(t, "ENVOY", "envoy") }
func sidecard(t *testing.T) string { return binary(t, "SIDECARD", "sidecard") }

// soon returns a context for one wait.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// stack starts application, daemon and Envoy for one test and ends them with it. Logs are shown
// if the test failed.
func stack(t *testing.T, rules string, args ...string) *envoytest.Stack {
	t.Helper()
	return stackOf(t, bootstrap, rules, args...)
}

// stackOf is stack with another bootstrap.
func stackOf(t *testing.T, bootstrap, rules string, args ...string) *envoytest.Stack {
	t.Helper()
	s, err := envoytest.Start(soon(t), envoytest.Options{
		Envoy: envoy(t), Sidecard: sidecard(t), Bootstrap: bootstrap, Rules: rules, Dir: shortDir(t), Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("ends of the logs:\n" + s.Tails(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ready is stack that waits until Envoy finds the daemon healthy.
func ready(t *testing.T, rules string, args ...string) *envoytest.Stack {
	t.Helper()
	s := stack(t, rules, args...)
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// shortDir is a directory whose path leaves room for a socket's name, unlike t.TempDir.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// rules writes rule files, given as name and content in turn, to a directory of the test's own.
func rules(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		write(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return dir
}

// write replaces a file at once, as an editor does.
func write(t *testing.T, path, content string) {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.WriteFile(next, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

func client(t *testing.T, from string) *http.Client {
	t.Helper()
	c := envoytest.NewClient(from)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// request makes a request; headers are name and value in turn.
func request(t *testing.T, method, url string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// send sends n requests, one after the other.
func send(t *testing.T, c *http.Client, n int, next func() *http.Request) envoytest.Tally {
	t.Helper()
	replies := make([]envoytest.Reply, n)
	for i := range replies {
		replies[i] = envoytest.Send(c, next())
	}
	return envoytest.Count(replies)
}

// wantTally fails the test unless so many passed and the rest were limited by the named rule.
func wantTally(t *testing.T, what string, got envoytest.Tally, passed int, rule string) {
	t.Helper()
	limited := got.Sent - passed
	if got.Passed != passed || got.Limited != limited || got.LimitedBy[rule] != limited || got.Other != 0 {
		t.Errorf("%s: got %+v, want %d passed and %d limited by %s", what, got, passed, limited, rule)
	}
}

// wantNoErrors fails the test if Envoy let any request through for want of an answer.
func wantNoErrors(t *testing.T, s *envoytest.Stack) envoytest.Limits {
	t.Helper()
	limits, err := s.Limits(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if limits.Errors != 0 {
		t.Errorf("%d calls got no answer, and their requests passed unlimited", limits.Errors)
	}
	if limits.OK == 0 {
		t.Error("Envoy counts no call that was answered OK")
	}
	return limits
}

// logged waits until a child's log has all of the texts in one line.
func logged(t *testing.T, p *envoytest.Process, texts ...string) {
	t.Helper()
	err := envoytest.Poll(soon(t), fmt.Sprintf("a log line with %q", texts), func(context.Context) (bool, error) {
	lines:
		for line := range strings.Lines(p.Log()) {
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue lines
				}
			}
			return true, nil
		}
		return false, nil
	})
	if err != nil {
		t.Error(err)
	}
}
