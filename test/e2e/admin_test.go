//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
	"github.com/sidecard/sidecard/internal/testkit/pty"
	"github.com/sidecard/sidecard/pkg/admin"
)

// asks runs a command that asks the admin address, and returns what it printed.
func asks(t *testing.T, address string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(soon(t), sidecard(t), append(args, "--addr", "unix:"+address)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v, %s", args, err, out)
	}
	return string(out)
}

// ruleOf returns a rule as the running daemon shows it.
func ruleOf(t *testing.T, address, id string) (admin.Rule, admin.RulesStatus) {
	t.Helper()
	var v admin.Rules
	if err := json.Unmarshal([]byte(asks(t, address, "rules", "-o", "json")), &v); err != nil {
		t.Fatal(err)
	}
	for _, r := range v.Rules {
		if r.ID == id {
			return r, v.RulesStatus
		}
	}
	t.Fatalf("%s is not in force", id)
	return admin.Rule{}, admin.RulesStatus{}
}

// What Envoy's requests do to a breaker is seen from outside, state by state.
func TestRulesShowTheBreaker(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "error_count", 2, `, "timeWindow": 2`))
	if r, _ := ruleOf(t, s.Admin, "b"); r.Breaker == nil || r.Breaker.State != "closed" || len(r.Hints) != 0 {
		t.Errorf("at first: %+v", r)
	}
	for range 3 {
		s.ended(envoytest.StatusHeader, "500")
	}
	open, _ := ruleOf(t, s.Admin, "b")
	if open.Breaker.State != "open" || open.Breaker.Transitions != 1 || open.Passed != 3 {
		t.Errorf("after errors: %+v, %+v", open, open.Breaker)
	}
	if text := asks(t, s.Admin, "rules"); !strings.Contains(text, "open since "+open.Breaker.Since.Format("2006-01-02T15:04:05Z")) {
		t.Errorf("got\n%s", text)
	}
	release := s.Upstream.Hold()
	defer release()
	probe := s.heldProbe("b")
	if r, _ := ruleOf(t, s.Admin, "b"); r.Breaker.State != "half_open" || r.Breaker.Probes != 1 || r.Blocked == 0 {
		t.Errorf("with a probe under way: %+v, %+v", r, r.Breaker)
	}
	release()
	s.wantStatus("the probe", http.StatusOK, probe)
	s.until("sidecard_breaker_state", "b", breakerClosed)
	if r, _ := ruleOf(t, s.Admin, "b"); r.Breaker.State != "closed" || r.Breaker.Transitions != 3 || !r.Breaker.Since.After(open.Breaker.Since) {
		t.Errorf("in the end: %+v", r.Breaker)
	}
}

// A bad file is shown beside the rules that stay, and a good one by its revision.
func TestRulesShowReloads(t *testing.T) {
	t.Parallel()
	dir := rules(t, rulesFile, `[{"id": "a", "resource": "orders", "count": 1}]`)
	d := alone(t, 0, dir)
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	first, before := ruleOf(t, d.admin, "a")
	write(t, filepath.Join(dir, rulesFile), `[{"id": "a", "resource": "orders", "count": -1}]`)
	d.untilMetric(0, "sidecard_rules_last_reload_successful")
	stays, bad := ruleOf(t, d.admin, "a")
	if bad.Revision != before.Revision || stays.Limits != first.Limits || bad.Error == nil || !strings.Contains(bad.Error.Text, rulesFile+":1:") || bad.Failures != 1 {
		t.Errorf("after a bad file: %+v, %+v", stays, bad)
	}
	if text := asks(t, d.admin, "status"); !strings.Contains(text, "the newest rule files are not in force:\n  "+filepath.Join(dir, rulesFile)+":1:") {
		t.Errorf("got\n%s", text)
	}
	write(t, filepath.Join(dir, rulesFile), "[\n{\"id\": \"a\", \"resource\": \"orders\", \"count\": 2}]")
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	after, good := ruleOf(t, d.admin, "a")
	if good.Revision == before.Revision || good.Error != nil || after.Limits != "2 per 1s" || after.Source.Line != 2 {
		t.Errorf("after a good one: %+v, %+v", after, good)
	}
}

