// Package envoytest runs the built daemon behind a real Envoy on loopback ports of its own, sends
// load through them and measures what came back. The end-to-end tests and the demo share it; no
// product code imports it. Everything it starts ends with its Stack, or with this process.
package envoytest

import (
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"
)

// Addresses are what a bootstrap gets in place of the addresses that it ships with.
type Addresses struct {
	Socket   string // the daemon's Unix socket: a path or @name
	Upstream int    // port of the application on 127.0.0.1
	// Cluster changes the cluster of the daemon once its address is set; nil: it stays as shipped.
	Cluster func(cluster map[string]any)
}

// Bootstrap rewrites the shipped Envoy bootstrap for one run beside others: its listener and its
// admin page move to free ports of 127.0.0.1 (port 0; Envoy reports what it got), the daemon and
// the application to the given addresses. All else stays as shipped. It fails when the bootstrap
// no longer has the parts that it replaces. The result is JSON, which Envoy reads too.
func Bootstrap(shipped []byte, a Addresses) ([]byte, error) {
	var root map[string]any
	if err := yaml.Unmarshal(shipped, &root); err != nil {
		return nil, fmt.Errorf("envoy bootstrap: %w", err)
	}
	e := edit{root: root}
	e.socketAddress(0, "admin", "address")
	listeners := e.list("static_resources", "listeners")
	if e.err == nil && len(listeners) != 1 {
		e.err = fmt.Errorf("want one listener, got %d", len(listeners))
	}
	e.socketAddress(0, "static_resources", "listeners", "ingress", "address")
	e.endpoint("sidecard", "pipe", map[string]any{"path": a.Socket})
	e.endpoint("app", "socket_address", map[string]any{"address": "127.0.0.1", "port_value": a.Upstream})
	cluster := e.mapping("static_resources", "clusters", "sidecard")
	if e.err != nil {
		return nil, fmt.Errorf("envoy bootstrap: %w", e.err)
	}
	if a.Cluster != nil {
		a.Cluster(cluster)
	}
	return json.MarshalIndent(root, "", " ")
}

// edit walks a decoded bootstrap; its first error sticks.
type edit struct {
	root map[string]any
	err  error
}

// socketAddress points the address at the given path to a port of 127.0.0.1.
func (e *edit) socketAddress(port int, path ...string) {
	address := e.mapping(path...)
	if e.err != nil {
		return
	}
	if _, ok := address["socket_address"]; !ok {
		e.err = fmt.Errorf("%v: no socket_address", path)
		return
	}
	address["socket_address"] = map[string]any{"address": "127.0.0.1", "port_value": port}
}

// endpoint replaces the address of a cluster's only endpoint, which must be of the given kind.
func (e *edit) endpoint(cluster, kind string, address map[string]any) {
	localities := e.list("static_resources", "clusters", cluster, "load_assignment", "endpoints")
	if e.err != nil {
		return
	}
	if len(localities) != 1 {
		e.err = fmt.Errorf("cluster %s: want one locality, got %d", cluster, len(localities))
		return
	}
	inner := edit{root: map[string]any{"locality": localities[0]}}
	endpoints := inner.list("locality", "lb_endpoints")
	if inner.err != nil || len(endpoints) != 1 {
		e.err = fmt.Errorf("cluster %s: want one endpoint, got %d (%w)", cluster, len(endpoints), inner.err)
		return
	}
	inner = edit{root: map[string]any{"endpoint": endpoints[0]}}
	old := inner.mapping("endpoint", "endpoint", "address")
	if _, ok := old[kind]; !ok {
		e.err = fmt.Errorf("cluster %s: no endpoint of kind %s", cluster, kind)
		return
	}
	old[kind] = address
}

// list returns the list at path.
func (e *edit) list(path ...string) []any {
	list, ok := e.at(path...).([]any)
	if !ok && e.err == nil {
		e.err = fmt.Errorf("%v: no list", path)
	}
	return list
}

// mapping returns the mapping at path.
func (e *edit) mapping(path ...string) map[string]any {
	m, ok := e.at(path...).(map[string]any)
	if !ok && e.err == nil {
		e.err = fmt.Errorf("%v: no mapping", path)
	}
	return m
}

// at walks mappings by key and lists by the name of their elements.
func (e *edit) at(path ...string) any {
	var node any = e.root
	for _, step := range path {
		switch n := node.(type) {
		case map[string]any:
			node = n[step]
		case []any:
			node = named(n, step)
		default:
			return nil
		}
	}
	return node
}

func named(list []any, name string) any {
	for _, element := range list {
		if m, ok := element.(map[string]any); ok && m["name"] == name {
			return m
		}
	}
	return nil
}
