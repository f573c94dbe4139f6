//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// Who may connect is decided by user and group, whatever the mode of the socket says; others are counted
// and logged, and those who were let in notice nothing.
func TestAllowedUsersAndGroups(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	const friend, group = 12345, 12346
	config := filepath.Join(t.TempDir(), "config.yaml")
	write(t, config, fmt.Sprintf("socket: {mode: 0666, allowUids: [0, %d], allowGids: [%d]}\n", friend, group))
	d := alone(t, 0, rules(t, rulesFile, closedOrders), "--config", config)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	dir := filepath.Dir(d.socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "bin")
	copyFile(t, sidecard(t), program)
	refused := 0.0
	for _, who := range []struct {
		name   string
		uid    uint32
		groups []uint32
		admit  bool
	}{
		{"a user who is listed", friend, []uint32{friend}, true},
		{"a stranger", nobody, []uint32{nobody}, false},
		{"one whose group is listed", nobody, []uint32{group}, true},
		{"one of whose groups is listed", nobody, []uint32{nobody, 12400, group}, true},
		{"one whose group has the number of the user", nobody, []uint32{friend}, false},
	} {
		p, err := envoytest.StartProcessAs(who.uid, who.groups, filepath.Join(t.TempDir(), "log"), program, "healthcheck", "--addr", "unix:"+d.socket)
		if err != nil {
			t.Fatal(err)
		}
		err = p.Wait(soon(t))
		if (err == nil) != who.admit || strings.Contains(p.Log(), "SERVING") != who.admit {
			t.Errorf("%s: got %v and %s, want admitted %t", who.name, err, p.Log(), who.admit)
		}
		if !who.admit {
			refused++
			logged(t, d.Process, "connection refused", `"reason":"peer"`, fmt.Sprintf("uid %d, gid %d, groups %d", who.uid, who.groups[0], who.groups))
		}
	}
	_, metrics, err := envoytest.Fetch(soon(t), d.page("/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	// A client asks for a connection a second time when the first was closed.
	if _, n, err := envoytest.Sample(metrics, "sidecard_connections_refused_total", `listener="grpc"`, `reason="peer"`); err != nil || n < refused {
		t.Errorf("%v connections were refused, %v; want at least %v", n, err, refused)
	}
}
