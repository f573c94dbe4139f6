//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// The case files that are shipped pass, with the built program.
func TestTheExampleCasesPass(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(soon(t), sidecard(t), "test", "../../examples/tests").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "examples/tests/window.yaml: 2 cases") {
		t.Errorf("%v:\n%s", err, out)
	}
}
