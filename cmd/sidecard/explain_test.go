package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/explain"
)

func explained(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	return command{t: t, args: append([]string{"explain"}, args...)}.run()
}

// What the page shows is what the command prints.
func TestExplainPage(t *testing.T) {
	t.Parallel()
	code, got, stderr := explained(t, "--rules", "../../examples/rules", "--rules", "../../examples/breakers", "--resource", "orders",
		"--attr", "path=/static/../orders/7?page=2", "--attr", "method=POST", "--attr", "header.x-user-id=bob")
	if code != exitOK || stderr != "" {
		t.Errorf("got exit code %d and %q on standard error", code, stderr)
	}
	shownOn(t, "../../docs/explain.md", "Request\n", got)
}

// shownOn checks that the first example of a page which begins so is what a command prints. With -update the page is
// made to show it.
func shownOn(t *testing.T, page, begins, got string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "```\n"+begins)
	shown, after, ok2 := strings.Cut(rest, "```")
	switch want := begins + shown; {
	case !ok || !ok2:
		t.Fatalf("%s has no example that begins with %q", page, begins)
	case *update:
		if err := os.WriteFile(page, []byte(before+"```\n"+got+"```"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("%s: got\n%s\nwant\n%s", page, got, want)
	}
}

func TestExplainInJSON(t *testing.T) {
	t.Parallel()
	code, stdout, _ := explained(t, "--rules", "../../examples/rules", "-o", "json", "--resource", "login",
		"--attr", "remote_address=10.0.0.1", "--hits", "6", "--domain", "shop")
	var v explain.View
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatal(err)
	}
	if code != exitOK || v.Answer.Rule != "login-per-client" || v.Answer.Reason != "limit" || v.Envoy.Status != 429 || v.Domain != "shop" {
		t.Errorf("got exit code %d and\n%s", code, stdout)
	}
	if want := `{"title": "Too many attempts to log in", "status": 429, "retryAfter": null}`; v.Envoy.Body != want {
		t.Errorf("body: got %s, want %s", v.Envoy.Body, want)
	}
}

func TestExplainRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{nil, exitUsage, "sidecard explain: --rules: name the rules to explain by, or a running daemon with --addr\n"},
		{[]string{"--rules", "../../examples/rules", "--attr", "path"}, exitUsage, "sidecard explain: --attr: \"path\" has no value, write KEY=VALUE\n"},
		{[]string{"--rules", "../../examples/rules", "--attr", "heder.x=1"}, exitUsage,
			"sidecard explain: --attr: \"heder.x\" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean header.x?\n"},
		{[]string{"--rules", "../../examples/rules", "--hits", "0"}, exitUsage, "sidecard explain: --hits: 0 is below 1\n"},
		{[]string{"--rules", "testdata/none"}, exitFailure, "error: testdata/none: no such file or directory\n0 files: 1 error, 0 warnings\n"},
	} {
		code, stdout, stderr := explained(t, tt.args...)
		if code != tt.code || stdout != "" || stderr != tt.stderr {
			t.Errorf("%v: got exit code %d, %q and %q, want %d and %q", tt.args, code, stdout, stderr, tt.code, tt.stderr)
		}
	}
	code, _, stderr := explained(t, "--rules", "testdata/check/bad", "--resource", "orders")
	if code != exitFailure || !strings.Contains(stderr, "testdata/check/bad/broken.yaml:2:13: error: ") {
		t.Errorf("broken rules: got exit code %d and %q", code, stderr)
	}
}
