//go:build e2e

package e2e

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/goccy/go-yaml"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

const units = repository + "/deploy/systemd/"

// unit is the settings of a unit file, by section and name; of one that is set several times all values.
type unit map[string]map[string][]string

func readUnit(t *testing.T, name string) unit {
	t.Helper()
	u, section := unit{}, ""
	for line := range strings.Lines(text(t, units+name)) {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			u[section] = make(map[string][]string)
		case !ok || section == "":
			t.Fatalf("%s: %q is no setting", name, line)
		default:
			u[section][key] = append(u[section][key], value)
		}
	}
	return u
}

func (u unit) want(t *testing.T, section, key, want string) {
	t.Helper()
	if got := strings.Join(u[section][key], " "); got != want {
		t.Errorf("[%s] %s: got %q, want %q", section, key, got, want)
	}
}

// The units agree with each other and with what the daemon does when it is told nothing.
func TestUnitsFitTheDaemon(t *testing.T) {
	t.Parallel()
	service, socket := readUnit(t, "sidecard.service"), readUnit(t, "sidecard.socket")
	command := strings.Fields(service["Service"]["ExecStart"][0])
	if filepath.Base(command[0]) != "sidecard" || command[1] != "serve" {
		t.Fatalf("ExecStart is %q", command)
	}
	printed, err := exec.CommandContext(soon(t), sidecard(t), append(command[1:], "--print-config")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var does struct {
		Listen []string
		Drain  string
		Limits struct{ Connections int }
	}
	if err := yaml.Unmarshal(printed, &does); err != nil {
		t.Fatal(err)
	}
	socket.want(t, "Socket", "ListenStream", strings.TrimPrefix(does.Listen[0], "unix:"))
	socket.want(t, "Socket", "FileDescriptorName", "listen")
	socket.want(t, "Socket", "Accept", "no")
	socket.want(t, "Socket", "SocketMode", "0660")
	service.want(t, "Service", "Type", "notify")
	service.want(t, "Service", "RuntimeDirectory", filepath.Base(filepath.Dir(socket["Socket"]["ListenStream"][0])))
	service.want(t, "Service", "RuntimeDirectoryPreserve", "yes")
	for key, want := range map[string]string{
		"NoNewPrivileges": "yes", "CapabilityBoundingSet": "", "ProtectSystem": "strict", "SystemCallArchitectures": "native",
		"User": socket["Socket"]["SocketUser"][0], "Group": socket["Socket"]["SocketGroup"][0],
	} {
		service.want(t, "Service", key, want)
	}
	if made := text(t, units+"sidecard.sysusers.conf"); !strings.Contains(made, "u "+service["Service"]["User"][0]+" ") {
		t.Errorf("nobody makes the user: %s", made)
	}
	drain, err1 := time.ParseDuration(does.Drain)
	stop, err2 := time.ParseDuration(service["Service"]["TimeoutStopSec"][0])
	if err1 != nil || err2 != nil || stop < drain+4*time.Second {
		t.Errorf("killed after %v, though the end takes %v and 4 s (%v, %v)", stop, drain, err1, err2)
	}
	for _, key := range []string{"MemoryMax", "SystemCallFilter", "LimitNOFILE"} {
		if len(service["Service"][key]) == 0 {
			t.Errorf("%s is not set", key)
		}
	}
}

// systemd knows every setting, and finds the service little exposed.
func TestSystemdTakesTheUnits(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	service := text(t, units+"sidecard.service")
	for name, content := range map[string]string{
		"sidecard.service": strings.Replace(service, "/usr/local/bin/sidecard", sidecard(t), 1),
		"sidecard.socket":  text(t, units+"sidecard.socket"),
		"wrong.service":    strings.Replace(service, "PrivateTmp=", "PrivateTemp=", 1),
	} {
		write(t, filepath.Join(dir, name), content)
	}
	analyze := func(args ...string) (string, error) {
		cmd := exec.CommandContext(soon(t), "systemd-analyze", args...)
		cmd.Env = append(os.Environ(), "SYSTEMD_COLORS=0", "SYSTEMD_PAGER=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := analyze("verify", "--man=no", filepath.Join(dir, "sidecard.service"), filepath.Join(dir, "sidecard.socket")); err != nil || strings.Contains(out, dir) {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, _ := analyze("verify", "--man=no", filepath.Join(dir, "wrong.service")); !strings.Contains(out, "PrivateTemp") {
		t.Errorf("a setting that does not exist: got %q", out)
	}
	if out, err := analyze("security", "--offline=true", "--threshold=20", filepath.Join(dir, "sidecard.service")); err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
}

// The daemon makes no call to the kernel that the unit forbids, from its start over decisions and a changed
// rule to its end.
func TestUnitAllowsEverySystemCall(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"systemd-analyze", "strace"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	allowed := make(map[string]bool)
	for _, value := range readUnit(t, "sidecard.service")["Service"]["SystemCallFilter"] {
		names, forbids := strings.CutPrefix(value, "~")
		for _, name := range strings.Fields(names) {
			for call := range systemCalls(t, name) {
				allowed[call] = !forbids
			}
		}
	}
	// The runtime raises the limit of open files if it may, and the unit sets both limits. fchmodat2 is newer
	// than some systemd and strace, and the daemon has another way if it may not.
	tolerated := map[string]bool{"prlimit64": true, "setrlimit": true, "fchmodat2": true, "syscall_0x1c4": true}
	for call := range tracedCalls(t) {
		if !allowed[call] && !tolerated[call] {
			t.Errorf("the daemon calls %s, which the unit forbids", call)
		}
	}
}

// systemCalls returns what a set of systemd holds.
func systemCalls(t *testing.T, set string) map[string]bool {
	t.Helper()
	calls := make(map[string]bool)
	out, err := exec.CommandContext(soon(t), "systemd-analyze", "syscall-filter", set).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v, %s", set, err, out)
	}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		switch {
		case name == "" || name[0] == '#' || name == set:
		case name[0] == '@':
			for call := range systemCalls(t, name) {
				calls[call] = true
			}
		default:
			calls[name] = true
		}
	}
	return calls
}

