//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

const rulesFile = "gw-flow-rules.json"

// load is requests to a path that go on in the background.
type load struct {
	end     context.CancelFunc
	replies chan []envoytest.Reply
}

func keepSending(t *testing.T, s *envoytest.Stack, c *http.Client, path string, perSecond int) *load {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	l := &load{end: end, replies: make(chan []envoytest.Reply, 1)}
	go func() {
		l.replies <- envoytest.Load{Every: time.Second / time.Duration(perSecond), Total: 1 << 16, Request: func(int) *http.Request {
			return request(t, http.MethodGet, s.URL+path)
		}}.Run(ctx, c)
	}()
	t.Cleanup(end)
	return l
}

// stop ends the load and returns the replies, without those to requests that the end cut off.
func (l *load) stop() []envoytest.Reply {
	l.end()
	return slices.DeleteFunc(<-l.replies, func(r envoytest.Reply) bool { return errors.Is(r.Err, context.Canceled) })
}

// wantClosed fails the test if there was a moment without rules: one pass where the limit is 0.
func wantClosed(t *testing.T, replies []envoytest.Reply) {
	t.Helper()
	if got := envoytest.Count(replies); got.Limited != got.Sent || got.LimitedBy["closed"] != got.Sent || got.Sent == 0 {
		t.Errorf("a moment without rules: %+v on a route whose limit is 0", got)
	}
}

// wantOpen fails the test if a request was refused that is far below its limit, or got no answer.
func wantOpen(t *testing.T, replies []envoytest.Reply) {
	t.Helper()
	if got := envoytest.Count(replies); got.Passed != got.Sent || got.Sent == 0 {
		t.Errorf("a call failed: %+v on a route far below its limit", got)
	}
}

