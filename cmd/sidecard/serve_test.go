package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/sidecard/sidecard/pkg/client"
)

const (
	twoAnHour  = `[{"resource": "orders", "count": 2, "intervalSec": 3600}]`
	fiveAnHour = `[{"resource": "orders", "count": 5, "intervalSec": 3600}]`
	rulesFile  = "gw-flow-rules.json"
)

func withRules(t *testing.T, content string) func(string) {
	return func(dir string) { put(t, dir, rulesFile, content) }
}

func TestServeDecidesAndReports(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)

	conn := d.dial()
	if got := passes(t, conn, "orders", 5); got != 2 {
		t.Errorf("%d of 5 passed, want 2", got)
	}
	if code, line := d.healthcheck(); code != exitOK || !strings.HasSuffix(line, "rls.sock: SERVING\n") {
		t.Errorf("healthcheck: got exit code %d and %q", code, line)
	}
	if code, body := d.get("/livez"); code != 200 || body != "ok\n" {
		t.Errorf("/livez: got %d and %q", code, body)
	}
	if code, body := d.get("/readyz"); code != 200 || body != "ready\n" {
		t.Errorf("/readyz: got %d and %q", code, body)
	}
	code, metrics := d.get("/metrics")
	for _, want := range []string{
		`outcome="pass",resource="orders",rule="`, `sidecard_rules_reloads_total{result="success"} 1`,
		`sidecard_rules_info{revision="`, "go_goroutines", "process_resident_memory_bytes",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("/metrics: got %d without %q in\n%s", code, want, metrics)
		}
	}
	if code, _ := d.get("/debug/pprof/"); code != 404 {
		t.Errorf("another page: got %d, want 404", code)
	}

	conn.Close()
	d.stop()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, socket := range []string{"rls.sock", "status.sock"} {
		if _, err := os.Lstat(d.path(socket)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", socket, err)
		}
	}
	if code, line := d.healthcheck("--live"); code != exitFailure || !strings.Contains(line, "no answer") {
		t.Errorf("healthcheck of a daemon that has ended: got exit code %d and %q", code, line)
	}
}

func TestShadowRefusesNothing(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--shadow")
	d.log.wait(t, "ready, serving decisions", 1)
	if got := passes(t, d.dial(), "orders", 5); got != 5 {
		t.Errorf("%d of 5 passed, want all", got)
	}
	if _, body := d.get("/metrics"); !strings.Contains(body, `sidecard_decisions_total{outcome="shadow_block",resource="orders",rule="`) {
		t.Errorf("no shadow_block in\n%s", body)
	}
}

func TestReloadChangesTheLimitAndABadFileDoesNot(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)
	conn := d.dial()
	if got := passes(t, conn, "orders", 5); got != 2 {
		t.Errorf("%d of 5 passed, want 2", got)
	}

	put(t, d.path("rules"), rulesFile, fiveAnHour)
	was := d.log.wait(t, "rules applied", 1)["revision"]
	is := d.log.wait(t, "rules applied", 2)["revision"]
	if was == is {
		t.Errorf("both revisions are %v", is)
	}
	if got := passes(t, conn, "orders", 5); got != 3 {
		t.Errorf("%d of 5 passed, want the 3 that the new limit adds", got)
	}

	put(t, d.path("rules"), rulesFile, `[{"resource": "orders", "cuont": 1}]`)
	line := d.log.wait(t, "rules not applied, those before stay in force", 1)
	if text, _ := line["error"].(string); !strings.Contains(text, rulesFile+":1:25: error: ") {
		t.Errorf("the error is logged as %v", line)
	}
	code, body := d.get("/readyz?verbose")
	if code != 200 || !strings.HasPrefix(body, "ready\nrevision: "+is.(string)+"\nrules: 1\n") || !strings.Contains(body, "cuont") {
		t.Errorf("/readyz?verbose: got %d and\n%s", code, body)
	}
	if _, metrics := d.get("/metrics"); !strings.Contains(metrics, `sidecard_rules_reloads_total{result="error"} 1`) {
		t.Errorf("no failed reload in\n%s", metrics)
	}
	if code, line := d.healthcheck(); code != exitOK {
		t.Errorf("healthcheck: got exit code %d and %q", code, line)
	}
	if got := passes(t, conn, "orders", 2); got != 0 {
		t.Errorf("%d passed under rules that are used up", got)
	}

	put(t, d.path("rules"), rulesFile, `[{"resource": "search", "count": 1}]`)
	d.log.wait(t, "rules applied", 3)
	line = d.log.wait(t, "rule changes", 3)
	if len(line["added"].([]any)) != 1 || len(line["removed"].([]any)) != 1 {
		t.Errorf("the change is logged as %v", line)
	}
	if _, body := d.get("/readyz?verbose"); !strings.HasSuffix(body, "last error: none\n") {
		t.Errorf("/readyz?verbose after a good file: got\n%s", body)
	}
}