var tracedCall = regexp.MustCompile(`(?m)^(\d+) +([a-z0-9_]+)\(`)

// tracedCalls runs a daemon under strace for a while and returns the system calls that it makes.
func tracedCalls(t *testing.T) map[string]bool {
	t.Helper()
	dir := shortDir(t)
	trace, dirOfRules := filepath.Join(dir, "trace"), rules(t, rulesFile, closedOrders)
	d := &daemon{t: t, socket: filepath.Join(dir, "s")}
	p, err := envoytest.StartProcess(filepath.Join(dir, "log"), "strace", "-f", "-qq", "-e", "signal=none", "-o", trace,
		sidecard(t), "serve", "--rules", dirOfRules, "--listen", "unix:"+d.socket, "--http", "unix:"+d.socket+".http", "--status", "tcp:127.0.0.1:0", "--admin", "off", "--drain", "1s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(time.Minute); err != nil {
			t.Error(err)
		}
	})
	logged(t, p, "ready, serving decisions")
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	write(t, filepath.Join(dirOfRules, rulesFile), "[]")
	d.until("the new rules", func(ctx context.Context) (bool, error) {
		code, err := decide(ctx, conn, "orders")
		return code == rlspb.RateLimitResponse_OK, err
	})
	conn.Close()
	pid, err := strconv.Atoi(tracedCall.FindStringSubmatch(text(t, trace))[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(soon(t)); err != nil {
		t.Fatalf("%v: %s", err, p.Tail(10))
	}
	made := make(map[string]bool)
	for _, call := range tracedCall.FindAllStringSubmatch(text(t, trace), -1) {
		made[call[2]] = true
	}
	if !made["accept4"] || !made["exit_group"] {
		t.Errorf("the trace is not whole: %v", slices.Sorted(maps.Keys(made)))
	}
	return made
}
