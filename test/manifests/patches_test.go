package manifests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// list and object walk a decoded document; what is not there as expected ends the test.
func list(t *testing.T, from any, keys ...any) []any {
	t.Helper()
	l, ok := at(t, from, keys...).([]any)
	if !ok {
		t.Fatalf("%v is no list", keys)
	}
	return l
}

func object(t *testing.T, from any, keys ...any) map[string]any {
	t.Helper()
	m, ok := at(t, from, keys...).(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", keys)
	}
	return m
}

func at(t *testing.T, from any, keys ...any) any {
	t.Helper()
	for _, key := range keys {
		switch key := key.(type) {
		case string:
			m, _ := from.(map[string]any)
			from = m[key]
		case int:
			l, _ := from.([]any)
			if key >= len(l) {
				t.Fatalf("%v: there is no element %d", keys, key)
			}
			from = l[key]
		}
	}
	return from
}

// withoutSidecard is the shipped bootstrap without the filter and the cluster of sidecard, its listener in
// the form that Envoy Gateway makes.
func withoutSidecard(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("../../envoy/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap map[string]any
	if err := yaml.Unmarshal(text, &bootstrap); err != nil {
		t.Fatal(err)
	}
	static := object(t, bootstrap, "static_resources")
	named := func(name string) func(any) bool {
		return func(o any) bool { return o.(map[string]any)["name"] == name }
	}
	static["clusters"] = slices.DeleteFunc(list(t, static, "clusters"), named("sidecard"))
	listener := object(t, static, "listeners", 0)
	manager := object(t, listener, "filter_chains", 0, "filters", 0, "typed_config")
	manager["http_filters"] = slices.DeleteFunc(list(t, manager, "http_filters"), named("envoy.filters.http.ratelimit"))
	listener["default_filter_chain"] = list(t, listener, "filter_chains")[0]
	delete(listener, "filter_chains")
	return bootstrap
}

// wantEnvoyTakes fails the test unless Envoy finds nothing wrong with a bootstrap that calls sidecard.
func wantEnvoyTakes(t *testing.T, bootstrap map[string]any) {
	t.Helper()
	text, err := json.Marshal(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "envoy.filters.http.ratelimit") || pipeOf(t, string(text), "sidecard") != "/run/sidecard/sidecard.sock" {
		t.Errorf("no filter, or another address, in %s", text)
	}
	if out, err := validateEnvoy(t, text); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// validateEnvoy asks Envoy what it thinks of a bootstrap.
func validateEnvoy(t *testing.T, bootstrap []byte) (output string, err error) {
	t.Helper()
	program := os.Getenv("ENVOY")
	if program == "" {
		program = "envoy"
	}
	file := filepath.Join(t.TempDir(), "envoy.json")
	if err := os.WriteFile(file, bootstrap, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "--mode", "validate", "--config-path", file).CombinedOutput()
	return string(out), err
}

// The parts of the EnvoyFilter, put where Istio puts them.
func TestEnvoyTakesTheFilterOfIstio(t *testing.T) {
	t.Parallel()
	bootstrap := withoutSidecard(t)
	static := object(t, bootstrap, "static_resources")
	manager := object(t, static, "listeners", 0, "default_filter_chain", "filters", 0, "typed_config")
	filter := objects(t, istio, "networking.istio.io")[0]
	for _, patch := range list(t, filter, "spec", "configPatches") {
		value := at(t, patch, "patch", "value")
		switch kind := at(t, patch, "applyTo"); kind {
		case "CLUSTER":
			static["clusters"] = append(list(t, static, "clusters"), value)
		case "HTTP_FILTER":
			manager["http_filters"] = slices.Insert(list(t, manager, "http_filters"), 0, value)
		default:
			t.Fatalf("a patch of %v", kind)
		}
	}
	wantEnvoyTakes(t, bootstrap)
}

// The patches of the EnvoyPatchPolicy, applied as JSON patches to the resources that they name.
func TestEnvoyTakesThePatchesOfEnvoyGateway(t *testing.T) {
	t.Parallel()
	bootstrap := withoutSidecard(t)
	static := object(t, bootstrap, "static_resources")
	for _, o := range objects(t, envoyGateway, "gateway.envoyproxy.io") {
		if o["kind"] != "EnvoyPatchPolicy" {
			continue
		}
		for _, patch := range list(t, o, "spec", "jsonPatches") {
			operation := object(t, patch, "operation")
			switch kind := at(t, patch, "type"); kind {
			case "type.googleapis.com/envoy.config.cluster.v3.Cluster":
				static["clusters"] = append(list(t, static, "clusters"), operation["value"])
			case "type.googleapis.com/envoy.config.listener.v3.Listener":
				static["listeners"] = []any{applied(t, operation, list(t, static, "listeners")[0])}
			default:
				t.Fatalf("a patch of %v", kind)
			}
		}
	}
	wantEnvoyTakes(t, bootstrap)
}

func applied(t *testing.T, operation map[string]any, to any) (result any) {
	t.Helper()
	patch, err1 := json.Marshal([]any{operation})
	document, err2 := json.Marshal(to)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	if document, err = p.Apply(document); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(document, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// An Envoy that took anything would make the two tests above worthless.
func TestEnvoySeesUnknownFields(t *testing.T) {
	t.Parallel()
	bootstrap := withoutSidecard(t)
	manager := object(t, bootstrap, "static_resources", "listeners", 0, "default_filter_chain", "filters", 0, "typed_config")
	manager["nonsense"] = 1
	text, err := json.Marshal(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := validateEnvoy(t, text); err == nil || !strings.Contains(out, "nonsense") {
		t.Errorf("got %v:\n%s", err, out)
	}
}

// The pods of Envoy Gateway hold the same container, volumes and group as the component makes.
func TestEnvoyGatewayRunsTheComponent(t *testing.T) {
	t.Parallel()
	var proxy struct {
		Pod struct {
			SecurityContext *corev1.PodSecurityContext
			Volumes         []corev1.Volume
		}
		Container      struct{ VolumeMounts []corev1.VolumeMount }
		InitContainers []corev1.Container
	}
	for _, o := range objects(t, envoyGateway, "gateway.envoyproxy.io") {
		if o["kind"] != "EnvoyProxy" {
			continue
		}
		text, err := yaml.Marshal(object(t, o, "spec", "provider", "kubernetes", "envoyDeployment"))
		if err == nil {
			err = yaml.UnmarshalStrict(text, &proxy)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := render(t, shippedNative)
	if want := []corev1.Container{r.container(t, "sidecard")}; !reflect.DeepEqual(proxy.InitContainers, want) {
		t.Errorf("got %+v, want %+v", proxy.InitContainers, want)
	}
	if got, want := proxy.Pod.SecurityContext.FSGroup, r.pod().SecurityContext.FSGroup; got == nil || *got != *want {
		t.Errorf("group: got %v, want %v", got, *want)
	}
	for _, v := range proxy.Pod.Volumes {
		if !slices.ContainsFunc(r.pod().Volumes, func(w corev1.Volume) bool { return reflect.DeepEqual(v, w) }) {
			t.Errorf("volume %+v is not the component's", v)
		}
	}
	if got := proxy.Container.VolumeMounts; len(got) != 1 || got[0].Name != "sidecard-socket" || got[0].MountPath != "/run/sidecard" {
		t.Errorf("envoy mounts %v", got)
	}
}
