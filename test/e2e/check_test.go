//go:build e2e

package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// check runs `sidecard check` and returns its output and exit status.
func check(t *testing.T, paths ...string) (output string, status int) {
	t.Helper()
	out, err := exec.CommandContext(soon(t), sidecard(t), append([]string{"check"}, paths...)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		status = exit.ExitCode()
	}
	return string(out), status
}

func TestCheckAcceptsTheExamples(t *testing.T) {
	t.Parallel()
	out, status := check(t, "../../examples/rules")
	if status != 0 || strings.Contains(out, "error:") || strings.Contains(out, "warning:") {
		t.Errorf("exit status %d:\n%s", status, out)
	}
}

func TestCheckNamesLineAndColumn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, content, at string }{
		{"broken JSON", "[\n  {\"resource\": \"orders\", \"count\": 5},\n  {\"resource\": \"search\" \"count\": 5}\n]\n", ":3:25:"},
		{"misspelled field", "[\n  {\"resource\": \"orders\", \"count\": 5, \"intervalsec\": 3}\n]\n", ":2:38:"},
		{"bad value", "[\n  {\"resource\": \"orders\",\n   \"count\": -1}\n]\n", ":3:13:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(rules(t, "gw-flow-rules.json", c.content), "gw-flow-rules.json")
			out, status := check(t, file)
			if status != 1 || !strings.Contains(out, file+c.at) {
				t.Errorf("exit status %d, want 1 and %s:\n%s", status, c.at, out)
			}
		})
	}
}
