//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// A pod ends in one of these orders, under a load that never does. A request that reaches the application
// was let through for want of an answer: on a route whose limit is 0 that must not happen, neither before
// Envoy ends nor while it does. sidecard ends when Envoy has gone, long before its drain is over.
func TestPodEnds(t *testing.T) {
	t.Parallel()
	terminate := func(t *testing.T, p *envoytest.Process) {
		t.Helper()
		if err := p.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	envoyHasGone := func(t *testing.T, s *envoytest.Stack) {
		t.Helper()
		if err := s.Envoy.Wait(soon(t)); err != nil {
			t.Errorf("Envoy did not end well: %v", err)
		}
	}
	for name, end := range map[string]func(*testing.T, *envoytest.Stack){
		// The kubelet stops what is below sidecard among the native sidecars, and all other containers, first.
		"native": func(t *testing.T, s *envoytest.Stack) {
			terminate(t, s.Envoy)
			envoyHasGone(t, s)
			terminate(t, s.Sidecard)
		},
		// Without preStop sleeps all containers are told at once.
		"together": func(t *testing.T, s *envoytest.Stack) {
			terminate(t, s.Sidecard)
			terminate(t, s.Envoy)
			envoyHasGone(t, s)
		},
		// A preStop sleep of Envoy's, for which sidecard has been told too early.
		"sidecard first": func(t *testing.T, s *envoytest.Stack) {
			terminate(t, s.Sidecard)
			logged(t, s.Sidecard, "stopping, serving open connections until they leave")
			checks := clusterCounter(t, s, "health_check.attempt")
			if err := envoytest.Poll(soon(t), "Envoy to have checked five times", func(context.Context) (bool, error) {
				return clusterCounter(t, s, "health_check.attempt") >= checks+5, nil
			}); err != nil {
				t.Fatal(err)
			}
			terminate(t, s.Envoy)
			envoyHasGone(t, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ready(t, rules(t, rulesFile, closedOrders), "--drain", "10m")
			c := client(t, "")
			wantLimited(t, s, c)
			before := s.Upstream.Served()
			closed := keepSending(t, s, c, "/orders", 200)
			if err := envoytest.Poll(soon(t), "the load", func(ctx context.Context) (bool, error) {
				limits, err := s.Limits(ctx)
				return limits.Over >= 50, err
			}); err != nil {
				t.Fatal(err)
			}
			told := time.Now()
			end(t, s)
			if err := s.Sidecard.Wait(soon(t)); err != nil {
				t.Errorf("sidecard did not end well: %v", err)
			}
			if _, err := os.Lstat(s.Socket); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is still there (%v)", err)
			}
			replies := closed.stop()
			for _, r := range replies {
				if !r.Limited() && (r.Err == nil || r.Done.Before(told)) {
					t.Fatalf("a request on a route whose limit is 0 was not refused: %+v, the end began at %v", r, told)
				}
			}
			if got := s.Upstream.Served() - before; got != 0 {
				t.Errorf("%d requests were let through", got)
			}
			t.Logf("%d requests, of which Envoy answered %d", len(replies), envoytest.Count(replies).Limited)
		})
	}
}
