//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
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

// sidecardFails runs the binary, which must fail, and returns its exit code and what it printed.
func sidecardFails(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	out, err := exec.CommandContext(soon(t), sidecard(t), args...).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Errorf("sidecard %q: got %v, want it to fail", args, err)
		return 0, string(out)
	}
	return exit.ExitCode(), string(out)
}

// intruder is a second instance on the stack's socket; it must be refused for being one.
func intruder(t *testing.T, s *envoytest.Stack) {
	t.Helper()
	code, out := sidecardFails(t, "serve", "--rules", t.TempDir(), "--listen", "unix:"+s.Socket, "--http", "off", "--status", "off", "--admin", "off")
	want := fmt.Sprintf("already served by another process (pid %d, uid %d)", s.Sidecard.PID(), os.Getuid())
	if code != 1 || !strings.Contains(out, want) {
		t.Errorf("a second instance: got exit code %d and %s, want %q", code, out, want)
	}
}

// An abstract socket has no file: nothing is left of a daemon that was killed.
func TestAbstractSocket(t *testing.T) {
	t.Parallel()
	s, err := envoytest.Start(soon(t), envoytest.Options{
		Envoy: envoy(t), Sidecard: sidecard(t), Bootstrap: bootstrap, Dir: shortDir(t),
		Rules:  rules(t, rulesFile, closedOrders),
		Socket: fmt.Sprintf("@sidecard-e2e-%d", os.Getpid()),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	c := client(t, "")
	wantLimited(t, s, c)
	if out, err := health(t, s); err != nil {
		t.Errorf("healthcheck: %v, %s", err, out)
	}
	intruder(t, s)
	if got := send(t, c, 1, func() *http.Request { return request(t, http.MethodGet, s.URL+"/search") }); got.Passed != 1 {
		t.Errorf("a route without a rule: got %+v", got)
	}
	wantNoErrors(t, s)
	if err := s.Sidecard.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err == nil {
		t.Error("a killed daemon ended well")
	}
	restart(t, s)
	wantLimited(t, s, c)
}

// The socket is open to its group and to nobody else.
func TestSocketGroup(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to give the socket to a group and to be another user")
	}
	const group = 12345
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, fmt.Sprintf("socket: {mode: 0620, group: %d}\n", group))
	d := alone(t, 0, rules(t, rulesFile, closedOrders), "--config", config)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	info, err := os.Lstat(d.socket)
	if err != nil || info.Mode() != fs.ModeSocket|0o620 || info.Sys().(*syscall.Stat_t).Gid != group {
		t.Errorf("the socket is %v (%v), want mode 0620 and group %d", info, err, group)
	}
	dir := filepath.Dir(d.socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "bin")
	copyFile(t, sidecard(t), program)
	for _, who := range []struct {
		name   string
		groups []uint32
		want   string
	}{
		{"a stranger", []uint32{nobody}, "the mode or group of the socket or its directory shuts this user out"},
		{"a member", []uint32{nobody, group}, "SERVING"},
		{"one whose own group it is", []uint32{group}, "SERVING"},
	} {
		log := filepath.Join(t.TempDir(), "log")
		p, err := envoytest.StartProcessAs(nobody, who.groups, log, program, "healthcheck", "--addr", "unix:"+d.socket)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Wait(soon(t))
		if (err == nil) != (who.want == "SERVING") || !strings.Contains(p.Log(), who.want) {
			t.Errorf("%s: got %v and %s, want %q", who.name, err, p.Log(), who.want)
		}
	}
}

// A path that the kernel has no room for is explained, not truncated.
func TestSocketPathTooLong(t *testing.T) {
	t.Parallel()
	path := "/tmp/" + strings.Repeat("x", 103)
	code, out := sidecardFails(t, "serve", "--listen", "unix:"+path)
	if code != 2 || !strings.Contains(out, "the socket path is 108 bytes long and the kernel takes at most 107") {
		t.Errorf("got exit code %d and %s", code, out)
	}
}

// Instances that want the socket of another are refused, and that one does not notice.
func TestSecondInstanceUnderLoad(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, rulesFile, version(0)))
	c := client(t, "")
	inForce(t, s, c, 0)
	closedRoute, openRoute := keepSending(t, s, c, "/closed", 200), keepSending(t, s, c, "/orders", 100)
	for range 10 {
		intruder(t, s)
	}
	wantNoErrors(t, s)
	wantClosed(t, closedRoute.stop())
	wantOpen(t, openRoute.stop())
}

