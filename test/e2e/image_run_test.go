//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// The image's file system is enough to serve from: read-only, as the image's user, by the image's own
// commands, with the volumes that the manifests mount.
func TestImageServes(t *testing.T) {
	t.Parallel()
	image := readDockerfile(t)
	if image.user != "65532:65532" {
		t.Errorf("the image's user is %q, the manifests' is 65532", image.user)
	}
	box := newSandbox(t)
	image.assemble(t, box.root)
	publish := func(rules string) {
		t.Helper()
		if err := configmap.Write(box.rules, map[string][]byte{rulesFile: []byte(rules)}); err != nil {
			t.Fatal(err)
		}
	}
	publish(closedOrders)
	environment := []string{"SIDECARD_STATUS=off", "SIDECARD_ADMIN=off"} // the network is that of the machine
	once := func(args ...string) (string, error) {
		program, all := box.command(image, environment, args...)
		out, err := exec.CommandContext(soon(t), program, all...).CombinedOutput()
		return string(out), err
	}
	if out, err := once(image.entrypoint[0], "version"); err != nil || !strings.Contains(out, "v9.8.7") {
		t.Fatalf("version: %v, %s", err, out)
	}

	program, all := box.command(image, environment, append(image.entrypoint, image.command...)...)
	p, err := envoytest.StartProcess(filepath.Join(shortDir(t), "log"), program, all...)
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{Process: p, t: t, socket: filepath.Join(box.run, "sidecard.sock")}
	t.Cleanup(func() {
		if err := p.Stop(time.Minute); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log("end of the log:\n" + p.Tail(30))
		}
	})
	logged(t, p, "ready, serving decisions")
	if out, err := once(image.health...); err != nil || !strings.Contains(out, "SERVING") {
		t.Errorf("%v: %v, %s", image.health, err, out)
	}

	pid := strconv.Itoa(p.PID())
	uid := os.Getuid() // in a user name space the image's user is whoever made it
	if uid == 0 {
		uid = 65532
	}
	for name, want := range map[string]string{
		"Uid": fmt.Sprintf("%d %[1]d %[1]d %[1]d", uid), "CapEff": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1",
	} {
		if got := field(t, pid, name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}

	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	publish(`[{"id": "open", "resource": "orders", "count": 1000000}]`)
	d.until("the new rules", func(ctx context.Context) (bool, error) {
		code, err := decide(ctx, conn, "orders")
		return code == rlspb.RateLimitResponse_OK, err
	})
	publish(`[{"id": "broken", "resource": "orders", "cuont": 0}]`)
	logged(t, p, "cuont")
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OK)
	conn.Close()

	if err := p.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(soon(t)); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
	if _, err := os.Lstat(d.socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there (%v)", err)
	}
}
