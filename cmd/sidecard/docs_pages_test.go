package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rs/zerolog"
)

// The descriptor that the README shows is that of the configuration of Envoy which the tests run.
func TestReadmeShowsTheDescriptor(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../envoy/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```yaml\nrate_limits:\n")
	shown, _, ends := strings.Cut(rest, "```\n")
	if !found || !ends {
		t.Fatal("it shows no descriptor")
	}
	var got map[string]any
	var envoy any
	if err := yaml.Unmarshal([]byte("rate_limits:\n"+shown), &got); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &envoy); err != nil {
		t.Fatal(err)
	}
	if want := below(envoy, "rate_limits"); want == nil || !reflect.DeepEqual(got["rate_limits"], want) {
		t.Errorf("it shows\n%v\nwant\n%v", got["rate_limits"], want)
	}
}

// below returns the value of the first such key in a tree of YAML; nil if there is none.
func below(tree any, key string) any {
	switch tree := tree.(type) {
	case map[string]any:
		if v, ok := tree[key]; ok {
			return v
		}
		for _, v := range tree {
			if found := below(v, key); found != nil {
				return found
			}
		}
	case []any:
		for _, v := range tree {
			if found := below(v, key); found != nil {
				return found
			}
		}
	}
	return nil
}

// The page about metrics names every kind of listener.
func TestMetricsPageNamesListeners(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var s sockets
	none := newRefusals(zerolog.Nop())
	s.strangers.grpc, s.strangers.http, s.strangers.status, s.strangers.admin = none, none, none, none
	var names []string
	for _, c := range s.connections() {
		names = append(names, "`"+c.Listener+"`")
	}
	if want := "what is served on the connection: " + strings.Join(names, ", ") + " |"; !strings.Contains(string(page), want) {
		t.Errorf("it does not say %q", want)
	}
}
