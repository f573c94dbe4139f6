// Package manifests renders the Kubernetes manifests that the repository ships, with kustomize as a
// library, and holds them to Kubernetes' schemas and to what sidecard and Envoy expect of a pod. It
// is a module of its own so that the product depends on none of this.
package manifests

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The shipped pods, and what users make of them. classic and native-sidecar add an application to a
// shipped pod, own-deployment adds sidecard to a pod that was there before, kind is a walk-through.
const (
	shippedClassic = "../../deploy/k8s/overlays/classic"
	shippedNative  = "../../deploy/k8s/overlays/native-sidecar"
	classic        = "testdata/classic"
	native         = "testdata/native-sidecar"
	ownDeployment  = "testdata/own-deployment"
	kind           = "../../examples/kind"
)

var (
	shipped  = []string{shippedClassic, shippedNative}
	overlays = []string{classic, native}
	all      = slices.Concat(shipped, overlays, []string{ownDeployment, kind})
)

// rendered is what `kubectl apply -k` would send.
type rendered struct {
	documents  [][]byte
	deployment appsv1.Deployment
	service    corev1.Service // empty if there is none
	configs    []corev1.ConfigMap
}

// render builds a kustomization under the default load restrictions, as a user's kubectl does, and
// decodes every object strictly: an unknown or repeated field is an error.
func render(t *testing.T, dir string) rendered {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var r rendered
	seen := make(map[string]int)
	for _, resource := range resources.Resources() {
		document, err := resource.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		r.documents = append(r.documents, document)
		what := resource.GetKind()
		seen[what]++
		switch what {
		case "Deployment":
			err = yaml.UnmarshalStrict(document, &r.deployment)
		case "Service":
			err = yaml.UnmarshalStrict(document, &r.service)
		case "ConfigMap":
			var c corev1.ConfigMap
			err = yaml.UnmarshalStrict(document, &c)
			r.configs = append(r.configs, c)
		default:
			t.Fatalf("%s: an object of unexpected kind %s", dir, what)
		}
		if err != nil {
			t.Fatalf("%s: %s %s: %v", dir, what, resource.GetName(), err)
		}
	}
	if seen["Deployment"] != 1 || seen["Service"] > 1 || seen["ConfigMap"] != 2 {
		t.Fatalf("%s: got %v, want a deployment, two config maps and a service at most", dir, seen)
	}
	return r
}

func (r rendered) pod() corev1.PodSpec { return r.deployment.Spec.Template.Spec }

// config returns the config map mounted as the given volume of the pod.
func (r rendered) config(t *testing.T, volume string) corev1.ConfigMap {
	t.Helper()
	for _, v := range r.pod().Volumes {
		if v.Name != volume {
			continue
		}
		for _, c := range r.configs {
			if v.ConfigMap != nil && c.Name == v.ConfigMap.Name {
				return c
			}
		}
		t.Fatalf("volume %s names no config map that was rendered", volume)
	}
	t.Fatalf("no volume %s", volume)
	return corev1.ConfigMap{}
}

// containers returns the pod's containers in the order in which they start.
func (r rendered) containers() []corev1.Container {
	return slices.Concat(r.pod().InitContainers, r.pod().Containers)
}

func (r rendered) container(t *testing.T, name string) corev1.Container {
	t.Helper()
	var found []corev1.Container
	for _, c := range r.containers() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d containers are called %s", len(found), name)
	}
	return found[0]
}

func mountPath(t *testing.T, c corev1.Container, volume string) string {
	t.Helper()
	for _, m := range c.VolumeMounts {
		if m.Name != volume {
			continue
		}
		if m.SubPath != "" || m.SubPathExpr != "" {
			t.Errorf("container %s: volume %s is mounted by subPath and would never change", c.Name, volume)
		}
		return m.MountPath
	}
	t.Fatalf("container %s does not mount %s", c.Name, volume)
	return ""
}
