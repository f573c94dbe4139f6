//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/golden"
)

// The case files that are shipped pass, with the built program.
func TestTheExampleCasesPass(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(soon(t), sidecard(t), "test", "../../examples/tests").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "examples/tests/window.yaml: 2 cases") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// The traces of other limiters hold in the built program, told in case files.
func TestTheTracesHold(t *testing.T) {
	t.Parallel()
	all, err := golden.Traces()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"test"}
	for i := range all {
		trace := &all[i]
		if trace.Answer == golden.Info || trace.Waits() != "" {
			continue
		}
		files, err := trace.Files()
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range files {
			file := filepath.Join(dir, trace.ID, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, file, string(data))
		}
		args = append(args, filepath.Join(dir, trace.ID, golden.CaseFile))
	}
	out, err := exec.CommandContext(soon(t), sidecard(t), args...).CombinedOutput()
	if n := len(args) - 1; err != nil || !strings.Contains(string(out), fmt.Sprintf("%d files: %d cases, %d passed, 0 failed", n, n, n)) {
		t.Errorf("%v:\n%s", err, out)
	}
}
