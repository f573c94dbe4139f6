package envoytest

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func shipped(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../../envoy/envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestBootstrapReplacesAddressesOnly(t *testing.T) {
	t.Parallel()
	out, err := Bootstrap([]byte(shipped(t)), Addresses{Socket: "/tmp/x.sock", Upstream: 4242})
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(out) {
		t.Fatal("the result is no JSON")
	}
	text := string(out)
	for _, gone := range []string{"/run/sidecard", "0.0.0.0", "10000", "9901", "8080"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, kept := range []string{`"/tmp/x.sock"`, "4242", `"timeout": "1s"`, `"max_requests": 20000`, `"value": 0`, `"route": "orders"`} {
		if !strings.Contains(text, kept) {
			t.Errorf("%s is missing", kept)
		}
	}
	if got := strings.Count(text, `"port_value": 0`); got != 2 {
		t.Errorf("got %d free ports, want 2: the listener's and the admin page's", got)
	}
}

func TestBootstrapRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new string }{
		{"no admin page", "\nadmin:", "\nignored:"},
		{"listener renamed", "name: ingress\n", "name: other\n"},
		{"daemon cluster renamed", "- name: sidecard\n", "- name: other\n"},
		{"daemon not on a socket file", "pipe: {path: /run/sidecard/sidecard.sock}", "socket_address: {address: 127.0.0.1, port_value: 1}"},
		{"no application", "- name: app\n", "- name: application\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := shipped(t)
			changed := strings.Replace(text, c.old, c.new, 1)
			if changed == text {
				t.Fatalf("the bootstrap has no %q", c.old)
			}
			if out, err := Bootstrap([]byte(changed), Addresses{}); err == nil {
				t.Errorf("accepted: %s", out)
			}
		})
	}
	if _, err := Bootstrap([]byte("a: [1"), Addresses{}); err == nil {
		t.Error("accepted bytes that are no YAML")
	}
}
