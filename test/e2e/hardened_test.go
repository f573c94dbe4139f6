//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// hardened is the shipped bootstrap with every setting of the page on hostile requests, and its HTTP
// connection manager.
func hardened(t *testing.T) (root, manager map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text(t, bootstrap)), &root); err != nil {
		t.Fatal(err)
	}
	node := root["static_resources"]
	for _, step := range []string{"listeners", "filter_chains", "filters"} {
		node = node.(map[string]any)[step].([]any)[0]
	}
	manager = node.(map[string]any)["typed_config"].(map[string]any)
	for _, block := range hostilePage(t) {
		var settings map[string]any
		if err := yaml.Unmarshal([]byte(block), &settings); err != nil {
			t.Fatalf("%v:\n%s", err, block)
		}
		if routes, ok := settings["routes"].([]any); ok {
			host := manager["route_config"].(map[string]any)["virtual_hosts"].([]any)[0].(map[string]any)
			host["routes"] = append(routes, host["routes"].([]any)...)
			delete(settings, "routes")
		}
		maps.Copy(manager, settings)
	}
	return root, manager
}

// hostilePage returns the blocks of YAML of the page on hostile requests.
func hostilePage(t *testing.T) []string {
	t.Helper()
	blocks := strings.Split(text(t, "../../docs/hostile.md"), "```yaml\n")[1:]
	for i := range blocks {
		blocks[i], _, _ = strings.Cut(blocks[i], "```")
	}
	return blocks
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// bootstrapFile writes a bootstrap to a file of the test's own.
func bootstrapFile(t *testing.T, root map[string]any) string {
	t.Helper()
	content, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
