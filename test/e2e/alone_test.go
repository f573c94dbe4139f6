//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// nobody is a user that no rule file and no socket is made for.
const nobody = 65534

// daemon is a built daemon without an Envoy.
type daemon struct {
	*envoytest.Process
	t       *testing.T
	socket  string
	http    string // socket of the local API
	admin   string // socket of the admin address
	address string // of the status port
}

// alone starts a daemon on a socket of its own, as the given user if that is not 0, and ends it with
// the test. It waits until the status port answers.
func alone(t *testing.T, uid uint32, rules string, args ...string) *daemon {
	t.Helper()
	dir := shortDir(t)
	port, err := envoytest.FreePort(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, socket: filepath.Join(dir, "sidecard.sock"), http: filepath.Join(dir, "http.sock"), admin: filepath.Join(dir, "admin.sock"), address: "127.0.0.1:" + strconv.Itoa(port)}
	program, log := sidecard(t), filepath.Join(dir, "log")
	args = append([]string{"serve", "--rules", rules, "--listen", "unix:" + d.socket, "--http", "unix:" + d.http, "--status", "tcp:" + d.address, "--admin", "unix:" + d.admin}, args...)
	if uid == 0 {
		d.Process, err = envoytest.StartProcess(log, program, args...)
	} else {
		public := filepath.Join(dir, "bin") // where this user can reach it
		copyFile(t, program, public)
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		d.Process, err = envoytest.StartProcessAs(uid, []uint32{uid}, log, public, args...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(time.Minute); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("end of the log:\n" + d.Tail(30))
		}
	})
	d.until("the status port", func(ctx context.Context) (bool, error) {
		status, _, err := envoytest.Fetch(ctx, d.page("/livez"))
		return status == http.StatusOK, err
	})
	return d
}

// copyFile copies a program. No child is started meanwhile: it would hold the copy open for writing until
// it runs a program of its own, and what is open for writing cannot be run ("text file busy").
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		syscall.ForkLock.RLock()
		err = os.WriteFile(to, data, 0o755)
		syscall.ForkLock.RUnlock()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *daemon) page(path string) string { return "http://" + d.address + path }

// until waits for something of the daemon.
func (d *daemon) until(what string, ok func(context.Context) (bool, error)) {
	d.t.Helper()
	if err := envoytest.Poll(soon(d.t), what, ok); err != nil {
		d.t.Fatalf("%v; the log ends\n%s", err, d.Tail(20))
	}
}

// read returns a page, which must be there whatever its status.
func (d *daemon) read(path string) (status int, body string) {
	d.t.Helper()
	status, body, err := envoytest.Fetch(soon(d.t), d.page(path))
	if err != nil {
		d.t.Fatal(err)
	}
	return status, body
}

// metric returns a sample of /metrics.
func (d *daemon) metric(name string, labels ...string) float64 {
	d.t.Helper()
	_, text := d.read("/metrics")
	_, value, err := envoytest.Sample(text, name, labels...)
	if err != nil {
		d.t.Fatal(err)
	}
	return value
}

// untilMetric waits until a sample has a value.
func (d *daemon) untilMetric(want float64, name string, labels ...string) {
	d.t.Helper()
	d.until(fmt.Sprintf("%s%v to be %v", name, labels, want), func(context.Context) (bool, error) {
		got := d.metric(name, labels...)
		return got == want, fmt.Errorf("it is %v", got)
	})
}

// revision is that of the rules in force.
func (d *daemon) revision() string {
	d.t.Helper()
	_, text := d.read("/metrics")
	labels, _, err := envoytest.Sample(text, "sidecard_rules_info")
	if err != nil {
		d.t.Fatal(err)
	}
	return labels
}

// connect returns a gRPC connection to the daemon.
func (d *daemon) connect() *grpc.ClientConn {
	d.t.Helper()
	conn, err := grpc.NewClient("unix:"+d.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	return conn
}

// decide asks for one request to a resource.
func decide(ctx context.Context, conn *grpc.ClientConn, resource string) (rlspb.RateLimitResponse_Code, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := rlspb.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, &rlspb.RateLimitRequest{
		Domain: "sidecard",
		Descriptors: []*commonpb.RateLimitDescriptor{{
			Entries: []*commonpb.RateLimitDescriptor_Entry{{Key: "resource", Value: resource}},
		}},
	})
	return answer.GetOverallCode(), err
}

// wantCode fails the test unless a request to a resource is decided that way.
func (d *daemon) wantCode(conn *grpc.ClientConn, resource string, want rlspb.RateLimitResponse_Code) {
	d.t.Helper()
	if got, err := decide(d.t.Context(), conn, resource); err != nil || got != want {
		d.t.Errorf("a request to %s: got %v, %v, want %v", resource, got, err, want)
	}
}
