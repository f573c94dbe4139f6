package manifests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// versions are the Kubernetes releases whose schemas the manifests must fit: from the first that has
// native sidecars and a sleeping preStop hook by default to the newest that the validator ships.
var versions = []string{"1.30", "1.32", "1.34", "1.36", "1.37"}

// validate runs kubernetes-validate, which carries the schemas, over manifests in one file.
func validate(t *testing.T, version string, documents [][]byte) (output string, err error) {
	t.Helper()
	program := os.Getenv("KUBERNETES_VALIDATE")
	if program == "" {
		program = "kubernetes-validate"
	}
	if _, err := exec.LookPath(program); err != nil {
		t.Fatalf("%v: `make envoy` fetches it, KUBERNETES_VALIDATE names it", err)
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, bytes.Join(documents, []byte("---\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--strict", "--kubernetes-version", version, file).CombinedOutput()
	return string(out), err
}

func TestManifestsFitTheSchemas(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		r := render(t, dir)
		for _, version := range versions {
			t.Run(dir+" "+version, func(t *testing.T) {
				t.Parallel()
				out, err := validate(t, version, r.documents)
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if got := strings.Count(out, " passed for resource "); got != len(r.documents) {
					t.Errorf("%d of %d objects were validated:\n%s", got, len(r.documents), out)
				}
			})
		}
	}
}

// A validator that accepted anything would make the test above worthless.
func TestValidatorSeesUnknownFields(t *testing.T) {
	t.Parallel()
	documents := render(t, shippedNative).documents
	for i, d := range documents {
		documents[i] = bytes.Replace(d, []byte("startupProbe:"), []byte("startProbe:"), 1)
	}
	if out, err := validate(t, versions[0], documents); err == nil || !strings.Contains(out, "startProbe") {
		t.Errorf("got %v:\n%s", err, out)
	}
}

// kubectl has a kustomize of its own. It renders the same objects as the one that the tests use.
func TestKubectlRendersTheSame(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("kubectl", "version", "--client").CombinedOutput(); err != nil || !strings.Contains(string(out), "Kustomize Version: v5.") {
		t.Skipf("no kubectl with kustomize 5: %v, %s", err, out)
	}
	for _, dir := range all {
		cmd := exec.Command("kubectl", "kustomize", dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got, want := bytes.Split(out, []byte("---\n")), render(t, dir).documents
		slices.SortFunc(got, bytes.Compare) // kubectl puts what others depend on first
		slices.SortFunc(want, bytes.Compare)
		if !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: got\n%s\nwant\n%s", dir, out, bytes.Join(want, []byte("---\n")))
		}
	}
}
