package main

import (
	"strings"
	"testing"
)

const decideRules = `[
	{"id": "orders", "resource": "orders", "count": 2, "intervalSec": 86400},
	{"id": "users", "resource": "users", "count": 1, "intervalSec": 86400, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
	{"id": "queue", "resource": "queue", "count": 1000, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000},
	{"id": "closed", "resource": "closed", "count": 0, "intervalSec": 60},
	{"id": "dark", "resource": "dark", "count": 0, "intervalSec": 60, "shadow": true}
]`

func TestDecide(t *testing.T) {
	t.Parallel()
	d := start(t, func(rules string) { put(t, rules, "gw-flow-rules.json", decideRules) })
	d.log.wait(t, "ready, serving decisions", 1)
	addr := "unix:" + d.path("http.sock")
	for _, c := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"--resource orders --peek", exitOK, "allowed by orders, 2 of 2 left\n", ""},
		{"--resource orders", exitOK, "allowed by orders, 1 of 2 left\n", ""},
		{"--resource orders --hits 3 -o json", exitFailure, "{\n  \"allowed\": false,\n  \"code\": \"block\",\n  \"rule\": \"orders\",\n  \"reason\": \"limit\",\n  \"limit\": 2,\n  \"remaining\": 0\n}\n", ""},
		{"--resource orders", exitOK, "allowed by orders, 0 of 2 left\n", ""},
		{"--resource orders", exitFailure, "refused by orders: limit, 0 of 2 left, retry after ", ""},
		{"--resource users --attr header.x-user-id=a=b --attr header.x-user-id=c", exitOK, "allowed by users, 0 of 1 left\n", ""},
		{"--resource users --attr header.x-user-id=c --peek", exitOK, "allowed by users, 1 of 1 left\n", ""},
		{"--resource queue --hits 20", exitOK, "allowed by queue, ", ""},
		{"--resource closed", exitFailure, "refused by closed: limit, 0 of 0 left\n", ""},
		{"--resource dark --domain other --arg 1 --arg x", exitOK, "allowed, no limit applies, dark would refuse if it were not in shadow\n", ""},
		{"--attr path", exitUsage, "", "sidecard decide: --attr: \"path\" has no value, write KEY=VALUE\n"},
		{"--attr haeder.x=y", exitUsage, "", `sidecard decide: sidecard takes the request for malformed: attributes: "haeder.x" is no attribute`},
		{"--hits 0", exitUsage, "", "sidecard decide: --hits: 0 is below 1; to take nothing, write --peek\n"},
		{"-o xml", exitUsage, "", "sidecard decide: "},
		{"--addr off", exitUsage, "", "sidecard decide: sidecard client: off is no address to ask\n"},
		{"--addr unix:/nonexistent/s", exitSilence, "", "sidecard decide: sidecard does not decide: "},
	} {
		code, stdout, stderr := command{t: t, env: map[string]string{"SIDECARD_HTTP": addr}, args: append([]string{"decide"}, strings.Fields(c.args)...)}.run()
		if code != c.code || !strings.HasPrefix(stdout, c.stdout) || !strings.HasPrefix(stderr, c.stderr) || (c.stdout == "") != (stdout == "") || (c.stderr == "") != (stderr == "") {
			t.Errorf("decide %s: got exit code %d, %q and %q", c.args, code, stdout, stderr)
		}
	}
}

func TestDecideWithoutRules(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.log.wait(t, "listening", 1)
	code, _, stderr := command{t: t, args: []string{"decide", "--addr", "unix:" + d.path("http.sock")}}.run()
	if want := "sidecard decide: sidecard does not decide: 503 no rules have been loaded yet\n"; code != exitSilence || stderr != want {
		t.Errorf("got exit code %d and %q", code, stderr)
	}
}