// The bound of every kind of window holds, asked for three times the limit.
func TestProbeFindsThatBoundsHold(t *testing.T) {
	t.Parallel()
	d := alone(t, 0, rules(t, rulesFile, `[{"id": "strict", "resource": "strict", "count": 50, "window": "strict"},
		{"id": "aligned", "resource": "aligned", "count": 50}, {"id": "bucket", "resource": "bucket", "count": 50, "window": "token-bucket", "burst": 5},
		{"id": "queue", "resource": "queue", "count": 50, "controlBehavior": 2, "maxQueueingTimeoutMs": 500},
		{"id": "calls", "resource": "calls", "count": 5, "grade": 0}]`))
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	var running sync.WaitGroup
	for _, resource := range []string{"strict", "aligned", "bucket", "queue", "calls"} {
		running.Go(func() {
			out, err := exec.CommandContext(soon(t), sidecard(t), "probe", "--addr", "unix:"+d.socket, "--admin", "unix:"+d.admin,
				"--resource", resource, "--rate", "x3", "--for", "2500ms", "-o", "json").Output()
			var v struct {
				Held  bool
				Total struct{ Passed, Limited, Failed int }
				Rules []struct{ Rule string }
			}
			if err != nil || json.Unmarshal(out, &v) != nil || !v.Held || v.Total.Passed == 0 || v.Total.Limited == 0 || v.Total.Failed > 0 || len(v.Rules) != 1 {
				t.Errorf("%s: %v, %s", resource, err, out)
			}
		})
	}
	running.Wait()
}

// screen is what a terminal was sent.
type screen struct {
	mu  sync.Mutex
	got bytes.Buffer
}

// Write takes what a terminal was sent.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.Write(p)
}

// last returns the newest table, if it is whole.
func (s *screen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.got.String()
	end := strings.LastIndex(text, "\x1b[J")
	if end < 0 {
		return ""
	}
	return text[strings.LastIndex(text[:end], "\x1b[H"):end]
}

// On a terminal the table lives, follows its size and leaves the screen as it was.
func TestTopOnATerminal(t *testing.T) {
	t.Parallel()
	d := alone(t, 0, rules(t, rulesFile, closedOrders))
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Resize(master, 120, 40); err != nil {
		t.Fatal(err)
	}
	top := exec.CommandContext(soon(t), sidecard(t), "top", "--addr", "unix:"+d.admin)
	top.Stdin, top.Stdout, top.Stderr = terminal, terminal, terminal
	top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = top.Start()
	terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	var shown screen
	read := make(chan struct{})
	go func() {
		defer close(read)
		for p := make([]byte, 4096); ; {
			n, err := master.Read(p) // fails once the command has ended
			shown.Write(p[:n])
			if err != nil {
				return
			}
		}
	}()
	until := func(what string, ok func(table string) bool) {
		t.Helper()
		d.until(what, func(context.Context) (bool, error) {
			return ok(shown.last()), fmt.Errorf("the terminal shows %q", shown.last())
		})
	}
	until("the table", func(table string) bool {
		return strings.Contains(table, "RULE") && strings.Contains(table, "sidecard ")
	})
	conn := d.connect()
	until("a refusal", func(table string) bool {
		d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
		return strings.Contains(table, "0 passed and ") && !strings.Contains(table, " 0 blocked")
	})
	if err := pty.Resize(master, 20, 3); err != nil {
		t.Fatal(err)
	}
	until("a small table", func(table string) bool { return strings.Count(table, "\n") == 2 })
	if _, err := master.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	if err := top.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	master.Close()
	<-read
	if text := shown.got.String(); !strings.HasPrefix(text, "\x1b[?1049h") || !strings.HasSuffix(text, "\x1b[?1049l") {
		t.Errorf("the terminal was sent %.20q ... %q", text, text[max(len(text)-20, 0):])
	}
}
