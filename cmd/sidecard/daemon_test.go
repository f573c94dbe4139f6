package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests. It is reached only when something is broken.
const patience = 30 * time.Second

// running is a daemon that runs inside the test.
type running struct {
	t      *testing.T
	dir    string // short enough for socket paths; holds rules/, rls.sock, http.sock, status.sock and admin.sock
	log    *logLines
	stop   context.CancelFunc
	kill   context.CancelFunc
	exited chan int
}

// start runs `sidecard serve` on sockets in a directory of its own, reading rules/ there. prepare
// fills that directory first; nil leaves rules/ away.
func start(t *testing.T, prepare func(rules string), flags ...string) *running {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &running{t: t, dir: dir, log: newLogLines(), exited: make(chan int, 1)}
	if prepare != nil {
		if err := os.Mkdir(d.path("rules"), 0o755); err != nil {
			t.Fatal(err)
		}
		prepare(d.path("rules"))
	}
	kill, cancelKill := context.WithCancel(context.Background())
	stop, cancelStop := context.WithCancel(kill)
	d.stop, d.kill = cancelStop, cancelKill
	args := append([]string{"serve", "--rules", d.path("rules"), "--listen", "unix:" + d.path("rls.sock"),
		"--http", "unix:" + d.path("http.sock"), "--status", "unix:" + d.path("status.sock"), "--admin", "unix:" + d.path("admin.sock"), "--log-level", "debug"}, flags...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.exited <- run(process{
			lookup: nothingSet,
			stdout: io.Discard,
			stderr: d.log,
			stop:   stop,
			kill:   kill,
		}, args)
	}()
	t.Cleanup(func() {
		cancelKill()
		<-ended
		if t.Failed() {
			t.Logf("the daemon's log:\n%s", strings.Join(d.log.all(), ""))
		}
	})
	return d
}

// nothingSet is an environment without variables.
func nothingSet(string) (string, bool) { return "", false }

func (d *running) path(name string) string { return filepath.Join(d.dir, name) }

// exit waits for the daemon to end and returns its exit code.
func (d *running) exit() int {
	d.t.Helper()
	select {
	case code := <-d.exited:
		return code
	case <-time.After(patience):
		d.t.Fatal("the daemon does not end")
		return 0
	}
}

// dial returns a connection to the daemon as Envoy would have one.
func (d *running) dial() *grpc.ClientConn {
	d.t.Helper()
	conn, err := grpc.NewClient("unix:"+d.path("rls.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	return conn
}

// ask sends one descriptor for a resource and returns the answer's code.
func ask(t *testing.T, conn *grpc.ClientConn, resource string) (rlspb.RateLimitResponse_Code, error) {
	t.Helper()
	return send(t, conn, "resource", resource)
}

// send sends one descriptor of those keys and values and returns the answer's code.
func send(t *testing.T, conn *grpc.ClientConn, pairs ...string) (rlspb.RateLimitResponse_Code, error) {
	t.Helper()
	d := new(commonpb.RateLimitDescriptor)
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &commonpb.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := rlspb.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx,
		&rlspb.RateLimitRequest{Domain: "test", Descriptors: []*commonpb.RateLimitDescriptor{d}}, grpc.WaitForReady(true))
	return answer.GetOverallCode(), err
}

// passes asks n times and returns how many were let pass.
func passes(t *testing.T, conn *grpc.ClientConn, resource string, n int) int {
	t.Helper()
	passed := 0
	for range n {
		code, err := ask(t, conn, resource)
		if err != nil {
			t.Fatal(err)
		}
		if code == rlspb.RateLimitResponse_OK {
			passed++
		}
	}
	return passed
}

// get reads a page of the status address.
func (d *running) get(page string) (code int, body string) {
	d.t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", d.path("status.sock"))
		},
	}
	answer, err := (&http.Client{Transport: transport, Timeout: patience}).Get("http://sidecard" + page)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// healthcheck runs the sub-command against the daemon.
func (d *running) healthcheck(flags ...string) (code int, line string) {
	d.t.Helper()
	args := append([]string{"healthcheck", "--addr", "unix:" + d.path("rls.sock")}, flags...)
	code, line, _ = command{t: d.t, args: args}.run()
	return code, line
}

// put replaces a rule file the way editors do: in one step.
func put(t *testing.T, dir, name, content string) {
	t.Helper()
	temp := filepath.Join(dir, "."+name)
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// logLines collects a log and lets a test wait for a line of it.
type logLines struct {
	mu      sync.Mutex
	lines   []string      // guarded by mu
	changed chan struct{} // closed and renewed with every line; guarded by mu
}

func newLogLines() *logLines { return &logLines{changed: make(chan struct{})} }

// Write takes one line, as zerolog writes them.
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(bytes.Clone(p)))
	close(l.changed)
	l.changed = make(chan struct{})
	return len(p), nil
}

func (l *logLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[:len(l.lines):len(l.lines)]
}

// wait returns the fields of the nth line, from 1, with that message.
func (l *logLines) wait(t *testing.T, message string, nth int) map[string]any {
	t.Helper()
	enough := time.After(patience)
	for {
		l.mu.Lock()
		lines, changed := l.lines, l.changed
		l.mu.Unlock()
		found := 0
		for _, line := range lines {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil && fields["message"] == message {
				if found++; found == nth {
					return fields
				}
			}
		}
		select {
		case <-changed:
		case <-enough:
			t.Fatalf("line %d %q is not in the log", nth, message)
		}
	}
}
