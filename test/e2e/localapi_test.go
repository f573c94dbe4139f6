//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// local starts a daemon with the rules of the examples, and waits until it decides.
func local(t *testing.T) *daemon {
	t.Helper()
	d := alone(t, 0, "../../examples/local/rules")
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	return d
}

// transcript is one command of a page and what it prints.
type transcript struct{ command, want string }

// transcripts returns those of all console blocks of a page.
func transcripts(t *testing.T, page string) []transcript {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []transcript
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			last := len(out) - 1
			switch {
			case strings.HasPrefix(line, "$ "):
				out = append(out, transcript{command: line[2:]})
			case strings.HasPrefix(line, "> ") && out[last].want == "":
				out[last].command += line[2:]
			default:
				out[last].want += line
			}
		}
	}
	return out
}

// vague replaces what differs from run to run: times, tokens, and the second in which a call was counted.
func vague(text string) string {
	for pattern, with := range map[string]string{
		`"(retryAfterMs|waitMs|second)":\d+`: `"$1":N`,
		`"token":"[0-9a-f]{32}"`:             `"token":"T"`,
		`"pass":\d+,"block":\d+,"inFlight"`:  `"pass":N,"block":N,"inFlight"`,
		`(?m)^429 \d+$`:                      `429 N`,
	} {
		text = regexp.MustCompile(pattern).ReplaceAllString(text, with)
	}
	return text
}

// What the page of the local API shows is what the daemon answers.
func TestLocalAPIPage(t *testing.T) {
	t.Parallel()
	d := local(t)
	const mark = "-- end of the command --\n"
	var script bytes.Buffer
	steps := transcripts(t, "../../docs/local-api.md")
	if len(steps) < 15 {
		t.Fatalf("the page has %d commands", len(steps))
	}
	for _, s := range steps {
		script.WriteString(strings.ReplaceAll(s.command, "/run/sidecard/http.sock", d.http))
		script.WriteString("printf '%s' '" + mark + "'\n")
	}
	sh := exec.CommandContext(soon(t), "sh")
	sh.Stdin = &script
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := strings.Split(string(out), mark)
	for i, s := range steps {
		if vague(got[i]) != vague(s.want) {
			t.Errorf("$ %s got %swant %s", s.command, got[i], s.want)
		}
	}
}

// The examples in every language do the same, each for a user of its own.
func TestLocalExamples(t *testing.T) {
	t.Parallel()
	d := local(t)
	program := filepath.Join(t.TempDir(), "example")
	if out, err := exec.CommandContext(soon(t), "go", "build", "-o", program, "../../examples/local/go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const want = `order: allowed, 2 left
order: allowed, 1 left
order: allowed, 0 left
order: refused by orders-per-user (limit)
report: written
`
	examples := [][]string{{program}, {"python3", "../../examples/local/client.py"}, {"sh", "../../examples/local/client.sh"}}
	for i, args := range examples {
		args = append(args, "user-"+strconv.Itoa(i))
		cmd := exec.CommandContext(soon(t), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "SIDECARD_HTTP=unix:"+d.http)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%v: got %v and\n%s", args, err, out)
		}
	}
	if n := d.metric("sidecard_in_flight", `rule="reports-at-once"`); n != 0 {
		t.Errorf("%v reports are under way", n)
	}
	if n := d.metric("sidecard_tokens_total", `event="completed"`); n != float64(len(examples)) {
		t.Errorf("the end of %v reports was told, want %d", n, len(examples))
	}
}

// What one way in takes, the others find gone: Envoy's calls, HTTP, and the command.
func TestOneBudgetForAllWaysIn(t *testing.T) {
	t.Parallel()
	d := alone(t, 0, rules(t, rulesFile, `[{"resource": "orders", "id": "orders", "count": 3, "intervalSec": 86400}]`))
	d.untilMetric(1, "sidecard_rules_last_reload_successful")
	conn := d.connect()
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OK)
	ask := func() (int, string) {
		cmd := exec.CommandContext(soon(t), sidecard(t), "decide", "--addr", "unix:"+d.http, "--resource", "orders")
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
	for _, want := range []string{"allowed by orders, 1 of 3 left\n", "allowed by orders, 0 of 3 left\n"} {
		if code, out := ask(); code != 0 || out != want {
			t.Errorf("got exit code %d and %q, want %q", code, out, want)
		}
	}
	if code, out := ask(); code != 1 || !strings.HasPrefix(out, "refused by orders: limit, 0 of 3 left") {
		t.Errorf("got exit code %d and %q", code, out)
	}
	d.wantCode(conn, "orders", rlspb.RateLimitResponse_OVER_LIMIT)
	for api, passed := range map[string]float64{"envoy": 1, "http": 2, "grpc": 0} {
		if n := d.metric("sidecard_calls_total", `api="`+api+`"`, `result="pass"`); n != passed {
			t.Errorf("%v calls by way of %s passed, want %v", n, api, passed)
		}
	}
}
