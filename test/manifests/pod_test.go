package manifests

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What is deployed is what the repository ships and tests, byte for byte.
func TestConfigMapsHoldTheShippedFiles(t *testing.T) {
	t.Parallel()
	r := render(t, base)
	bootstrap := r.config(t, "envoy-bootstrap")
	if got, want := bootstrap.Data, readDir(t, "../../envoy", "envoy.yaml"); !maps.Equal(got, want) {
		t.Errorf("bootstrap: got %v", got)
	}
	if !strings.HasPrefix(bootstrap.Name, "envoy-bootstrap-") {
		t.Errorf("%s has no content hash: a changed bootstrap would not roll the pods", bootstrap.Name)
	}
	rules := r.config(t, "rules")
	if got, want := rules.Data, readDir(t, "../../examples/rules", "*"); !maps.Equal(got, want) {
		t.Errorf("rules: got %v", got)
	}
	if rules.Name != "sidecard-rules" {
		t.Errorf("%s is no fixed name: changed rules would roll the pods", rules.Name)
	}
}

func TestOverlayReplacesRulesAndImage(t *testing.T) {
	t.Parallel()
	r := render(t, overlay)
	if got, want := r.config(t, "rules").Data, readDir(t, overlay, "gw-flow-rules.json"); !maps.Equal(got, want) {
		t.Errorf("rules: got %v, want %v", got, want)
	}
	if got, want := r.container(t, "sidecard").Image, "images.example.com/sidecard:v1"; got != want {
		t.Errorf("image: got %s, want %s", got, want)
	}
	r.container(t, "app")
}

func TestPodIsLockedDown(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{base, overlay} {
		spec := render(t, dir).deployment.Spec.Template.Spec
		pod := spec.SecurityContext
		if pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot || *pod.RunAsUser != 65532 || *pod.FSGroup != 65532 {
			t.Errorf("%s: the pod may run as root: %+v", dir, pod)
		}
		if pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: no seccomp profile", dir)
		}
		if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken {
			t.Errorf("%s: a service account token is mounted", dir)
		}
		for _, c := range spec.Containers {
			s := c.SecurityContext
			switch {
			case s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation:
				t.Errorf("%s: container %s may gain privileges", dir, c.Name)
			case s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem:
				t.Errorf("%s: container %s may write to its root", dir, c.Name)
			case s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}):
				t.Errorf("%s: container %s keeps capabilities", dir, c.Name)
			}
		}
	}
}

// The two containers meet at one socket, in a memory volume that both mount, where Envoy's
// bootstrap says it is.
func TestContainersShareTheSocket(t *testing.T) {
	t.Parallel()
	r := render(t, base)
	sidecard, envoy := r.container(t, "sidecard"), r.container(t, "envoy")
	socket := pipeOf(t, r.config(t, "envoy-bootstrap").Data["envoy.yaml"], "sidecard")
	for _, c := range []corev1.Container{sidecard, envoy} {
		if got := mountPath(t, c, "socket"); got != path.Dir(socket) {
			t.Errorf("container %s mounts the socket's volume at %s, Envoy connects to %s", c.Name, got, socket)
		}
	}
	if !slices.Contains(sidecard.Args, "--listen=unix:"+socket) {
		t.Errorf("sidecard does not listen on %s: %v", socket, sidecard.Args)
	}
	if rules := mountPath(t, sidecard, "rules"); !slices.Contains(sidecard.Args, "--rules="+rules) {
		t.Errorf("sidecard does not read %s: %v", rules, sidecard.Args)
	}
	for _, v := range r.deployment.Spec.Template.Spec.Volumes {
		if v.Name == "socket" && (v.EmptyDir == nil || v.EmptyDir.Medium != corev1.StorageMediumMemory || v.EmptyDir.SizeLimit == nil) {
			t.Errorf("the socket's volume is no bounded memory volume: %+v", v)
		}
	}
}

func TestProbesReachTheStatusPort(t *testing.T) {
	t.Parallel()
	r := render(t, base)
	c := r.container(t, "sidecard")
	var port int32
	for _, p := range c.Ports {
		if p.Name == "status" {
			port = p.ContainerPort
		}
	}
	if port != 9092 || !slices.Contains(c.Args, "--status=tcp:0.0.0.0:9092") {
		t.Errorf("status port %d, arguments %v", port, c.Args)
	}
	for want, probe := range map[string][]*corev1.Probe{
		"/livez":  {c.LivenessProbe, c.StartupProbe},
		"/readyz": {c.ReadinessProbe},
	} {
		for _, p := range probe {
			if p == nil || p.HTTPGet == nil || p.HTTPGet.Path != want || p.HTTPGet.Port.StrVal != "status" {
				t.Errorf("want a probe of %s on the status port, got %+v", want, p)
			}
		}
	}
}

// Envoy goes first, sidecard after it, and both well before the kubelet kills them.
func TestSidecardOutlivesEnvoy(t *testing.T) {
	t.Parallel()
	r := render(t, base)
	envoy := r.container(t, "envoy").Lifecycle.PreStop.Sleep.Seconds
	sidecard := r.container(t, "sidecard").Lifecycle.PreStop.Sleep.Seconds
	if grace := *r.deployment.Spec.Template.Spec.TerminationGracePeriodSeconds; envoy >= sidecard || sidecard+15 > grace {
		t.Errorf("envoy stops after %d s, sidecard after %d s, the kubelet kills after %d s", envoy, sidecard, grace)
	}
}

func TestMemoryLimitIsTheCollectorsToo(t *testing.T) {
	t.Parallel()
	c := render(t, base).container(t, "sidecard")
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources: %+v", c.Resources)
	}
	for _, e := range c.Env {
		if e.Name == "GOMEMLIMIT" && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory" {
			return
		}
	}
	t.Error("GOMEMLIMIT does not follow the container's limit")
}

func TestServiceReachesEnvoy(t *testing.T) {
	t.Parallel()
	r := render(t, base)
	for key, value := range r.service.Spec.Selector {
		if r.deployment.Spec.Template.Labels[key] != value {
			t.Errorf("the service selects %s=%s, the pods have %v", key, value, r.deployment.Spec.Template.Labels)
		}
	}
	target := r.service.Spec.Ports[0].TargetPort.StrVal
	for _, p := range r.container(t, "envoy").Ports {
		if p.Name == target && p.ContainerPort == 10000 {
			return
		}
	}
	t.Errorf("the service targets %q, which is not Envoy's listener", target)
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
