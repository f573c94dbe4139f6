//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"testing"
)

// What explain foretells is what a client of a real Envoy gets.
func TestExplainForetellsTheAnswer(t *testing.T) {
	t.Parallel()
	const folder = "../../examples/rules"
	s := ready(t, folder)
	c := client(t, "")
	for _, tt := range []struct {
		path  string
		attrs []string
	}{
		{"/orders/7", []string{"--resource", "orders", "--attr", "path=/orders/7", "--attr", "method=GET", "--attr", "header.x-user-id=bob"}},
		{"/orders/../internal/x", []string{"--resource", "internal", "--attr", "path=/orders/../internal/x", "--attr", "method=GET"}},
	} {
		out, err := exec.CommandContext(soon(t), sidecard(t), append([]string{"explain", "-o", "json", "--rules", folder}, tt.attrs...)...).Output()
		if err != nil {
			t.Fatal(err)
		}
		var view struct {
			Envoy struct {
				Status  int
				Headers []struct{ Name, Value string }
				Body    string
			}
		}
		if err := json.Unmarshal(out, &view); err != nil {
			t.Fatal(err)
		}
		r := request(t, http.MethodGet, s.URL+tt.path)
		r.Header.Set("x-user-id", "bob")
		response, body := exchange(t, c, r)
		if want := view.Envoy.Status; want != 0 && (response.StatusCode != want || string(body) != view.Envoy.Body) {
			t.Errorf("%s: got status %d and %q, foretold were %d and %q", tt.path, response.StatusCode, body, want, view.Envoy.Body)
		}
		if len(view.Envoy.Headers) == 0 {
			t.Errorf("%s: no header was foretold", tt.path)
		}
		for _, h := range view.Envoy.Headers {
			if got := response.Header.Get(h.Name); got != h.Value {
				t.Errorf("%s: %s: got %q, foretold was %q", tt.path, h.Name, got, h.Value)
			}
		}
	}
}
