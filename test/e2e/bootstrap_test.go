//go:build e2e

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// The file as shipped, addresses and all, is one that Envoy takes without a word of warning about
// deprecated or unknown fields.
func TestShippedBootstrapIsValid(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(soon(t), envoy(t), "--mode", "validate", "--config-path", bootstrap).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "[warning]") || strings.Contains(line, "deprecated") {
			t.Errorf("Envoy warns: %s", line)
		}
	}
}

func TestEnvoyIsTheReleaseThatIsDocumented(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(soon(t), envoy(t), "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "/1.40.") {
		t.Errorf("want an Envoy 1.40, got %v: %s", err, out)
	}
}
