package manifests

import (
	"os"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// goodbye is how long sidecard may take to end when its drain is over.
const goodbye = 4 * time.Second

// settings is what the daemon makes of its command line.
type settings struct {
	Rules, Listen       []string
	HTTP, Status, Drain string
}

// obeyed runs the built binary with the arguments of a container. It fails on a flag that does not exist,
// and tells what the others mean.
func obeyed(t *testing.T, c corev1.Container) (s settings, drain time.Duration) {
	t.Helper()
	program := os.Getenv("SIDECARD")
	if program == "" {
		program = "sidecard"
	}
	if len(c.Command) > 0 || len(c.Args) == 0 || c.Args[0] != "serve" {
		t.Fatalf("sidecard is run as %q %q", c.Command, c.Args)
	}
	cmd := exec.Command(program, append(slices.Clone(c.Args), "--print-config")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v; `make manifests` builds it, SIDECARD names it", c.Args, err)
	}
	if err := yaml.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	if drain, err = time.ParseDuration(s.Drain); err != nil {
		t.Fatal(err)
	}
	return s, drain
}

// The binary knows every flag, and they lead to the mounts, to Envoy's address and to the port.
func TestArgumentsFitThePod(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		r := render(t, dir)
		c := r.container(t, "sidecard")
		got, _ := obeyed(t, c)
		socket := pipeOf(t, r.config(t, "envoy-bootstrap").Data["envoy.yaml"], "sidecard")
		if !slices.Equal(got.Listen, []string{"unix:" + socket}) || path.Dir(socket) != mountPath(t, c, "sidecard-socket") {
			t.Errorf("%s: listens on %v, Envoy calls %s", dir, got.Listen, socket)
		}
		if path.Dir(strings.TrimPrefix(got.HTTP, "unix:")) != path.Dir(socket) {
			t.Errorf("%s: the local API is on %s, outside of the shared directory", dir, got.HTTP)
		}
		if !slices.Equal(got.Rules, []string{mountPath(t, c, "sidecard-rules")}) {
			t.Errorf("%s: reads rules from %v", dir, got.Rules)
		}
		if got.Status != "tcp:0.0.0.0:9092" || len(c.Ports) != 1 || c.Ports[0].ContainerPort != 9092 {
			t.Errorf("%s: status on %s, ports %v", dir, got.Status, c.Ports)
		}
	}
}

// Envoy goes first, sidecard after it, and both well before the kubelet kills them.
func TestSidecardOutlivesEnvoy(t *testing.T) {
	t.Parallel()
	for _, dir := range all {
		r := render(t, dir)
		c := r.container(t, "sidecard")
		_, drain := obeyed(t, c)
		first := max(sleep(r.container(t, "envoy")), sleep(c)) // when sidecard gets SIGTERM, at the earliest
		grace := time.Duration(*r.pod().TerminationGracePeriodSeconds) * time.Second
		if first+drain+goodbye > grace {
			t.Errorf("%s: SIGTERM after %v, then %v for the drain: the kubelet kills after %v", dir, first, drain, grace)
		}
		if c.RestartPolicy == nil && sleep(c) <= sleep(r.container(t, "envoy")) {
			t.Errorf("%s: Envoy stops after %v, sidecard after %v", dir, sleep(r.container(t, "envoy")), sleep(c))
		}
	}
}

func sleep(c corev1.Container) time.Duration {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	return time.Duration(c.Lifecycle.PreStop.Sleep.Seconds) * time.Second
}

// A native sidecar is an init container that restarts. It comes before Envoy, which waits for its startup
// probe, and is stopped after Envoy without a hook.
func TestNativeSidecarComesFirst(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{shippedNative, native, ownDeployment, kind} {
		r := render(t, dir)
		c := r.containers()[0]
		if c.Name != "sidecard" || c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			t.Errorf("%s: the first container is %s, restart policy %v", dir, c.Name, c.RestartPolicy)
		}
		if c.StartupProbe == nil || c.Lifecycle != nil {
			t.Errorf("%s: startup probe %v, lifecycle %v", dir, c.StartupProbe, c.Lifecycle)
		}
	}
	for _, dir := range []string{shippedClassic, classic} {
		if r := render(t, dir); len(r.pod().InitContainers) > 0 {
			t.Errorf("%s has init containers", dir)
		}
	}
}

// The two forms of the container say the same but for when it starts and stops.
func TestComponentsAgree(t *testing.T) {
	t.Parallel()
	a, b := render(t, shippedClassic), render(t, shippedNative)
	one, other := a.container(t, "sidecard"), b.container(t, "sidecard")
	one.Lifecycle, other.RestartPolicy = nil, nil
	if !reflect.DeepEqual(one, other) {
		t.Errorf("got %+v and %+v", one, other)
	}
	if !reflect.DeepEqual(a.pod().Volumes, b.pod().Volumes) || !reflect.DeepEqual(a.pod().SecurityContext, b.pod().SecurityContext) {
		t.Errorf("got %+v and %+v", a.pod(), b.pod())
	}
}
