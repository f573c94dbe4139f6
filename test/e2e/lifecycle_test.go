//go:build e2e

package e2e

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

const closedOrders = `[{"id": "closed", "resource": "orders", "count": 0}]`

// health runs `sidecard healthcheck` against the stack's socket.
func health(t *testing.T, s *envoytest.Stack) (output string, err error) {
	t.Helper()
	out, err := exec.CommandContext(soon(t), sidecard(t), "healthcheck", "--addr", "unix:"+s.Socket).CombinedOutput()
	return string(out), err
}

// wantLimited waits until Envoy refuses /orders, which it does as soon as it asks a daemon that has
// the rules.
func wantLimited(t *testing.T, s *envoytest.Stack, c *http.Client) {
	t.Helper()
	err := envoytest.Poll(soon(t), "/orders to be refused", func(context.Context) (bool, error) {
		reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders"))
		return reply.Limited(), reply.Err
	})
	if err != nil {
		t.Error(err)
	}
}

// Without a good rule set the daemon runs but does not serve, and Envoy's failure mode decides.
func TestNotServingBeforeTheFirstGoodRules(t *testing.T) {
	t.Parallel()
	dir := rules(t, "gw-flow-rules.json", `[{"resource": "orders", "count": `)
	s := stack(t, dir)
	if out, err := health(t, s); err == nil || !strings.Contains(out, "NOT_SERVING") {
		t.Errorf("healthcheck: %v, %s", err, out)
	}
	if status, body, err := envoytest.Fetch(soon(t), s.Status+"/readyz"); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: %d %s, %v", status, body, err)
	}
	if healthy, err := s.Healthy(soon(t)); err != nil || healthy {
		t.Errorf("Envoy finds the daemon healthy (%v)", err)
	}
	c := client(t, "")
	if reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders")); !reply.Passed() {
		t.Errorf("failure_mode_deny is false, got status %d, %v", reply.Status, reply.Err)
	}
	write(t, filepath.Join(dir, "gw-flow-rules.json"), closedOrders)
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := health(t, s); err != nil {
		t.Errorf("healthcheck: %v, %s", err, out)
	}
	wantLimited(t, s, c)
}

// SIGTERM under load: no request fails, the daemon ends by itself with status 0 and takes its
// socket with it; the next daemon takes over on the same socket.
func TestTerminationAndRestart(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", closedOrders), "--drain", "1s")
	c := client(t, "")
	wantLimited(t, s, c)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	loaded := make(chan []envoytest.Reply, 1)
	go func() {
		load := envoytest.Load{Every: time.Second / 100, Total: 1 << 16, Request: func(int) *http.Request {
			return request(t, http.MethodGet, s.URL+"/search")
		}}
		loaded <- load.Run(ctx, c)
	}()
	if err := s.Sidecard.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err != nil {
		t.Errorf("the daemon did not end well: %v", err)
	}
	if _, err := os.Lstat(s.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there (%v)", err)
	}
	restart(t, s)
	wantLimited(t, s, c)
	stop()
	for _, r := range <-loaded {
		if !r.Passed() && !errors.Is(r.Err, context.Canceled) {
			t.Fatalf("a request failed: %+v", r)
		}
	}
}

// A daemon that was killed leaves its socket behind; the next one removes it.
func TestRestartOnTheSocketOfADeadDaemon(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", closedOrders))
	c := client(t, "")
	wantLimited(t, s, c)
	if err := s.Sidecard.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err == nil {
		t.Error("a killed daemon ended well")
	}
	if reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/orders")); !reply.Passed() {
		t.Errorf("without a daemon failure_mode_deny decides, got %+v", reply)
	}
	if limits, err := s.Limits(soon(t)); err != nil || limits.Errors == 0 {
		t.Errorf("Envoy counts no error without a daemon: %+v, %v", limits, err)
	}
	if info, err := os.Lstat(s.Socket); err != nil || info.Mode()&fs.ModeSocket == 0 {
		t.Fatalf("want a stale socket, got %v, %v", info, err)
	}
	restart(t, s)
	wantLimited(t, s, c)
}

func restart(t *testing.T, s *envoytest.Stack) {
	t.Helper()
	if err := s.StartSidecard(); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
}

// Everyone who may use the socket is its owner or in its group.
func TestSocketMode(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", closedOrders))
	info, err := os.Lstat(s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o660 {
		t.Errorf("mode: got %o, want 660", got)
	}
	other, err := envoytest.StartProcess(filepath.Join(shortDir(t), "log"), sidecard(t),
		"serve", "--rules", t.TempDir(), "--listen", "unix:"+s.Socket, "--http", "off", "--status", "off", "--admin", "off")
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Wait(soon(t)); err == nil || !strings.Contains(other.Log(), s.Socket) {
		t.Errorf("a second daemon on a live socket: %v, %s", err, other.Log())
	}
	wantLimited(t, s, client(t, ""))
}
