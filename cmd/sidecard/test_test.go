package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTestCommand(t *testing.T) {
	t.Parallel()
	const failure = "testdata/test/cases/failing.yaml:6:5: one more than the limit: event 2 at 10ms, orders: expected pass, rule order; " +
		`got block, rule orders, reason limit, limit 2, remaining 0, retryAfter 990ms (no rule in force has the id "order"; did you mean "orders"?)` + "\n" +
		"FAIL  testdata/test/cases/failing.yaml: 1 of 2 cases failed\n"
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a directory", []string{"testdata/test/cases"}, exitFailure,
			failure + "ok    testdata/test/cases/passing.json: 1 case\n2 files: 3 cases, 2 passed, 1 failed\n", ""},
		{"all pass", []string{"testdata/test/cases/passing.json"}, exitOK,
			"ok    testdata/test/cases/passing.json: 1 case\n1 file: 1 case, 1 passed, 0 failed\n", ""},
		{"other numbers", []string{"--param-codes", "url-first", "testdata/test/cases/passing.json"}, exitFailure,
			"testdata/test/cases/passing.json:3:3: case 1: event 2 at 0s, numbers: expected block; got pass, no rule\n" +
				"FAIL  testdata/test/cases/passing.json: 1 of 1 case failed\n1 file: 1 case, 0 passed, 1 failed\n", ""},
		{"more rules", []string{"--rules", "testdata/check/bad", "testdata/test/cases/passing.json"}, exitFailure,
			"FAIL  testdata/test/cases/passing.json: not run, because its rules are not taken\n1 file: 0 cases, 0 passed, 0 failed\n", ""},
		{"rules that are not there", []string{"--rules", "testdata/none", "testdata/test/cases/passing.json"}, exitUsage,
			"error: testdata/none: no such file or directory\n" +
				"FAIL  testdata/test/cases/passing.json: not run, because it or its rules cannot be read\n1 file: 0 cases, 0 passed, 0 failed\n", ""},
		{"no case file", []string{"testdata/test/rules.yaml"}, exitUsage,
			"testdata/test/rules.yaml:1:1: error: unknown field \"gatewayFlowRules\"; there are rules, cases\n" +
				"testdata/test/rules.yaml:1:1: error: cases: is missing: what to test\n" +
				"FAIL  testdata/test/rules.yaml: not run, because it or its rules cannot be read\n1 file: 0 cases, 0 passed, 0 failed\n", ""},
		{"cases that are not there", []string{"testdata/none"}, exitUsage, "",
			"sidecard test: case files: testdata/none: no such file or directory\n"},
		{"rules alone", []string{"../../examples/rules"}, exitUsage, "",
			"sidecard test: case files: ../../examples/rules: holds rule files alone\n"},
		{"a form that there is not", []string{"-o", "xml", "testdata/test/cases"}, exitUsage, "",
			"sidecard test: --output: \"xml\" is neither text nor json\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command{t: t, args: append([]string{"test"}, tt.args...)}.run()
			if tt.name == "more rules" { // what is wrong with them is not the matter here
				stdout = stdout[strings.Index(stdout, "FAIL"):]
			}
			if code != tt.code || stdout != tt.stdout || stderr != tt.stderr {
				t.Errorf("got exit code %d,\n%s\n%s\nwant %d,\n%s\n%s", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// The page shows what examples print.
func TestTestPage(t *testing.T) {
	t.Parallel()
	code, got, stderr := command{t: t, args: []string{"test", "../../examples/tests/queue.yaml", "../../examples/tests/window.yaml"}}.run()
	if code != exitOK || stderr != "" {
		t.Errorf("got exit code %d and %q on standard error", code, stderr)
	}
	shownOn(t, "../../docs/testing-rules.md", "ok ", strings.ReplaceAll(got, "../../examples", "examples"))
}

func TestTestCommandInJSON(t *testing.T) {
	t.Parallel()
	code, stdout, _ := command{t: t, args: []string{"test", "-o", "json", "testdata/test/cases", "testdata/test/rules.yaml"}}.run()
	var got struct {
		OK                           bool
		Files, Unread, Cases, Failed int
		Failures                     []failureView
		Problems                     []problemView
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if code != exitUsage || got.OK || got.Files != 3 || got.Unread != 1 || got.Cases != 3 || got.Failed != 1 || len(got.Problems) != 2 {
		t.Errorf("got exit code %d and %+v", code, got)
	}
	if len(got.Failures) != 1 {
		t.Fatalf("got %+v", got.Failures)
	}
	f := got.Failures[0]
	if f.Line != 6 || f.Column != 5 || f.Event != 2 || f.AtMs != 10 || *f.Expected.Rule != "order" || *f.Got.Rule != "orders" ||
		f.Got.Outcome != "block" || *f.Got.RetryAfter != 990 {
		t.Errorf("got %+v", f)
	}
}