func TestRulesThatComeLate(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.log.wait(t, "listening", 1)
	conn := d.dial()
	if _, err := ask(t, conn, "orders"); status.Code(err) != codes.Unavailable {
		t.Errorf("a call before the first rules: got %v, want UNAVAILABLE", err)
	}
	if code, line := d.healthcheck("--live"); code != exitOK || !strings.HasSuffix(line, "NOT_SERVING\n") {
		t.Errorf("healthcheck --live: got exit code %d and %q", code, line)
	}
	if code, line := d.healthcheck(); code != exitFailure || !strings.HasSuffix(line, "NOT_SERVING\n") {
		t.Errorf("healthcheck: got exit code %d and %q", code, line)
	}
	if code, body := d.get("/readyz"); code != 503 || body != "not ready: no good rule set has been loaded yet\n" {
		t.Errorf("/readyz: got %d and %q", code, body)
	}
	if code, _ := d.get("/livez"); code != 200 {
		t.Errorf("/livez: got %d", code)
	}

	if err := os.Mkdir(d.path("rules"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, d.path("rules"), rulesFile, twoAnHour)
	d.log.wait(t, "ready, serving decisions", 1)
	if got := passes(t, conn, "orders", 3); got != 2 {
		t.Errorf("%d of 3 passed, want 2", got)
	}
	if code, line := d.healthcheck(); code != exitOK {
		t.Errorf("healthcheck: got exit code %d and %q", code, line)
	}
}

// A daemon that is told to stop says so to those who balance load, and goes on answering until its
// clients have left. Envoy is told nothing: it would let requests pass that are still decided.
func TestStopServesUntilTheClientsHaveLeft(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--drain", "1h")
	d.log.wait(t, "ready, serving decisions", 1)
	conn := d.dial()
	if got := passes(t, conn, "orders", 1); got != 1 {
		t.Fatal("the first call is refused")
	}
	d.stop()
	d.log.wait(t, "stopping, serving open connections until they leave", 1)
	if code, body := d.get("/readyz"); code != 503 || body != "not ready: stopping\n" {
		t.Errorf("/readyz: got %d and %q", code, body)
	}
	if code, line := d.healthcheck(); code != exitOK {
		t.Errorf("healthcheck: got exit code %d and %q", code, line)
	}
	if code, err := ask(t, conn, "orders"); err != nil || code != rlspb.RateLimitResponse_OK {
		t.Errorf("while stopping: got %v, %v", code, err)
	}
	late := d.dial()
	if code, err := ask(t, late, "orders"); err != nil || code != rlspb.RateLimitResponse_OVER_LIMIT {
		t.Errorf("over a connection made while stopping: got %v, %v", code, err)
	}
	late.Close()
	conn.Close()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// When nothing is served any more, health says so.
func TestHealthTurnsWhenTheDrainIsOver(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--drain", "10ms")
	d.log.wait(t, "ready, serving decisions", 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	watch, err := healthpb.NewHealthClient(d.dial()).Watch(ctx, &healthpb.HealthCheckRequest{Service: rateLimitService})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING} {
		got, err := watch.Recv()
		if err != nil || got.GetStatus() != want {
			t.Fatalf("health: got %v, %v, want %v", got, err, want)
		}
		d.stop()
	}
	cancel() // an open stream would be waited for
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestASecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour), "--drain", "1h")
	d.log.wait(t, "ready, serving decisions", 1)
	if got := passes(t, d.dial(), "orders", 1); got != 1 { // its connection stays open
		t.Fatal("the first call is refused")
	}
	d.stop()
	d.log.wait(t, "stopping, serving open connections until they leave", 1)
	d.kill()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Lstat(d.path("rls.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestAddressesThatCannotBeBound(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "listening", 1)
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"a socket in use", []string{"--listen", "unix:" + d.path("rls.sock")}, "already served by another process"},
		{"a status socket in use", []string{"--listen", "unix:" + d.path("other.sock"), "--status", "unix:" + d.path("status.sock")}, "already served by another process"},
		{"a directory that is not there", []string{"--listen", "unix:" + d.path("none/x.sock")}, "does not exist"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			args := append([]string{"serve", "--rules", d.path("rules"), "--http", "off", "--status", "off", "--admin", "off"}, tc.args...)
			code, _, stderr := command{t: t, args: args}.run()
			if code != exitFailure || !strings.Contains(stderr, tc.want) {
				t.Errorf("got exit code %d and %q, want %q", code, stderr, tc.want)
			}
			if _, err := os.Lstat(d.path("other.sock")); !os.IsNotExist(err) {
				t.Errorf("a socket of the failed start is left: %v", err)
			}
		})
	}
}

