package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/admin"
)

// asks runs a command against the daemon's admin address.
func (d *running) asks(args ...string) (code int, stdout, stderr string) {
	d.t.Helper()
	return command{t: d.t, env: map[string]string{adminVariable: "unix:" + d.path("admin.sock"), listenVariable: "unix:" + d.path("rls.sock")}, args: args}.run()
}

func TestStatusOfADaemon(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)
	passes(t, d.dial(), "orders", 5)
	code, stdout, stderr := d.asks("status")
	for _, want := range []string{"state        ready, up ", "rules        1 rule of 1 file, revision ", "admin        unix:" + d.path("admin.sock"), "connections  1 of 1024 to grpc\n", "clock        "} {
		if code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("got exit code %d, %q and\n%s\nwithout %q", code, stderr, stdout, want)
		}
	}
	var v admin.Status
	if code, stdout, _ = d.asks("status", "-o", "json"); code != exitOK || json.Unmarshal([]byte(stdout), &v) != nil || v.Rules.Count != 1 || !v.Ready {
		t.Errorf("in JSON: got exit code %d and %s", code, stdout)
	}
}

// Whoever asks without TLS where the daemon speaks it is told so.
func TestAdminAddressThatHangsUp(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096)) // else the end of the connection is a reset
			conn.Close()
		}
	}()
	code, _, stderr := command{t: t, args: []string{"rules", "--addr", "tcp:" + l.Addr().String()}}.run()
	if code != exitFailure || !strings.Contains(stderr, "serves TLS there, give --tls") {
		t.Errorf("got exit code %d and %q", code, stderr)
	}
}

func TestRulesOfADaemon(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, `[{"id": "two", "resource": "orders", "count": 2, "intervalSec": 3600}]`))
	d.log.wait(t, "ready, serving decisions", 1)
	passes(t, d.dial(), "orders", 5)
	code, before, _ := d.asks("rules")
	if code != exitOK || !strings.Contains(before, "two   gw-flow  orders    2 per 3600s  2       3        -      "+d.path("rules/"+rulesFile)+":1:2\n") {
		t.Errorf("got exit code %d and\n%s", code, before)
	}
	revision, _, _ := strings.Cut(before, ", in force")

	put(t, d.path("rules"), rulesFile, `[{"resource": "orders", "cuont": 1}]`)
	d.log.wait(t, "rules not applied, those before stay in force", 1)
	_, bad, _ := d.asks("rules")
	if !strings.HasPrefix(bad, revision) || !strings.Contains(bad, " the newest rule files are not in force:\n  "+d.path("rules/"+rulesFile)+":1:2: error: ") {
		t.Errorf("after a bad file: got\n%s", bad)
	}
	put(t, d.path("rules"), rulesFile, `[{"id": "two", "resource": "orders", "count": 4, "intervalSec": 3600}]`)
	d.log.wait(t, "rules applied", 2)
	_, good, _ := d.asks("rules")
	if strings.HasPrefix(good, revision) || !strings.Contains(good, "4 per 3600s  2       3 ") || strings.Contains(good, "error") {
		t.Errorf("after a good one: got\n%s", good)
	}
	var v admin.Rules
	if code, stdout, _ := d.asks("rules", "-o", "json"); code != exitOK || json.Unmarshal([]byte(stdout), &v) != nil || v.Rules[0].Passed != 2 {
		t.Errorf("in JSON: got exit code %d and %s", code, stdout)
	}
}

func TestExplainByADaemon(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)
	addr := "unix:" + d.path("admin.sock")
	passes(t, d.dial(), "orders", 1)
	for range 3 { // it charges nothing
		code, stdout, _ := d.asks("explain", "--addr", addr, "--resource", "orders")
		if code != exitOK || !strings.Contains(stdout, "1 of 2 per 3600s") {
			t.Errorf("got exit code %d and\n%s", code, stdout)
		}
	}
	passes(t, d.dial(), "orders", 1)
	var v explain.View
	code, stdout, _ := d.asks("explain", "--addr", addr, "--resource", "orders", "--attr", "path=/x", "-o", "json")
	if code != exitOK || json.Unmarshal([]byte(stdout), &v) != nil || v.Answer.Outcome != "block" || v.Envoy.Status != 429 || v.Request.Path != "/x" {
		t.Errorf("got exit code %d and %s", code, stdout)
	}
}

