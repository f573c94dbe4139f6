package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The releases whose custom resource definitions the examples are held to. They are read out of the
// modules as they were published; nothing of theirs is compiled.
const (
	istioRelease        = "istio.io/api@v1.32.0"
	envoyGatewayRelease = "github.com/envoyproxy/gateway@v1.9.1"

	istio        = "testdata/istio"
	envoyGateway = "../../deploy/k8s/envoy-gateway"
)

// definitions reads all custom resource definitions in files of a module.
func definitions(t *testing.T, module, pattern string) map[schema.GroupVersionKind]*apiextensionsv1.CustomResourceValidation {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleDir(t, module), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no file %s (%v)", module, pattern, err)
	}
	found := make(map[schema.GroupVersionKind]*apiextensionsv1.CustomResourceValidation)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.Unmarshal(document, &crd); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, v := range crd.Spec.Versions {
				found[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = v.Schema
			}
		}
	}
	return found
}

// moduleDir downloads a module, unless it is in the cache, and returns where it is.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	var m struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &m); err != nil || jsonErr != nil || m.Dir == "" {
		t.Fatalf("%s: %v, %s", module, err, m.Error)
	}
	return m.Dir
}

// customFaults returns what an API server would say against an object: unknown fields, values of wrong
// types, and rules of the definition that it breaks.
func customFaults(t *testing.T, definition *apiextensionsv1.CustomResourceValidation, object map[string]any) (faults []string) {
	t.Helper()
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(definition, &internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range validation.ValidateCustomResource(nil, object, validator) {
		faults = append(faults, fault.Error())
	}
	if rules := cel.NewValidator(structural, true, celconfig.PerCallLimit); rules != nil {
		broken, _ := rules.Validate(t.Context(), field.NewPath(""), structural, object, nil, celconfig.RuntimeCELCostBudget)
		for _, fault := range broken {
			faults = append(faults, fault.Error())
		}
	}
	unknown := pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		faults = append(faults, "unknown field "+path)
	}
	return faults
}

// objects renders a kustomization and returns the objects of one API group.
func objects(t *testing.T, dir string, group string) (found []map[string]any) {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources() {
		if r.GetGvk().Group != group {
			continue
		}
		object, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, object)
	}
	return found
}

func kindOf(object map[string]any) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"]))
}

func TestExamplesFitTheCustomResources(t *testing.T) {
	t.Parallel()
	const generated = "charts/gateway-helm/charts/crds/crds/generated/*.yaml"
	for _, c := range []struct {
		dir, group, module, files string
		want                      []string
	}{
		{istio, "networking.istio.io", istioRelease, "kubernetes/customresourcedefinitions.gen.yaml", []string{"EnvoyFilter"}},
		{envoyGateway, "gateway.envoyproxy.io", envoyGatewayRelease, generated, []string{"EnvoyPatchPolicy", "EnvoyProxy"}},
		{envoyGateway, "gateway.networking.k8s.io", envoyGatewayRelease, "charts/gateway-helm/charts/crds/crds/gatewayapi-crds.yaml", []string{"Gateway", "GatewayClass"}},
	} {
		t.Run(c.group, func(t *testing.T) {
			t.Parallel()
			known := definitions(t, c.module, c.files)
			var kinds []string
			for _, object := range objects(t, c.dir, c.group) {
				gvk := kindOf(object)
				kinds = append(kinds, gvk.Kind)
				if known[gvk] == nil {
					t.Errorf("%s has no %s", c.module, gvk)
					continue
				}
				for _, fault := range customFaults(t, known[gvk], object) {
					t.Errorf("%s: %s", gvk.Kind, fault)
				}
				object["spec"].(map[string]any)["nonsense"] = 1
				if faults := customFaults(t, known[gvk], object); !slices.Equal(faults, []string{"unknown field spec.nonsense"}) {
					t.Errorf("%s: a field that does not exist: got %q", gvk.Kind, faults)
				}
			}
			if slices.Sort(kinds); !slices.Equal(kinds, c.want) {
				t.Errorf("got %v, want %v", kinds, c.want)
			}
		})
	}
}
