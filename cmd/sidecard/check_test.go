package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/rule"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "check", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
}

// Each folder of testdata/check is a rules directory; beside it lie the outputs that check must
// give for it.
func TestCheckOfGoodRules(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		dir, golden string
		args        []string
	}{
		{"good", "good.txt", nil},
		{"good", "good.print.txt", []string{"--print"}},
		{"good", "good.print.json", []string{"--print", "-o", "json"}},
		{"good", "good.json", []string{"-o", "json"}},
		{"claimed", "claimed.print.txt", []string{"--print"}},
		{"params", "params.print.txt", []string{"--print"}},
		{"params", "params.print.json", []string{"--print", "-o", "json"}},
		{"breakers", "breakers.print.txt", []string{"--print"}},
		{"system", "system.print.txt", []string{"--print"}},
		{"system", "system.print.json", []string{"--print", "-o", "json"}},
		{"breakers", "breakers.print.json", []string{"--print", "-o", "json"}},
		{"flow", "flow.txt", nil},
		{"flow", "flow.print.txt", []string{"--print"}},
		{"flow", "flow.print.json", []string{"--print", "-o", "json"}},
	} {
		t.Run(tc.golden, func(t *testing.T) {
			t.Parallel()
			code, got, stderr := command{t: t, args: append([]string{"check", "testdata/check/" + tc.dir}, tc.args...)}.run()
			if code != exitOK || stderr != "" {
				t.Errorf("got exit code %d and %q on standard error", code, stderr)
			}
			golden(t, tc.golden, fullBytes.ReplaceAllString(got, `"fullBytes": "some"`))
		})
	}
}

// fullBytes is what the engine says, to the byte, of tables that may change.
var fullBytes = regexp.MustCompile(`"fullBytes": [1-9][0-9]*`)

// What is wrong with rules is pkg/rule's to say and to test; here it must be shown at its place.
func TestCheckOfBadRules(t *testing.T) {
	t.Parallel()
	want := []string{ // the beginnings of the lines
		"testdata/check/bad/broken.yaml:2:13: error: ",
		"testdata/check/bad/gw-flow-rules.json:2:3: error: [0].count: ",
		"testdata/check/bad/gw-flow-rules.json:2:26: error: [0]: ",
		"testdata/check/bad/gw-flow-rules.json:3:35: error: [1].count: ",
		"testdata/check/bad/gw-flow-rules.json:4:11: warning: [2].app: ",
		"2 files: 4 errors, 1 warning",
	}
	for _, args := range [][]string{{"check", "testdata/check/bad"}, {"check", "--print", "testdata/check/bad"},
		{"check", "testdata/check/bad/broken.yaml", "testdata/check/bad/gw-flow-rules.json"}} {
		code, got, stderr := command{t: t, args: args}.run()
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		if code != exitFailure || stderr != "" || len(lines) != len(want) {
			t.Errorf("got exit code %d, %q on standard error and\n%s", code, stderr, got)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%v: got %q, want %q…", args, lines[i], want[i])
			}
		}
	}
}

func TestCheckTakesTheTableOfParamCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		env  map[string]string
		args []string
		code int
	}{
		{"the default", nil, nil, exitFailure},
		{"the flag", nil, []string{"--param-codes", "url-first"}, exitOK},
		{"the variable", map[string]string{"SIDECARD_PARAM_CODES": "url-first", "SIDECARD_LISTEN": "of no concern to check"}, nil, exitOK},
		{"the flag over the variable", map[string]string{"SIDECARD_PARAM_CODES": "url-first"}, []string{"--param-codes", "sentinel"}, exitFailure},
	} {
		code, stdout, stderr := command{t: t, env: tc.env, args: append([]string{"check", "testdata/check/codes"}, tc.args...)}.run()
		if code != tc.code || stderr != "" {
			t.Errorf("%s: got exit code %d, %q and\n%s", tc.name, code, stderr, stdout)
		}
	}
}

