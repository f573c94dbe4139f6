//go:build e2e

package e2e

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// serviceManager is what systemd is to a daemon: it owns the sockets and hears how the daemon is.
type serviceManager struct {
	t             *testing.T
	dir           string
	socket        *net.UnixListener
	status        *net.TCPListener
	notifications *net.UnixConn
	heard         []string
}

func newServiceManager(t *testing.T) *serviceManager {
	t.Helper()
	m := &serviceManager{t: t, dir: shortDir(t)}
	var err1, err2, err3 error
	m.socket, err1 = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(m.dir, "sidecard.sock")})
	m.status, err2 = net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	m.notifications, err3 = net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(m.dir, "notify")})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.socket.Close()
		m.status.Close()
		m.notifications.Close()
	})
	return m
}

// start starts a daemon as systemd does: the sockets are its descriptors from 3 on, and its own process id
// stands in LISTEN_PID.
func (m *serviceManager) start(names string, args ...string) *envoytest.Process {
	m.t.Helper()
	socket, err1 := m.socket.File()
	status, err2 := m.status.File()
	if err := errors.Join(err1, err2); err != nil {
		m.t.Fatal(err)
	}
	defer socket.Close()
	defer status.Close()
	args = append([]string{"-i", "LISTEN_FDS=2", "LISTEN_FDNAMES=" + names, "NOTIFY_SOCKET=" + filepath.Join(m.dir, "notify"),
		"sh", "-c", `LISTEN_PID=$$; export LISTEN_PID; exec "$@"`, "sh", sidecard(m.t), "serve", "--drain", "1s", "--http", "off", "--admin", "off"}, args...)
	p, err := envoytest.StartProcessInheriting([]*os.File{socket, status}, filepath.Join(m.dir, "log"), "env", args...)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := p.Stop(time.Minute); err != nil {
			m.t.Error(err)
		}
		if m.t.Failed() {
			m.t.Log("end of the log:\n" + p.Tail(30))
		}
	})
	return p
}

// hear waits for a message that has the given assignment, and returns it.
func (m *serviceManager) hear(assignment string) string {
	m.t.Helper()
	deadline, _ := soon(m.t).Deadline()
	m.notifications.SetReadDeadline(deadline)
	message := make([]byte, 4096)
	for {
		n, err := m.notifications.Read(message)
		if err != nil {
			m.t.Fatalf("waiting for %s: %v; heard %q", assignment, err, m.heard)
		}
		m.heard = append(m.heard, string(message[:n]))
		for line := range strings.Lines(string(message[:n])) {
			if strings.TrimSpace(line) == assignment {
				return string(message[:n])
			}
		}
	}
}

// Sockets that a service manager passes are served in place of the configured ones, and stay when the daemon
// ends: what connects between two daemons is served by the second.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t)
	dir := rules(t, rulesFile, closedOrders)
	first := m.start("listen:status", "--rules", dir)
	if got := m.hear("READY=1"); !strings.Contains(got, "STATUS=Serving 1 rules") {
		t.Errorf("when ready it says %q", got)
	}
	logged(t, first, "ready, serving decisions", m.socket.Addr().String(), m.status.Addr().String(), `"rules":1`, `"version":"`)
	d := &daemon{Process: first, t: t, socket: m.socket.Addr().String(), address: m.status.Addr().String()}
	if status, _ := d.read("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d", status)
	}
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	conn.Close()

	if err := first.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	m.hear("STOPPING=1")
	if err := first.Wait(soon(t)); err != nil {
		t.Fatalf("it did not end well: %v", err)
	}

	// Nobody serves the socket, and all these connections are made.
	const callers = 50
	connected, answers := make(chan struct{}, callers), make(chan error, callers)
	for range callers {
		go func() {
			conn, err := grpc.NewClient("passthrough:///queued", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
					defer func() { connected <- struct{}{} }()
					return new(net.Dialer).DialContext(ctx, "unix", d.socket)
				}))
			if err == nil {
				defer conn.Close()
				var code rlspb.RateLimitResponse_Code
				if code, err = decide(t.Context(), conn, "orders"); err == nil && code != rlspb.RateLimitResponse_OVER_LIMIT {
					err = errors.New(code.String())
				}
			}
			answers <- err
		}()
	}
	for range callers {
		<-connected
	}
	m.start("listen:status", "--rules", dir)
	for range callers {
		if err := <-answers; err != nil {
			t.Errorf("a call that waited for the second daemon: %v", err)
		}
	}
	if len(connected) > 0 {
		t.Errorf("%d connections were lost and made anew", len(connected))
	}
}

// One setting may have several sockets, each of which is served.
func TestSeveralSocketsOfOneName(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t)
	m.start("listen:listen", "--rules", rules(t, rulesFile, closedOrders), "--status", "off")
	m.hear("READY=1")
	for _, target := range []string{"unix:" + m.socket.Addr().String(), "passthrough:///" + m.status.Addr().String()} {
		conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if code, err := decide(t.Context(), conn, "orders"); err != nil || code != rlspb.RateLimitResponse_OVER_LIMIT {
			t.Errorf("%s: got %v, %v", target, code, err)
		}
	}
}

// Rules that are wrong hold up nothing: what waits for the daemon starts, and the failure mode decides.
func TestServiceManagerHearsOfWrongRules(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t)
	dir := rules(t, rulesFile, `[{"resource": "orders", "cuont": 1}]`)
	m.start("listen:status", "--rules", dir)
	if got := m.hear("READY=1"); !strings.Contains(got, "STATUS=Not serving") {
		t.Errorf("with wrong rules it says %q", got)
	}
	write(t, filepath.Join(dir, rulesFile), closedOrders)
	m.hear("STATUS=Serving 1 rules")
	write(t, filepath.Join(dir, rulesFile), "[{]")
	m.hear("STATUS=Serving 1 rules; newer rule files are wrong, see the log")
}

// A socket that stands for no setting is a mistake in a unit file, which an open socket that nobody serves
// would hide.
func TestSocketsOfUnknownNameAreRefused(t *testing.T) {
	t.Parallel()
	m := newServiceManager(t)
	p := m.start("listen:sidecard.socket", "--rules", rules(t, rulesFile, closedOrders), "--status", "off")
	if err := p.Wait(soon(t)); err == nil || !strings.Contains(p.Log(), `is called "sidecard.socket"; FileDescriptorName= must say what is served there: listen or http or status or admin`) {
		t.Errorf("got %v and %s", err, p.Log())
	}
}