func TestTopOfADaemon(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, `[{"id": "per-client", "resource": "orders", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "client_ip"}}]`))
	d.log.wait(t, "ready, serving decisions", 1)
	var v topView
	code, stdout, stderr := d.asks("top", "--rule", "per-client", "-o", "json")
	if code != exitOK || json.Unmarshal([]byte(stdout), &v) != nil || len(v.Rules) != 1 || v.Values == nil {
		t.Fatalf("got exit code %d, %q and %s", code, stderr, stdout)
	}
	send(t, d.dial(), "resource", "orders", "remote_address", "10.0.0.9")
	code, stdout, stderr = d.asks("top", "--rule", "per-client") // no terminal
	for _, want := range []string{"RESOURCE", "orders", "per-client", "2 per 3600s for each client_ip", "VALUE OF CLIENT_IP", `"10.0.0.9"`, "100.0%"} {
		if code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("got exit code %d, %q and\n%s\nwithout %q", code, stderr, stdout, want)
		}
	}
	if code, _, stderr := d.asks("top", "--rule", "none"); code != exitFailure || stderr != "sidecard top: there is no rule of that id in force\n" {
		t.Errorf("of an unknown rule: got exit code %d and %q", code, stderr)
	}
}

func TestProbeOfADaemon(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, `[{"id": "ten", "resource": "orders", "count": 10, "window": "strict"}, {"id": "free", "resource": "search", "count": 1, "shadow": true}]`))
	d.log.wait(t, "ready, serving decisions", 1)
	addr := "unix:" + d.path("admin.sock")
	code, stdout, stderr := d.asks("probe", "--admin", addr, "--resource", "orders", "--rate", "x10", "--for", "1500ms")
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "ten: 10 per 1s, at most 10 in any 1s\n") || !strings.HasSuffix(stdout, " passed where at most 10 in any 1s may: held\n") {
		t.Errorf("got exit code %d, %q and\n%s", code, stderr, stdout)
	}
	if code, _, stderr := d.asks("probe", "--resource", "search"); code != exitFailure || !strings.Contains(stderr, "no enforced rule with a bound limits this request") {
		t.Errorf("of a rule in shadow: got exit code %d and %q", code, stderr)
	}

	// A daemon that lets everything pass is found out.
	liar := serveLiar(t)
	code, stdout, _ = d.asks("probe", "--addr", "unix:"+liar, "--resource", "orders", "--rate", "100", "--for", "1s", "-o", "json")
	var got struct {
		Held  bool
		Rules []struct{ Most, Passed int64 }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != exitFailure || got.Held || got.Rules[0].Passed <= 10 {
		t.Errorf("of one that limits nothing: got exit code %d and %s", code, stdout)
	}
	if code, _, stderr := d.asks("probe", "--addr", "unix:"+d.path("none.sock"), "--resource", "orders", "--for", "100ms"); code != exitSilence || !strings.Contains(stderr, "no call was answered: ") {
		t.Errorf("of no daemon: got exit code %d and %q", code, stderr)
	}
}

// liar lets everything pass.
type liar struct {
	rlspb.UnimplementedRateLimitServiceServer
}

func (liar) ShouldRateLimit(context.Context, *rlspb.RateLimitRequest) (*rlspb.RateLimitResponse, error) {
	return &rlspb.RateLimitResponse{OverallCode: rlspb.RateLimitResponse_OK}, nil
}

// serveLiar returns the socket of a rate limit service that limits nothing.
func serveLiar(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sidecard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "liar.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	rlspb.RegisterRateLimitServiceServer(server, liar{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	t.Cleanup(func() { server.Stop(); <-served })
	return path
}

func TestAdminCommandsRefuse(t *testing.T) {
	t.Parallel()
	nobody := filepath.Join(t.TempDir(), "none.sock")
	for _, tc := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"status", "--addr", "unix:" + nobody}, exitFailure, "sidecard status: dial unix:" + nobody + ": no such socket; is sidecard running, and its directory mounted here?"},
		{[]string{"rules", "--addr", "off"}, exitUsage, "sidecard rules: --addr: off is no address to ask\n"},
		{[]string{"rules", "--addr", "127.0.0.1:9091"}, exitUsage, "sidecard rules: --addr: address \"127.0.0.1:9091\": write tcp:127.0.0.1:9091\n"},
		{[]string{"top", "-o", "yaml"}, exitUsage, "sidecard top: --output: \"yaml\" is neither text nor json\n"},
		{[]string{"explain", "--rules", "x", "--addr", "off"}, exitUsage, "sidecard explain: --rules, --addr: explain by rules of files, or by those of a running daemon\n"},
		{[]string{"probe", "--rate", "fast"}, exitUsage, "sidecard probe: --rate: \"fast\" is neither a multiple of the limit, such as x2, nor calls a second, such as 500\n"},
		{[]string{"probe", "--rate", "x0"}, exitUsage, "sidecard probe: --rate: \"x0\" is neither"},
		{[]string{"probe", "--rate", "NaN"}, exitUsage, "sidecard probe: --rate: \"NaN\" is neither"},
		{[]string{"probe", "--for", "1h"}, exitUsage, "sidecard probe: --for: 1h0m0s is not above 0 and at most 5m0s\n"},
		{[]string{"probe", "--hits", "0"}, exitUsage, "sidecard probe: --hits: 0 is not from 1 to 2147483647\n"},
		{[]string{"probe", "--attr", "heder.x=1"}, exitUsage, "sidecard probe: --attr: \"heder.x\" is no attribute"},
		{[]string{"probe", "--addr", "off"}, exitUsage, "sidecard probe: --addr: off is no address to ask\n"},
		{[]string{"probe", "--admin", "unix:" + nobody, "--resource", "orders"}, exitFailure, "sidecard probe: the admin address: dial unix:" + nobody},
	} {
		code, stdout, stderr := command{t: t, args: tc.args}.run()
		if code != tc.code || stdout != "" || !strings.HasPrefix(stderr, tc.stderr) {
			t.Errorf("%v: got exit code %d, %q and %q, want %d and %q", tc.args, code, stdout, stderr, tc.code, tc.stderr)
		}
	}
}