// A ConfigMap whose files and names change fifty times: each version is loaded once, and at no moment
// is there none.
func TestFiftySwapsUnderLoad(t *testing.T) {
	t.Parallel()
	const swaps = 50
	dir := t.TempDir()
	swap := func(n int) {
		t.Helper()
		files := map[string][]byte{rulesFile: []byte(version(n))}
		if n%2 == 1 { // a name comes and goes
			files[fmt.Sprintf("%d-gw-flow-rules.json", n)] = []byte(`[{"id": "extra", "resource": "cart", "count": 1}]`)
		}
		if err := configmap.Write(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	swap(0)
	s := ready(t, dir)
	c := client(t, "")
	inForce(t, s, c, 0)
	closedRoute, openRoute := keepSending(t, s, c, "/closed", 150), keepSending(t, s, c, "/orders", 150)
	seen := map[string]bool{revision(t, s): true}
	start := time.Now()
	for n := 1; n <= swaps; n++ {
		swap(n)
		inForce(t, s, c, n)
		seen[revision(t, s)] = true
	}
	took := time.Since(start)
	limits := wantNoErrors(t, s)
	refusals, passes := closedRoute.stop(), openRoute.stop()
	wantClosed(t, refusals)
	wantOpen(t, passes)
	if len(seen) != swaps+1 {
		t.Errorf("%d revisions were in force, want %d", len(seen), swaps+1)
	}
	if good, bad, err := reloads(soon(t), s); err != nil || good != swaps+1 || bad != 0 {
		t.Errorf("loaded %d times, refused %d times (%v), want %d and 0", good, bad, err, swaps+1)
	}
	t.Logf("%d swaps in %v, %v from a swap to its effect on average, under %d requests: Envoy counts %+v",
		swaps, took.Round(time.Millisecond), (took / swaps).Round(time.Millisecond), len(refusals)+len(passes), limits)
}

// run runs a program of the system, or skips what needs it.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s here", name)
	}
	if out, err := exec.CommandContext(soon(t), program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// Whatever program saves a rule file, and however it does, each save is loaded once, and neither in
// between nor while the file is gone, empty or half written is there a moment without rules.
func TestSavesUnderLoad(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	path := func(elements ...string) string { return filepath.Join(append([]string{base}, elements...)...) }
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(t, os.Mkdir(path("v0"), 0o755))
	must(t, os.Symlink("v0", path("current")))
	file := path("current", rulesFile)
	write(t, file, version(0))
	s := ready(t, path("current"))
	c := client(t, "")
	inForce(t, s, c, 0)
	closedRoute, openRoute := keepSending(t, s, c, "/closed", 150), keepSending(t, s, c, "/orders", 150)

	n, saves := 0, 1 // the version that is in force, how many were
	for _, way := range []struct {
		name   string
		atomic bool // at no moment is the file anything but one version
		save   func(t *testing.T)
	}{
		{"sed -i", true, func(t *testing.T) {
			run(t, "sed", "-i", fmt.Sprintf(`s/"count": 1[0-9]*/"count": %d/`, 1000+n), file)
		}},
		{"mv", true, func(t *testing.T) {
			write(t, path("next"), version(n))
			run(t, "mv", path("next"), file)
		}},
		{"cp", false, func(t *testing.T) {
			write(t, path("next"), version(n))
			run(t, "cp", path("next"), file)
		}},
		{"vim", false, func(t *testing.T) {
			run(t, "vim", "-es", "-u", "NONE", "-c", "set nocompatible backup writebackup backupcopy=no",
				"-c", fmt.Sprintf(`%%s/"count": 1\d*/"count": %d/`, 1000+n), "-c", "wq", file)
		}},
		{"backup by renaming, as vim and emacs do", false, func(t *testing.T) {
			must(t, os.Rename(file, file+"~"))
			must(t, os.WriteFile(file, []byte(version(n)), 0o644))
			must(t, os.Remove(file+"~"))
		}},
		{"truncate and write", false, func(t *testing.T) {
			must(t, os.Truncate(file, 0))
			must(t, os.WriteFile(file, []byte(version(n)), 0o644))
		}},
		{"truncate, be read, write", false, func(t *testing.T) {
			_, before, err := reloads(soon(t), s)
			must(t, err)
			must(t, os.Truncate(file, 0))
			must(t, envoytest.Poll(soon(t), "the empty file to be refused", func(ctx context.Context) (bool, error) {
				_, bad, err := reloads(ctx, s)
				return bad > before, err
			}))
			must(t, os.WriteFile(file, []byte(version(n)), 0o644))
		}},
		{"write half, be read, write all", false, func(t *testing.T) {
			_, before, err := reloads(soon(t), s)
			must(t, err)
			must(t, os.WriteFile(file, []byte(version(n))[:60], 0o644))
			must(t, envoytest.Poll(soon(t), "the half file to be refused", func(ctx context.Context) (bool, error) {
				_, bad, err := reloads(ctx, s)
				return bad > before, err
			}))
			must(t, os.WriteFile(file, []byte(version(n)), 0o644))
		}},
		{"ln -sfn", true, func(t *testing.T) {
			must(t, os.Mkdir(path("v1"), 0o755))
			write(t, path("v1", rulesFile), version(n))
			run(t, "ln", "-sfn", "v1", path("current"))
		}},
		{"unlink and symlink, as other ln do", false, func(t *testing.T) {
			must(t, os.Mkdir(path("v2"), 0o755))
			write(t, path("v2", rulesFile), version(n))
			must(t, os.Remove(path("current")))
			must(t, os.Symlink("v2", path("current")))
		}},
		{"delete the directory, be read, make it again", false, func(t *testing.T) {
			_, before, err := reloads(soon(t), s)
			must(t, err)
			must(t, os.RemoveAll(path("v2")))
			must(t, envoytest.Poll(soon(t), "the loss to be seen", func(ctx context.Context) (bool, error) {
				_, bad, err := reloads(ctx, s)
				return bad > before, err
			}))
			must(t, os.Mkdir(path("v2"), 0o755))
			must(t, os.WriteFile(file, []byte(version(n)), 0o644))
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			_, before, err := reloads(soon(t), s)
			must(t, err)
			n++
			way.save(t)
			saves++
			inForce(t, s, c, n)
			good, bad, err := reloads(soon(t), s)
			if err != nil || good != saves {
				t.Errorf("loaded %d times, %v, want %d", good, err, saves)
			}
			if way.atomic && bad != before {
				t.Errorf("refused %d times, want never", bad-before)
			}
		})
	}
	wantNoErrors(t, s)
	wantClosed(t, closedRoute.stop())
	wantOpen(t, openRoute.stop())
}

// What became of each reading is in the metrics, on the status page and in the log: the revision, the
// time, and the error of the newest.
func TestReloadsAreReported(t *testing.T) {
	t.Parallel()
	dir := rules(t, rulesFile, version(0))
	d := alone(t, 0, dir)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	first, since := d.revision(), d.metric("sidecard_rules_last_success_timestamp_seconds")
	if age := time.Since(time.UnixMilli(int64(since * 1000))); age < -time.Minute || age > time.Hour {
		t.Errorf("loaded %v ago", age)
	}

	write(t, filepath.Join(dir, rulesFile), `[{"resource": "orders", "cuont": 1}]`)
	d.untilMetric(0, "sidecard_rules_last_reload_successful")
	if got := d.metric("sidecard_rules_reloads_total", `result="error"`); got != 1 {
		t.Errorf("%v errors are counted, want 1", got)
	}
	if d.revision() != first || d.metric("sidecard_rules_last_success_timestamp_seconds") != since {
		t.Error("an error changed the revision or the time of the last success")
	}
	if status, body := d.read("/readyz?verbose"); status != http.StatusOK || !strings.Contains(body, "last error: since ") || !strings.Contains(body, "cuont") {
		t.Errorf("/readyz?verbose: got %d and %s", status, body)
	}
	logged(t, d.Process, `"level":"error"`, "rules not applied, those before stay in force", rulesFile+":1:25", "cuont", `"revision":"`, `"time":"`)

	write(t, filepath.Join(dir, rulesFile), version(1))
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	if d.revision() == first || d.metric("sidecard_rules_last_success_timestamp_seconds") <= since {
		t.Error("the revision or the time of the last success is the old one")
	}
	if _, body := d.read("/readyz?verbose"); !strings.HasSuffix(body, "last error: none\n") {
		t.Errorf("/readyz?verbose: got %s", body)
	}
	logged(t, d.Process, `"level":"info"`, "rules applied", `"recovered":true`, `"revision":"`, `"time":"`)
}

// A directory that may not be read, and then a file, are errors that say so; nothing is written to a
// directory of rules, so that one that is read-only will do.
func TestUnreadableRules(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to be another user than the one who owns the rules")
	}
	dir := filepath.Join(shortDir(t), "rules")
	chmod := func(mode os.FileMode, path string) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	chmod(0o755, filepath.Dir(dir))
	file := filepath.Join(dir, rulesFile)
	write(t, file, closedOrders)

	d := alone(t, nobody, dir)
	logged(t, d.Process, "rules not applied, none are in force yet", dir+": permission denied")
	if status, body := d.read("/readyz?verbose"); status != http.StatusServiceUnavailable || !strings.Contains(body, "permission denied") {
		t.Errorf("/readyz?verbose: got %d and %s", status, body)
	}
	chmod(0o555, dir)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)

	chmod(0, file)
	d.untilMetric(0, "sidecard_rules_last_reload_successful")
	logged(t, d.Process, "those before stay in force", file+": permission denied")
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	chmod(0o444, file)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")

	write(t, file, `[{"id": "closed", "resource": "search", "count": 0}]`) // the owner may
	d.until("the new rules", func(ctx context.Context) (bool, error) {
		code, err := decide(ctx, conn, "search")
		return code == rlspb.RateLimitResponse_OVER_LIMIT, err
	})
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OK)
}

// A daemon that is stopped loses events once the kernel's queue is full. It reads anew when it goes on.
func TestLostNotifications(t *testing.T) {
	t.Parallel()
	setting, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip("no inotify here")
	}
	var queue int
	if _, err := fmt.Sscan(string(setting), &queue); err != nil || queue > 1<<16 {
		t.Skipf("a queue of %s events is too long to be filled", bytes.TrimSpace(setting))
	}
	dir := rules(t, rulesFile, closedOrders)
	file := filepath.Join(dir, rulesFile)
	d := alone(t, 0, dir, "--log-level", "debug")
	d.untilMetric(1, "sidecard_rules_reloads_total", `result="success"`)
	if err := d.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range queue { // two events in turn, since the kernel merges equal ones
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(t, file, `[{"id": "closed", "resource": "search", "count": 0}]`)
	if err := d.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	logged(t, d.Process, "notifications of changes to rule files were lost", "overflow")
	d.untilMetric(2, "sidecard_rules_reloads_total", `result="success"`)
	conn := d.connect()
	d.wantCode(conn, "search", rlspb.RateLimitResponse_OVER_LIMIT)
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OK)
}
