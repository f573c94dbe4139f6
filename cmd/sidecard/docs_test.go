package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The page for operators names all that can be set, and by which ways.
func TestConfigurationPageIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	lookup := func(string) (string, bool) { return "", false }
	p := process{lookup: lookup}
	for _, cmd := range []*cobra.Command{serveCommand(p), checkCommand(p), testCommand(p), decideCommand(p), explainCommand(p), statusCommand(p), rulesCommand(p), topCommand(p), probeCommand(p), healthcheckCommand(p), versionCommand(p)} {
		if !strings.Contains(page, "`"+cmd.Name()) {
			t.Errorf("the command %s is not there", cmd.Name())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, "`--"+f.Name+"`") {
				t.Errorf("the flag --%s of %s is not there", f.Name, cmd.Name())
			}
		})
	}
	for _, s := range settings() {
		row := "| `" + s.variable() + "` | `" + s.key + "` |"
		if s.flag != "" {
			row = "| `--" + s.flag + "` " + row
		}
		if !strings.Contains(page, row) {
			t.Errorf("no row begins with %s", row)
		}
	}
}

// The example of the page is a config file.
func TestConfigurationPageExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\n")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("there is no example")
	}
	for _, s := range settings() {
		if name := s.key[strings.LastIndexByte(s.key, '.')+1:]; !regexp.MustCompile(`(?m)^ *` + name + `:`).MatchString(example) {
			t.Errorf("it leaves out %s", s.key)
		}
	}
	c := defaults()
	if errs := parseConfigFile("example", []byte(example), settings(), &c); len(errs) > 0 {
		t.Error(errs)
	}
	if c.Mapping["shop"]["user"] != "header.x-user-id" || c.Status != "tcp:0.0.0.0:9092" || c.Block == nil || len(c.Warnings) > 0 {
		t.Errorf("the example means %+v", c)
	}
}

// So is the part of one on the page about outcomes.
func TestOutcomesPageExample(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/outcomes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```yaml\noutcomes:\n")
	example, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("there is no example")
	}
	c := defaults()
	if errs := parseConfigFile("example", []byte("outcomes:\n"+example), settings(), &c); len(errs) > 0 {
		t.Error(errs)
	}
	if got := strings.Join(c.Outcomes.Errors.Words(), " "); got != "408-409 429 5xx" || c.Outcomes.Mode != outcomesAuto {
		t.Errorf("the example means %q, %s", got, c.Outcomes.Mode)
	}
}

// Every claim of the page about security names tests that are there.
func TestSecurityPageNamesTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9]*)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 40 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, m := range named {
		if !strings.Contains(code.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("there is no %s", m[1])
		}
	}
}