func TestTheConfigFileTakesEffect(t *testing.T) {
	t.Parallel()
	file := write(t, "c.yaml", `
mapping: {test: {the-route: resource, who: header.x-user}}
limits: {maxKeysTotal: 1}
socket: {mode: 0600}
`)
	d := start(t, withRules(t, `[{"resource": "orders", "count": 2, "intervalSec": 3600, "overflow": "block", "paramItem": {"parseStrategy": 2, "fieldName": "X-User"}}]`),
		"--config", file, "--status", "tcp:0.0.0.0:0")
	d.log.wait(t, "ready, serving decisions", 1)
	for _, socket := range []string{"rls.sock", "http.sock"} {
		info, err := os.Stat(d.path(socket))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v, %v", socket, info, err)
		}
	}
	conn := d.dial()
	for i, tc := range []struct {
		who  string
		want rlspb.RateLimitResponse_Code
	}{
		{"bob", rlspb.RateLimitResponse_OK},
		{"bob", rlspb.RateLimitResponse_OK},
		{"bob", rlspb.RateLimitResponse_OVER_LIMIT},
		{"eve", rlspb.RateLimitResponse_OVER_LIMIT}, // there is room for one value
	} {
		if code, err := send(t, conn, "the-route", "orders", "who", tc.who); err != nil || code != tc.want {
			t.Errorf("call %d: got %v, %v, want %v", i, code, err, tc.want)
		}
	}
	got, err := d.local().Decide(t.Context(), client.Request{Attributes: map[string]string{"the-route": "orders", "who": "bob"}})
	if err != nil || got.Allowed {
		t.Errorf("the local API: got %+v, %v", got, err)
	}
}

func TestHealthcheckFollowsTheListenVariable(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, twoAnHour))
	d.log.wait(t, "ready, serving decisions", 1)
	env := map[string]string{"SIDECARD_LISTEN": "off,unix:" + d.path("rls.sock") + ",tcp:127.0.0.1:1"}
	if code, line, _ := (command{t: t, env: env, args: []string{"healthcheck"}}).run(); code != exitOK {
		t.Errorf("got exit code %d and %q", code, line)
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	c := defaults()
	for _, tc := range []struct {
		format string
		want   string
	}{
		{"json", `{"level":"warn","n":1,"time":"`},
		{"console", ` WRN seen n=1` + "\n"},
	} {
		c.LogFormat, c.LogLevel = tc.format, zerolog.WarnLevel
		var b bytes.Buffer
		log := newLogger(c, &b)
		log.Info().Msg("not seen")
		log.Warn().Int("n", 1).Msg("seen")
		if got := b.String(); !strings.Contains(got, tc.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %q", tc.format, got)
		}
	}
}

func TestPacesGCUnlessGOGCIsSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		environment map[string]string
		want        bool
	}{
		{nil, true},
		{map[string]string{"GOGC": ""}, true},
		{map[string]string{"GOMEMLIMIT": "128MiB"}, true},
		{map[string]string{"GOGC": "100"}, false},
		{map[string]string{"GOGC": "off", "GOMEMLIMIT": "128MiB"}, false},
	} {
		got := pacesGC(func(name string) (string, bool) {
			value, set := tc.environment[name]
			return value, set
		})
		if got != tc.want {
			t.Errorf("with %v: %v, want %v", tc.environment, got, tc.want)
		}
	}
}
