//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// reaction is what a request is reaction with.
type reaction struct {
	status int
	header http.Header
	body   string
}

// refusedFor says whether a request was refused by a rule for a reason.
func (a reaction) refusedFor(rule, reason string) bool {
	return a.status == http.StatusTooManyRequests && strings.Contains(a.body, `"rule":"`+rule+`","reason":"`+reason+`"`)
}

func fetched(t *testing.T, c *http.Client, url string, headers ...string) reaction {
	t.Helper()
	response, err := c.Do(request(t, http.MethodGet, url, headers...))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reaction{response.StatusCode, response.Header, string(body)}
}

// TestAuthority: who may use a route is told by the header that Envoy's configuration takes the origin from.
func TestAuthority(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "authority-rules.json", `[{"id": "mine", "resource": "orders", "limitApp": "web, app", "onMissing": "block"}]`))
	c := client(t, "")
	for _, tt := range []struct{ origin, reason string }{
		{"web", ""}, {"app", ""}, {"batch", "authority"}, {"Web", "authority"}, {"", "missing-param"},
	} {
		var headers []string
		if tt.origin != "" {
			headers = []string{"x-origin", tt.origin}
		}
		a := fetched(t, c, s.URL+"/orders", headers...)
		if tt.reason == "" {
			if a.status != http.StatusOK {
				t.Errorf("origin %q: %+v", tt.origin, a)
			}
			continue
		}
		if !a.refusedFor("mine", tt.reason) || a.header.Get("x-ratelimit-limit") != "" {
			t.Errorf("origin %q: %+v", tt.origin, a)
		}
	}
	wantNoErrors(t, s)
}

// TestSystemQPS: all routes share one budget.
func TestSystemQPS(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "system-rules.json", `[{"id": "all", "qps": 0.1}]`))
	c := client(t, "")
	// One in ten seconds, of which a new ten may begin meanwhile: one or two pass, and the others are told when to come.
	passed := 0
	for _, path := range []string{"/orders", "/search", "/"} {
		switch a := fetched(t, c, s.URL+path); {
		case a.status == http.StatusOK:
			passed++
		case !a.refusedFor("all", "system-qps") || a.header.Get("retry-after") == "" || a.header.Get("x-ratelimit-limit") != "":
			t.Errorf("%s: %+v", path, a)
		}
	}
	if passed < 1 || passed > 2 {
		t.Errorf("%d of 3 passed", passed)
	}
	wantNoErrors(t, s)
}

// TestSystemThreads: with a slow application no more requests are under way than may, of whatever route, and they come
// back.
func TestSystemThreads(t *testing.T) {
	t.Parallel()
	const most = 3
	s := reporting(t, rules(t, "system-rules.json", `[{"id": "all", "maxThread": 2, "leaseMs": 60000}]`))
	release := s.Upstream.Hold()
	defer release()
	under := s.held(t.Context(), "all", most)
	for _, path := range []string{"/orders", "/search"} {
		if a := fetched(t, s.c, s.URL+path); !a.refusedFor("all", "system-thread") {
			t.Errorf("%s: %+v", path, a)
		}
	}
	release()
	for _, status := range under {
		s.wantStatus("a request that was let in", http.StatusOK, status)
	}
	s.until("sidecard_in_flight", "all", 0)
	if a := fetched(t, s.c, s.URL+"/search"); a.status != http.StatusOK {
		t.Errorf("afterwards: %+v", a)
	}
	wantNoErrors(t, s.Stack)
}

// TestSystemStat: the daemon measures the cgroup that it is told, and takes rules that look at it.
func TestSystemStat(t *testing.T) {
	t.Parallel()
	const rule = `[{"id": "cpu", "highestCpuUsage": 0.5}]`
	cgroup := t.TempDir()
	write(t, filepath.Join(cgroup, "cpu.max"), "100000 100000\n")
	write(t, filepath.Join(cgroup, "cpu.stat"), "usage_usec 0\n")
	s := stack(t, rules(t, "system-rules.json", rule), configured(t, "systemStat: {cgroup: "+cgroup+"}\n")...)
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	c := client(t, "")
	if a := fetched(t, c, s.URL+"/orders"); a.status != http.StatusOK {
		t.Errorf("idle: %+v", a)
	}
	// From one moment to the next the processor has run for hours. It is measured once in a second, after which it
	// has been idle again, so the clock of the file must go on.
	var used int64
	poll := func(what string, ok func() bool) {
		t.Helper()
		err := envoytest.Poll(soon(t), what, func(context.Context) (bool, error) { return ok(), nil })
		if err != nil {
			t.Error(err)
		}
	}
	poll("the rule to refuse", func() bool {
		used += 3_600_000_000
		write(t, filepath.Join(cgroup, "cpu.stat"), fmt.Sprintf("usage_usec %d\n", used))
		return fetched(t, c, s.URL+"/orders").refusedFor("cpu", "system-cpu")
	})
	if err := os.RemoveAll(cgroup); err != nil {
		t.Fatal(err)
	}
	poll("what is not known to refuse nothing", func() bool { return fetched(t, c, s.URL+"/orders").status == http.StatusOK })
	logged(t, s.Sidecard, "the system cannot be measured")
	wantNoErrors(t, s)
}
