//go:build e2e

package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The file as shipped, addresses and all, is one that Envoy takes without a word of warning about
// deprecated or unknown fields.
func TestShippedBootstrapIsValid(t *testing.T) {
	t.Parallel()
	validate(t, bootstrap)
}

// So is the file with reports, but for the type of the address ranges of remote_address_match, which Envoy
// calls unfinished and for which nothing else can stand.
func TestBootstrapWithReportsIsValid(t *testing.T) {
	t.Parallel()
	validate(t, outcomesBootstrap, "'xds.core.v3.CidrRange' is contained in proto file")
}

// So is the file with the settings of the page on hostile requests, and with the route that both the
// page and the file suggest.
func TestHardenedBootstrapIsValid(t *testing.T) {
	t.Parallel()
	root, _ := hardened(t)
	validate(t, bootstrapFile(t, root))

	shipped := text(t, bootstrap)
	_, route, found := strings.Cut(shipped, "# - {match: ")
	route, _, _ = strings.Cut("- {match: "+route, "\n")
	if page := hostilePage(t)[0]; !found || page != "routes:\n"+route+"\n" {
		t.Errorf("the file suggests\n%s\nand the page\n%s", route, page)
	}
	own := filepath.Join(t.TempDir(), "envoy.yaml")
	write(t, own, strings.Replace(shipped, "# - {match: ", "- {match: ", 1))
	validate(t, own)
}

// validate lets Envoy look at a file, whose only warnings may be those that have one of the texts.
func validate(t *testing.T, bootstrap string, expected ...string) {
	t.Helper()
	out, err := exec.CommandContext(soon(t), envoy(t), "--mode", "validate", "--config-path", bootstrap).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if slices.ContainsFunc(expected, func(text string) bool { return strings.Contains(line, text) }) {
			continue
		}
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