// A daemon that is killed and started again on its socket is found by Envoy by itself. Requests between
// pass unlimited, as failure_mode_deny says; none that is sent once it serves does.
func TestKillAndRestartUnderLoad(t *testing.T) {
	t.Parallel()
	const strict = 50
	s := ready(t, rules(t, rulesFile, fmt.Sprintf(`[
		{"id": "closed", "resource": "other", "count": 0},
		{"id": "strict", "resource": "search", "count": %d, "intervalSec": 1, "window": "strict"}
	]`, strict)))
	c := client(t, "")
	if err := envoytest.Poll(soon(t), "/closed to be refused", func(context.Context) (bool, error) {
		reply := envoytest.Send(c, request(t, http.MethodGet, s.URL+"/closed"))
		return reply.Limited(), reply.Err
	}); err != nil {
		t.Fatal(err)
	}
	closedRoute, strictRoute := keepSending(t, s, c, "/closed", 200), keepSending(t, s, c, "/search", 3*strict)
	killed := time.Now()
	if err := s.Sidecard.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err == nil {
		t.Error("a killed daemon ended well")
	}
	if err := s.StartSidecard(); err != nil {
		t.Fatal(err)
	}
	if err := envoytest.Poll(soon(t), "the daemon to serve again", func(ctx context.Context) (bool, error) {
		status, _, err := envoytest.Fetch(ctx, s.Status+"/readyz")
		return status == http.StatusOK, err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	serves := time.Now()
	if err := envoytest.Pause(t.Context(), 3*time.Second); err != nil {
		t.Fatal(err)
	}
	limits, err := s.Limits(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	open, last := 0, killed
	for _, r := range closedRoute.stop() {
		switch {
		case r.Err != nil:
			t.Errorf("a request failed: %+v", r)
		case r.Passed():
			open++
			last = r.Sent
			if r.Sent.After(serves) {
				t.Errorf("%v after the daemon served again a request passed", r.Sent.Sub(serves))
			}
		}
	}
	after := after(strictRoute.stop(), serves)
	if got := envoytest.MostWithin(after, time.Second); got > strict || got == 0 {
		t.Errorf("%d passed within a second after the restart, the limit is %d", got, strict)
	}
	t.Logf("the daemon served %v after the kill; %d requests passed a limit of 0, the last %v after the kill; Envoy counts %+v",
		serves.Sub(killed).Round(time.Millisecond), open, last.Sub(killed).Round(time.Millisecond), limits)
}

// after leaves out what was sent before.
func after(replies []envoytest.Reply, start time.Time) []envoytest.Reply {
	for len(replies) > 0 && replies[0].Sent.Before(start) {
		replies = replies[1:]
	}
	return replies
}

// clusterCounter reads a counter of Envoy's cluster of the daemon.
func clusterCounter(t *testing.T, s *envoytest.Stack, name string) int64 {
	t.Helper()
	_, stats, err := envoytest.Fetch(soon(t), s.AdminURL+"/stats?filter=cluster.sidecard")
	if err != nil {
		t.Fatal(err)
	}
	n, err := envoytest.EnvoyCounter(stats, "cluster.sidecard."+name)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// As long as Envoy stays, a daemon that was told to stop decides every request, for longer than Envoy's
// health check needs to take out a daemon that says that it is not serving. It ends once Envoy has left.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, rulesFile, version(0)), "--drain", "10m")
	c := client(t, "")
	inForce(t, s, c, 0)
	closedRoute, openRoute := keepSending(t, s, c, "/closed", 200), keepSending(t, s, c, "/orders", 200)
	if err := s.Sidecard.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	logged(t, s.Sidecard, "stopping, serving open connections until they leave")
	if status, _, err := envoytest.Fetch(soon(t), s.Status+"/readyz"); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("/readyz: got %d, %v, want 503 at once", status, err)
	}
	checks := clusterCounter(t, s, "health_check.attempt")
	if err := envoytest.Poll(soon(t), "Envoy to have checked five times", func(context.Context) (bool, error) {
		return clusterCounter(t, s, "health_check.attempt") >= checks+5, nil
	}); err != nil {
		t.Fatal(err)
	}
	if healthy, err := s.Healthy(soon(t)); err != nil || !healthy {
		t.Errorf("Envoy passes by a daemon that still answers (%v)", err)
	}
	limits := wantNoErrors(t, s)
	refusals, passes := closedRoute.stop(), openRoute.stop()
	wantClosed(t, refusals)
	wantOpen(t, passes)
	if err := s.Envoy.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err != nil {
		t.Errorf("the daemon did not end well: %v", err)
	}
	if _, err := os.Lstat(s.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there (%v)", err)
	}
	t.Logf("%d requests while stopping: Envoy counts %+v", len(refusals)+len(passes), limits)
}

// When the time to drain is over under a load that does not end, calls that have reached the daemon are
// answered: Envoy sees no call broken off. Those that it makes later find nobody.
func TestStopAnswersWhatItAccepted(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, rulesFile, version(0)), "--drain", "1s")
	c := client(t, "")
	inForce(t, s, c, 0)
	loads := []*load{keepSending(t, s, c, "/closed", 400), keepSending(t, s, client(t, ""), "/orders", 400)}
	if err := s.Sidecard.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Sidecard.Wait(soon(t)); err != nil {
		t.Errorf("the daemon did not end well: %v", err)
	}
	for _, l := range loads {
		for _, r := range l.stop() {
			if r.Err != nil {
				t.Fatalf("a request failed: %+v", r)
			}
		}
	}
	for _, name := range []string{"upstream_rq_rx_reset", "upstream_cx_destroy_remote_with_active_rq", "upstream_rq_timeout"} {
		if got := clusterCounter(t, s, name); got != 0 {
			t.Errorf("%s: %d calls were broken off", name, got)
		}
	}
	limits, err := s.Limits(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Envoy counts %+v, of the errors %d could not connect and %d found the daemon unhealthy", limits,
		clusterCounter(t, s, "upstream_rq_pending_failure_eject"), clusterCounter(t, s, "upstream_cx_none_healthy"))
}

// A file that another instance has put in the place of the socket is left to it.
func TestStopLeavesTheSocketOfAnother(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, rulesFile, closedOrders), "--drain", "100ms")
	c := client(t, "")
	wantLimited(t, s, c)
	if err := os.Remove(s.Socket); err != nil { // as one does who cleans a directory
		t.Fatal(err)
	}
	first := s.Sidecard
	other, err := envoytest.StartProcess(filepath.Join(shortDir(t), "log"), sidecard(t),
		"serve", "--rules", rules(t, rulesFile, closedOrders), "--listen", "unix:"+s.Socket, "--http", "off", "--status", "off", "--admin", "off")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	logged(t, other, "ready, serving decisions")
	before, err := os.Lstat(s.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Lstat(s.Socket); err != nil || !os.SameFile(before, now) {
		t.Errorf("the other's socket is %v (%v)", now, err)
	}
	wantLimited(t, s, c)
}
