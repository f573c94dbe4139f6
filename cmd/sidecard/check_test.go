package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each folder of testdata/check is a rules directory; beside it lie the outputs that check must
// give for it.
func TestCheckGoldens(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		dir  string
		name string // of the golden file
		args []string
		code int
	}{
		{"good", "good.txt", nil, exitOK},
		{"good", "good.print.txt", []string{"--print"}, exitOK},
		{"good", "good.print.json", []string{"--print", "-o", "json"}, exitOK},
		{"claimed", "claimed.print.txt", []string{"--print"}, exitOK},
		{"codes", "codes.txt", nil, exitFailure},
		{"codes", "codes.url-first.txt", []string{"--param-codes", "url-first"}, exitOK},
		{"bad", "bad.txt", nil, exitFailure},
		{"bad", "bad.print.txt", []string{"--print"}, exitFailure},
		{"bad", "bad.json", []string{"-o", "json"}, exitFailure},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, got, stderr := command{t: t, args: append([]string{"check", "testdata/check/" + tc.dir}, tc.args...)}.run()
			if code != tc.code || stderr != "" {
				t.Errorf("got exit code %d and %q on standard error, want %d and nothing", code, stderr, tc.code)
			}
			golden := filepath.Join("testdata", "check", tc.name)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestCheckReadsTheVariableForParamCodes(t *testing.T) {
	t.Parallel()
	env := map[string]string{"SIDECARD_PARAM_CODES": "url-first", "SIDECARD_LISTEN": "of no concern to check"}
	code, stdout, stderr := command{t: t, env: env, args: []string{"check", "testdata/check/codes"}}.run()
	if code != exitOK {
		t.Errorf("got exit code %d, %q and\n%s", code, stderr, stdout)
	}
}

func TestCheckOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, tc := range []struct {
		name, path, want string
	}{
		{"a path that is not there", "/nonexistent", "error: /nonexistent: no such file or directory\n0 files: 1 error, 0 warnings\n"},
		{"a directory without rule files", empty, "error: " + empty + ": holds no rule file (*.json, *.yaml or *.yml)\n0 files: 1 error, 0 warnings\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, got, _ := command{t: t, args: []string{"check", tc.path}}.run()
			if code != exitFailure || got != tc.want {
				t.Errorf("got exit code %d and\n%swant\n%s", code, got, tc.want)
			}
		})
	}
	t.Run("an empty file is reported once", func(t *testing.T) {
		t.Parallel()
		file := write(t, "gw-flow-rules.json", "")
		code, got, _ := command{t: t, args: []string{"check", file}}.run()
		if code != exitFailure || !strings.HasPrefix(got, file+":1:1: error: ") || !strings.HasSuffix(got, "\n1 file: 1 error, 0 warnings\n") {
			t.Errorf("got exit code %d and\n%s", code, got)
		}
	})
}

// However much is wrong, the text stays short and the errors are what it shows.
func TestCheckCapsItsText(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("[\n")
	for i := range 60 {
		fmt.Fprintf(&b, `{"resource": "group-%d", "resourceMode": 1, "count": 1},`+"\n", i) // a warning: no such group
	}
	b.WriteString(`{"resource": "orders", "cuont": 1}]`)
	file := write(t, "gw-flow-rules.json", b.String())
	code, got, _ := command{t: t, args: []string{"check", file}}.run()
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if code != exitFailure || len(lines) != shown+2 {
		t.Fatalf("got exit code %d and %d lines:\n%s", code, len(lines), got)
	}
	if !strings.Contains(lines[0], ": error: ") || !strings.Contains(lines[1], ": error: ") {
		t.Errorf("the first lines are\n%s\n%s", lines[0], lines[1])
	}
	if want := "... and 12 more; -o json shows all"; lines[shown] != want { // 60 warnings, 2 errors
		t.Errorf("got %q, want %q", lines[shown], want)
	}

	_, got, _ = command{t: t, args: []string{"check", "-o", "json", file}}.run()
	var report struct {
		OK               bool
		Errors, Warnings int
		Problems         []struct{ Severity, File, Message string }
	}
	if err := json.Unmarshal([]byte(got), &report); err != nil {
		t.Fatal(err)
	}
	if report.OK || report.Errors != 2 || report.Warnings != 60 || len(report.Problems) != 62 {
		t.Errorf("got %d problems, %d errors, %d warnings", len(report.Problems), report.Errors, report.Warnings)
	}
}
