package manifests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// blocks returns the fenced blocks of one language of a page.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Split(string(text), "```"+language+"\n")[1:]
	for i := range found {
		found[i], _, _ = strings.Cut(found[i], "```")
	}
	if len(found) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return found
}

// patched renders a kustomization with a patch of its Deployment.
func patched(t *testing.T, dir, patch string) rendered {
	t.Helper()
	own := t.TempDir()
	from, err1 := filepath.EvalSymlinks(own)
	to, err2 := filepath.Abs(dir)
	base, err3 := filepath.Rel(from, to)
	text, err4 := yaml.Marshal(map[string]any{
		"resources": []string{base},
		"patches":   []any{map[string]any{"path": "patch.yaml"}},
	})
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"kustomization.yaml": string(text), "patch.yaml": patch} {
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return render(t, from)
}

// The kustomization that the page shows is the one that the tests render, but for where it takes the
// component from, and the remote address leads to that one.
func TestPageOfKubernetesShowsTheComponent(t *testing.T) {
	t.Parallel()
	var shown, ours struct {
		Components         []string
		ConfigMapGenerator []map[string]any
	}
	text, err := os.ReadFile(filepath.Join(ownDeployment, "kustomization.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page := blocks(t, "../../docs/kubernetes.md", "yaml")
	if err := yaml.Unmarshal([]byte(page[0]), &shown); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &ours); err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(shown.Components[0], "github.com/sidecard/sidecard//")
	if path == "" || filepath.Join("../..", path) != filepath.Join(ownDeployment, ours.Components[0]) {
		t.Errorf("the page names %v, the tests render %v", shown.Components, ours.Components)
	}
	one, _ := json.Marshal(shown.ConfigMapGenerator) // a decoded document always can be
	other, _ := json.Marshal(ours.ConfigMapGenerator)
	if string(one) != string(other) {
		t.Errorf("the page has %s, the tests %s", one, other)
	}
	var mounts struct{ VolumeMounts []corev1.VolumeMount }
	if err := yaml.UnmarshalStrict([]byte(page[1]), &mounts); err != nil {
		t.Fatal(err)
	}
	envoy := render(t, ownDeployment).container(t, "envoy")
	if m := mounts.VolumeMounts[0]; mountPath(t, envoy, m.Name) != m.MountPath {
		t.Errorf("the page mounts %v, the Envoy of the tests %v", mounts, envoy.VolumeMounts)
	}
}

// The probes without a port that the page shows fit the pod, the schemas and the binary.
func TestPageOfKubernetesShowsExecProbes(t *testing.T) {
	t.Parallel()
	r := patched(t, shippedNative, blocks(t, "../../docs/kubernetes.md", "yaml")[2])
	c := r.container(t, "sidecard")
	for name, probe := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet != nil || probe.Exec == nil || probe.Exec.Command[0] != "/sidecard" {
			t.Errorf("%s: got %+v", name, probe)
			continue
		}
		help := append(slices.Clone(probe.Exec.Command[1:]), "--help") // which wants the flags before it to exist
		if out, err := exec.Command(os.Getenv("SIDECARD"), help...).CombinedOutput(); err != nil {
			t.Errorf("%s: %q: %v\n%s", name, help, err, out)
		}
	}
	got, _ := obeyed(t, c)
	want, _ := obeyed(t, render(t, shippedNative).container(t, "sidecard"))
	if got.Status != "off" || len(c.Ports) > 0 || !slices.Equal(got.Listen, want.Listen) || !slices.Equal(got.Rules, want.Rules) {
		t.Errorf("got %+v and ports %v", got, c.Ports)
	}
	for _, version := range []string{versions[0], versions[len(versions)-1]} {
		if out, err := validate(t, version, r.documents); err != nil {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

// The annotations that lead Istio to the socket are known to it, and name what the component makes.
func TestIstioMountsTheSocket(t *testing.T) {
	t.Parallel()
	var known struct {
		Annotations []struct{ Name string }
	}
	text, err := os.ReadFile(filepath.Join(moduleDir(t, istioRelease), "annotation/annotations.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &known)
	}
	if err != nil {
		t.Fatal(err)
	}
	deployment := objects(t, istio, "apps")[0]
	annotations := object(t, deployment, "spec", "template", "metadata", "annotations")
	for name := range annotations {
		if !slices.ContainsFunc(known.Annotations, func(a struct{ Name string }) bool { return a.Name == name }) {
			t.Errorf("%s does not know %s", istioRelease, name)
		}
	}
	var mounts []corev1.VolumeMount
	if err := json.Unmarshal([]byte(annotations["sidecar.istio.io/userVolumeMount"].(string)), &mounts); err != nil {
		t.Fatal(err)
	}
	r := render(t, shippedNative)
	if len(mounts) != 1 || mounts[0].MountPath != mountPath(t, r.container(t, "sidecard"), mounts[0].Name) {
		t.Errorf("got %v", mounts)
	}
	selector := object(t, objects(t, istio, "networking.istio.io")[0], "spec", "workloadSelector", "labels")
	labels := object(t, deployment, "spec", "template", "metadata", "labels")
	for name, value := range selector {
		if labels[name] != value {
			t.Errorf("the filter selects %v, the pods have %v", selector, labels)
		}
	}
}
