package manifests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The walk-through is shell, what it names is there, and its rules load.
func TestWalkThroughIsShell(t *testing.T) {
	t.Parallel()
	for _, script := range blocks(t, kind+"/README.md", "sh") {
		cmd := exec.Command("bash", "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v, %s in\n%s", err, out, script)
		}
		for word := range strings.FieldsSeq(script) {
			if !strings.HasPrefix(word, "examples/") {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", word)); err != nil {
				t.Error(err)
			}
		}
	}
	if out, err := exec.Command(os.Getenv("SIDECARD"), "check", kind+"/gw-flow-rules.json").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The port of the node that kind opens is the one that the service takes.
func TestWalkThroughReachesTheService(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(kind + "/kind.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if port := render(t, kind).service.Spec.Ports[0].NodePort; port != 30080 || !strings.Contains(string(text), "containerPort: 30080, hostPort: 8080") {
		t.Errorf("the service is on port %d, kind opens\n%s", port, text)
	}
}
