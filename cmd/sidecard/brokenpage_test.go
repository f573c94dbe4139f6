package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// brokenFiles are rule files with the mistakes that users report, each in a folder of testdata/broken beside
// the exact words that check has for it. docs/rules.md shows them in this order.
var brokenFiles = []struct {
	folder, title string
	args          []string
}{
	{"gateway-as-flow", "Gateway rules in a file of flow rules", nil},
	{"flow-as-gateway", "Flow rules in a file of gateway rules", nil},
	{"unknown-numbers", "Numbers that no enumeration has", nil},
	{"other-table", "Numbers of the other table", nil},
	{"fraction-of-an-error", "A fraction of an error", nil},
	{"cluster-mode", "Cluster mode", nil},
	{"java-regex", "Expressions that Java takes and RE2 does not", nil},
	{"glob", "Globs as expressions", nil},
	{"bare-prefix", "A prefix without wildcards", nil},
	{"interval-without-unit", "An interval of an unknown unit", nil},
	{"cold", "A count that coldFactor leaves nothing of", nil},
	{"impatient", "Waiting for longer than Envoy does", []string{"--envoy-timeout", "1s"}},
	{"same-rule", "Two rules with the same identity", nil},
	{"nothing-looked-at", "A system rule that looks at nothing", nil},
	{"slips", "Slips of the pen", nil},
	{"tab", "A tab", nil},
}

const (
	saysBegin = "<!-- What check says: written by `make docs` from cmd/sidecard/testdata/broken. -->\n"
	saysEnd   = "<!-- End of what check says. -->\n"
)

// Each broken file gets exactly its words, which docs/rules.md shows. -update writes both.
func TestCheckOfBrokenFiles(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob("testdata/broken/*")
	if err != nil || len(folders) != len(brokenFiles) {
		t.Errorf("%d folders, %v; %d are tested", len(folders), err, len(brokenFiles))
	}
	var page strings.Builder
	for _, b := range brokenFiles {
		dir := "testdata/broken/" + b.folder
		code, got, stderr := command{t: t, args: append([]string{"check", dir}, b.args...)}.run()
		if passes := strings.Contains(got, " 0 errors, "); code != exitFailure && !passes || code != exitOK && passes || stderr != "" {
			t.Errorf("%s: got exit code %d and %q on standard error", b.folder, code, stderr)
		}
		if strings.Contains(got, " 0 errors, 0 warnings") {
			t.Errorf("%s: nothing is found", b.folder)
		}
		golden(t, "../broken/"+b.folder+"/want.txt", got)
		fmt.Fprintf(&page, "\n### %s\n%s", b.title, shownFiles(t, dir))
		fmt.Fprintf(&page, "```console\n$ sidecard check %s\n%s```\n", strings.Join(append([]string{"."}, b.args...), " "), strings.ReplaceAll(got, dir+"/", ""))
	}
	const path = "../../docs/rules.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), saysBegin)
	_, after, ok2 := strings.Cut(rest, saysEnd)
	if !ok || !ok2 {
		t.Fatalf("%s lacks the lines between which the messages stand", path)
	}
	want := before + saysBegin + page.String() + "\n" + saysEnd + after
	switch {
	case want == string(text):
	case !*update:
		t.Errorf("%s does not show what check says; run `make docs`", path)
	default:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shownFiles are the rule files of a folder as a page shows them.
func shownFiles(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		ext := strings.TrimPrefix(filepath.Ext(file), ".")
		if ext == "txt" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "`%s`\n```%s\n%s```\n", filepath.Base(file), ext, text)
	}
	return b.String()
}
