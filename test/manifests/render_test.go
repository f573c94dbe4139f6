// Package manifests renders the Kubernetes manifests that the repository ships, with kustomize as a
// library, and holds them to Kubernetes' schemas and to what sidecard and Envoy expect of a pod. It
// is a module of its own so that the product depends on none of this.
package manifests

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	base    = "../../deploy/k8s"
	overlay = "testdata/overlay"
)

// rendered is what `kubectl apply -k` would send.
type rendered struct {
	documents  [][]byte
	deployment appsv1.Deployment
	service    corev1.Service
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
		kind := resource.GetKind()
		seen[kind]++
		switch kind {
		case "Deployment":
			err = yaml.UnmarshalStrict(document, &r.deployment)
		case "Service":
			err = yaml.UnmarshalStrict(document, &r.service)
		case "ConfigMap":
			var c corev1.ConfigMap
			err = yaml.UnmarshalStrict(document, &c)
			r.configs = append(r.configs, c)
		default:
			t.Fatalf("%s: an object of unexpected kind %s", dir, kind)
		}
		if err != nil {
			t.Fatalf("%s: %s %s: %v", dir, kind, resource.GetName(), err)
		}
	}
	if seen["Deployment"] != 1 || seen["Service"] != 1 || seen["ConfigMap"] != 2 {
		t.Fatalf("%s: got %v, want a deployment, a service and two config maps", dir, seen)
	}
	return r
}

// config returns the config map mounted as the given volume of the pod.
func (r rendered) config(t *testing.T, volume string) corev1.ConfigMap {
	t.Helper()
	for _, v := range r.deployment.Spec.Template.Spec.Volumes {
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

func (r rendered) container(t *testing.T, name string) corev1.Container {
	t.Helper()
	for _, c := range r.deployment.Spec.Template.Spec.Containers {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container %s", name)
	return corev1.Container{}
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