// What is skipped is a warning, because a file may be out of use on purpose.
func TestCheckNamesSkippedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "GW-FLOW-RULES.JSON", `[{"resource": "orders", "count": 1}]`)
	put(t, dir, "degrade-rules", "[]")
	code, got, _ := command{t: t, args: []string{"check", dir}}.run()
	want := dir + "/degrade-rules: warning: named like a rule file and not read; fix: let its name end in .json, .yaml or .yml\n1 file: 0 errors, 1 warning; 1 rule,"
	if code != exitOK || !strings.HasPrefix(got, want) {
		t.Errorf("got exit code %d and\n%s\nwant\n%s", code, got, want)
	}
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, path := range []string{"/nonexistent", empty} {
		code, got, _ := command{t: t, args: []string{"check", path}}.run()
		if code != exitFailure || !strings.HasPrefix(got, "error: "+path+": ") || !strings.HasSuffix(got, "\n0 files: 1 error, 0 warnings\n") {
			t.Errorf("%s: got exit code %d and\n%s", path, code, got)
		}
	}
	file := write(t, "gw-flow-rules.json", "")
	code, got, _ := command{t: t, args: []string{"check", file}}.run()
	if code != exitFailure || !strings.HasPrefix(got, file+":1:1: error: ") || !strings.HasSuffix(got, "\n1 file: 1 error, 0 warnings\n") {
		t.Errorf("an empty file is to be reported once: got exit code %d and\n%s", code, got)
	}
}

// What the engine would refuse fails the check as well.
func TestViewOfRulesThatTheEngineRefuses(t *testing.T) {
	t.Parallel()
	set := rule.Set{Limits: []rule.LimitRule{{ID: "x", Resource: "r", Limit: 1, Interval: time.Second, SampleCount: 61}}}
	if _, err := ruleview.Of(set); err == nil {
		t.Error("61 slots are accepted")
	}
}

// report returns what check would have found of one file.
func report(errors, warnings int) checkReport {
	r := checkReport{files: 1}
	for i := range warnings {
		r.problems = append(r.problems, rule.Problem{Severity: rule.Warning, Pos: rule.Position{File: "a.json", Line: i + 1, Column: 1}, Message: "odd"})
	}
	for i := range errors {
		r.problems = append(r.problems, rule.Problem{
			Pos: rule.Position{File: "a.json", Line: 1000 + i, Column: 7}, Field: "[0].count", Rule: "orders", Message: "is wrong", Fix: "write 1",
		})
	}
	return r
}

func TestTextOfProblems(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report(1, 2).writeText(&b, false); err != nil {
		t.Fatal(err)
	}
	const want = `a.json:1:1: warning: odd
a.json:2:1: warning: odd
a.json:1000:7: error: [0].count: is wrong; fix: write 1
1 file: 1 error, 2 warnings
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

// However much is wrong, the text stays short and the errors are what it shows.
func TestTextIsCapped(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report(2, shown+10).writeText(&b, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != shown+2 || !strings.Contains(lines[1], ": error: ") || !strings.Contains(lines[2], ": warning: ") {
		t.Fatalf("got %d lines:\n%s", len(lines), &b)
	}
	if want := "... and 12 more; -o json shows all"; lines[shown] != want {
		t.Errorf("got %q, want %q", lines[shown], want)
	}
	if want := fmt.Sprintf("1 file: 2 errors, %d warnings", shown+10); lines[shown+1] != want {
		t.Errorf("got %q, want %q", lines[shown+1], want)
	}
}

func TestJSONOfProblems(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := report(1, shown+10).writeJSON(&b, true); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK               bool
		Errors, Warnings int
		Problems         []problemView
		Rules            []ruleview.Limit
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || got.Errors != 1 || got.Warnings != shown+10 || len(got.Problems) != shown+11 || got.Rules != nil {
		t.Errorf("got %+v", got)
	}
	want := problemView{Severity: "error", File: "a.json", Line: 1000, Column: 7, Field: "[0].count", Rule: "orders", Message: "is wrong", Fix: "write 1"}
	if last := got.Problems[len(got.Problems)-1]; last != want {
		t.Errorf("got %+v, want %+v", last, want)
	}
}

// A file with more problems than are looked for says so, however few of them are shown.
func TestReportSaysThatThereAreMoreProblems(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, rulesFile, "["+strings.Repeat(`{"resource": "r", "count": -1},`+"\n", 2000)+"{}]")
	code, got, _ := command{t: t, args: []string{"check", dir}}.run()
	lines := strings.Split(got, "\n")
	if code != exitFailure || len(lines) != shown+4 || !strings.HasSuffix(lines[shown], ": error: "+rule.TooManyProblems) || !strings.HasPrefix(lines[shown+1], "... and 949 more; ") {
		t.Errorf("got exit code %d and\n%s", code, got)
	}
}
