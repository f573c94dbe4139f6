package manifests

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What is deployed is what the repository ships and tests, byte for byte.
func TestConfigMapsHoldTheShippedFiles(t *testing.T) {
	t.Parallel()
	for _, dir := range shipped {
		r := render(t, dir)
		bootstrap := r.config(t, "envoy-bootstrap")
		if got, want := bootstrap.Data, readDir(t, "../../envoy", "envoy.yaml"); !maps.Equal(got, want) {
			t.Errorf("%s: bootstrap: got %v", dir, got)
		}
		if !strings.HasPrefix(bootstrap.Name, "envoy-bootstrap-") {
			t.Errorf("%s: %s has no content hash: a changed bootstrap would not roll the pods", dir, bootstrap.Name)
		}
		rules := r.config(t, "sidecard-rules")
		if got, want := rules.Data, readDir(t, "../../examples/rules", "*"); !maps.Equal(got, want) {
			t.Errorf("%s: rules: got %v", dir, got)
		}
	}
}

func TestRulesDoNotRollThePods(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		if got := render(t, dir).config(t, "sidecard-rules").Name; got != "sidecard-rules" {
			t.Errorf("%s: %s is no fixed name: changed rules would roll the pods", dir, got)
		}
	}
}

func TestOverlayReplacesRulesAndImage(t *testing.T) {
	t.Parallel()
	for _, dir := range slices.Concat(overlays, []string{ownDeployment}) {
		r := render(t, dir)
		if got, want := r.config(t, "sidecard-rules").Data, readDir(t, dir, "gw-flow-rules.json"); !maps.Equal(got, want) {
			t.Errorf("%s: rules: got %v, want %v", dir, got, want)
		}
		if got, want := r.container(t, "sidecard").Image, "images.example.com/sidecard:v1"; got != want {
			t.Errorf("%s: image: got %s, want %s", dir, got, want)
		}
	}
	for _, dir := range overlays {
		render(t, dir).container(t, "app")
	}
}

func TestPodIsLockedDown(t *testing.T) {
	t.Parallel()
	for _, dir := range slices.Concat(shipped, overlays, []string{kind}) {
		r := render(t, dir)
		pod := r.pod().SecurityContext
		if pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot || *pod.RunAsUser != 65532 {
			t.Errorf("%s: the pod may run as root: %+v", dir, pod)
		}
		if pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: no seccomp profile", dir)
		}
		if mounts := r.pod().AutomountServiceAccountToken; mounts == nil || *mounts {
			t.Errorf("%s: a service account token is mounted", dir)
		}
		for _, c := range r.containers() {
			s := c.SecurityContext
			switch {
			case s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
				t.Errorf("%s: container %s may gain privileges", dir, c.Name)
			case s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
				t.Errorf("%s: container %s may write to its root", dir, c.Name)
			case s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0:
				t.Errorf("%s: container %s keeps capabilities", dir, c.Name)
			}
		}
	}
}

// sidecard relies on nothing that a pod which it is added to may not say.
func TestSidecardIsLockedDownInAnyPod(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		s := render(t, dir).container(t, "sidecard").SecurityContext
		yes, no, nonroot := true, false, int64(65532)
		want := &corev1.SecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &nonroot, RunAsGroup: &nonroot,
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		if !reflect.DeepEqual(s, want) {
			t.Errorf("%s: got %v, want %v", dir, s, want)
		}
	}
}

// Who is in the pod's group may use the socket, and every container is.
func TestPodSharesAGroup(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		want := int64(65532)
		if dir == ownDeployment {
			want = 2000 // a patch of the user's own comes after the component
		}
		if got := render(t, dir).pod().SecurityContext.FSGroup; got == nil || *got != want {
			t.Errorf("%s: got group %v, want %d", dir, got, want)
		}
	}
}

// The two containers meet at one socket, in a memory volume that both mount, where Envoy's
// bootstrap says it is.
func TestContainersShareTheSocket(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		r := render(t, dir)
		socket := pipeOf(t, r.config(t, "envoy-bootstrap").Data["envoy.yaml"], "sidecard")
		for _, name := range []string{"sidecard", "envoy"} {
			if got := mountPath(t, r.container(t, name), "sidecard-socket"); got != path.Dir(socket) {
				t.Errorf("%s: container %s mounts the socket's volume at %s, Envoy connects to %s", dir, name, got, socket)
			}
		}
		for _, v := range r.pod().Volumes {
			if v.Name == "sidecard-socket" && (v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory || v.EmptyDir.SizeLimit == nil) {
				t.Errorf("%s: the socket's volume is no bounded memory volume: %+v", dir, v)
			}
		}
	}
}

func TestProbesReachTheStatusPort(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		c := render(t, dir).container(t, "sidecard")
		for want, probes := range map[string][]*corev1.Probe{
			"/livez":  {c.LivenessProbe, c.StartupProbe},
			"/readyz": {c.ReadinessProbe},
		} {
			for _, p := range probes {
				if p == nil || p.HTTPGet == nil || p.HTTPGet.Path != want || p.HTTPGet.Port.StrVal != c.Ports[0].Name {
					t.Errorf("%s: want a probe of %s on the status port, got %+v", dir, want, p)
				}
			}
		}
	}
}

func TestMemoryLimitIsTheCollectorsToo(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		c := render(t, dir).container(t, "sidecard")
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: resources: %+v", dir, c.Resources)
		}
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "GOMEMLIMIT" && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
		}) {
			t.Errorf("%s: GOMEMLIMIT does not follow the container's limit", dir)
		}
	}
}

func TestServiceReachesEnvoy(t *testing.T) {
	t.Parallel()
	for _, dir := range shipped {
		r := render(t, dir)
		for key, value := range r.service.Spec.Selector {
			if r.deployment.Spec.Template.Labels[key] != value {
				t.Errorf("the service selects %s=%s, the pods have %v", key, value, r.deployment.Spec.Template.Labels)
			}
		}
		target := r.service.Spec.Ports[0].TargetPort.StrVal
		if !slices.ContainsFunc(r.container(t, "envoy").Ports, func(p corev1.ContainerPort) bool {
			return p.Name == target && p.ContainerPort == 10000
		}) {
			t.Errorf("the service targets %q, which is not Envoy's listener", target)
		}
	}
}

// pipeOf returns the socket path of a cluster in an Envoy bootstrap.
func pipeOf(t *testing.T, bootstrap, cluster string) string {
	t.Helper()
	var b struct {
		StaticResources struct {
			Clusters []struct {
				Name string
				Load struct {
					Endpoints []struct {
						LB []struct {
							Endpoint struct {
								Address struct{ Pipe struct{ Path string } }
							}
						} `json:"lb_endpoints"`
					}
				} `json:"load_assignment"`
			}
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal([]byte(bootstrap), &b); err != nil {
		t.Fatal(err)
	}
	for _, c := range b.StaticResources.Clusters {
		if c.Name == cluster {
			return c.Load.Endpoints[0].LB[0].Endpoint.Address.Pipe.Path
		}
	}
	t.Fatalf("no cluster %s", cluster)
	return ""
}

// readDir returns the content of the files of dir that match, by name.
func readDir(t *testing.T, dir, pattern string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no file %s (%v)", dir, pattern, err)
	}
	files := make(map[string]string)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = string(data)
	}
	return files
}