// sampleRules are rules in every state that there is a word for.
func sampleRules() admin.Rules {
	applied := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return admin.Rules{
		Now: applied.Add(time.Minute),
		RulesStatus: admin.RulesStatus{
			Revision: "5f2c", Count: 5, Files: 2, AppliedAt: &applied,
			Error: &admin.LoadError{Since: applied.Add(30 * time.Second), Text: "rules/a.json:3:7: error: [0].count: is below 0; fix: write 0\nrules/b\x1b.json: error: none"},
		},
		Rules: []admin.Rule{
			{ID: "system", Kind: "system", Limits: "refuses above 1000 calls a second", Passed: 120, Source: admin.Place{File: "rules/a.json", Line: 9, Column: 1}},
			{ID: "per-user", Kind: "gw-flow", Resource: "orders", Mode: "route", Limits: "20 per 1s", Param: "header x-user-id", Passed: 100, Blocked: 20, Waited: 7,
				Keys: &admin.Keys{Held: 12, Most: 1000, Overflows: 3}, Source: admin.Place{File: "rules/a.json", Line: 2, Column: 3}, Hints: []string{"3 requests found no room for their value, see maxKeys"}},
			{ID: "at-a-time", Kind: "flow", Resource: "käse\x07", Mode: "route", Limits: "3 at a time", Passed: 5, InFlight: new(int64(2)), Source: admin.Place{File: "rules/b.json", Line: 2, Column: 3}},
			{ID: "failing", Kind: "degrade", Domain: "shop", Resource: "orders", Mode: "route", Limits: "opens above 50% errors", Passed: 9, Blocked: 4,
				Breaker: &admin.Breaker{State: "open", Since: applied}, Source: admin.Place{File: "rules/b.json", Line: 4, Column: 3}, Hints: []string{admin.NoReports}},
			{ID: "trial", Kind: "flow", Resource: "search", Mode: "route", Shadow: true, Limits: "1 per 1s, shadow", Passed: 1, ShadowBlock: 8, Source: admin.Place{File: "rules/b.json"}},
		},
	}
}

func TestTextOfRules(t *testing.T) {
	t.Parallel()
	v := sampleRules()
	var b bytes.Buffer
	if err := writeRules(&b, &v); err != nil {
		t.Fatal(err)
	}
	goldenText(t, "rules", b.String())
	b.Reset()
	if err := writeRules(&b, &admin.Rules{}); err != nil || b.String() != "none in force yet\n" {
		t.Errorf("without rules: got %q, %v", b.String(), err)
	}
}

func sampleStatus() admin.Status {
	v := sampleRules()
	started := v.AppliedAt.Add(-time.Second)
	return admin.Status{
		Build: admin.Build{Version: "v1.2.3", Revision: "0a1b2c", Go: "go1.26"}, Ready: true, Started: started, UptimeSec: 61, Now: v.Now, DriftMs: -2500,
		Rules: v.RulesStatus, Listeners: map[string][]string{"listen": {"unix:/a", "tcp:127.0.0.1:1"}, "admin": {"off"}},
		Connections: []admin.Connections{{Listener: "grpc", Open: 2, Most: 1024, Refused: map[string]int64{"limit": 3, "tls": 0}}},
		Waiting:     admin.Gauge{Now: 1, Most: 4096}, Tokens: admin.TokenStatus{Live: 4, Completed: 10, Expired: 2, Silent: []string{"shop"}},
		Keys: admin.Gauge{Now: 12, Most: 4194304}, Resources: admin.ResourceStatus{Known: 3, Overflow: 9},
		Memory: admin.Memory{Resident: 30 << 20, Heap: 5 << 20, Runtime: 20 << 20, Goroutines: 20}, System: admin.System{Load: new(1.5), CPU: new(0.4)},
	}
}

func TestTextOfStatus(t *testing.T) {
	t.Parallel()
	v := sampleStatus()
	var b bytes.Buffer
	if err := writeStatus(&b, &v); err != nil {
		t.Fatal(err)
	}
	goldenText(t, "status", b.String())
}

func goldenText(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "admin", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
