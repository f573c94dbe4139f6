//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// version is a rule set that can be told from the next: the limit on /orders is its number plus
// 1000. Every version closes /closed, so that one pass there is a moment without rules.
func version(n int) string {
	return fmt.Sprintf(`[
		{"id": "orders-limit", "resource": "orders", "count": %d, "intervalSec": 1},
		{"id": "closed", "resource": "other", "count": 0}
	]`, 1000+n)
}

// reloads reads how many rule sets the daemon has put in force, and how many it has refused.
func reloads(ctx context.Context, s *envoytest.Stack) (good, bad int, err error) {
	text, err := s.Metrics(ctx)
	if err != nil {
		return 0, 0, err
	}
	_, success, err := envoytest.Sample(text, "sidecard_rules_reloads_total", `result="success"`)
	if err != nil {
		return 0, 0, err
	}
	_, failure, err := envoytest.Sample(text, "sidecard_rules_reloads_total", `result="error"`)
	return int(success), int(failure), err
}

// revision reads the revision of the rules in force.
func revision(t *testing.T, s *envoytest.Stack) string {
	t.Helper()
	text, err := s.Metrics(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	labels, _, err := envoytest.Sample(text, "sidecard_rules_info")
	if err != nil {
		t.Fatal(err)
	}
	return labels
}

// inForce waits until Envoy's answers on /orders show the limit of a version.
func inForce(t *testing.T, s *envoytest.Stack, c *http.Client, n int) {
	t.Helper()
	want := fmt.Sprintf("%d, %d;w=1;name=\"orders-limit\"", 1000+n, 1000+n)
	err := envoytest.Poll(soon(t), fmt.Sprintf("version %d in force", n), func(context.Context) (bool, error) {
		response, _ := exchange(t, c, request(t, http.MethodGet, s.URL+"/orders"))
		got := response.Header.Get("X-Ratelimit-Limit")
		return got == want, fmt.Errorf("x-ratelimit-limit is %q", got)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever happens to the rule files short of a good new set, the old rules stay in force, and a
// good set afterwards is taken.
func TestBadRuleFilesChangeNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, dir string)
	}{
		{"broken file", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "gw-flow-rules.json"), `[{"resource": "orders", "count": 1`)
		}},
		{"bad rule beside good ones", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "gw-flow-rules.json"), strings.Replace(version(1), "}\n", "}, {\"resource\": \"x\", \"count\": -1}\n", 1))
		}},
		{"0 bytes", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "gw-flow-rules.json"), "") }},
		{"null", func(t *testing.T, dir string) { write(t, filepath.Join(dir, "gw-flow-rules.json"), "null") }},
		{"last file deleted", func(t *testing.T, dir string) { remove(t, filepath.Join(dir, "gw-flow-rules.json")) }},
		{"directory deleted", func(t *testing.T, dir string) { remove(t, dir) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "rules")
			restore := func(n int) {
				t.Helper()
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(dir, "gw-flow-rules.json"), version(n))
			}
			restore(0)
			s := ready(t, dir)
			client := client(t, "")
			inForce(t, s, client, 0)
			before := revision(t, s)

			c.damage(t, dir)
			err := envoytest.Poll(soon(t), "the daemon to refuse the rules", func(ctx context.Context) (bool, error) {
				_, bad, err := reloads(ctx, s)
				return bad > 0, err
			})
			if err != nil {
				t.Fatal(err)
			}
			got := send(t, client, 20, func() *http.Request { return request(t, http.MethodGet, s.URL+"/closed") })
			wantTally(t, "the old rules", got, 0, "closed")
			inForce(t, s, client, 0)
			if after := revision(t, s); after != before {
				t.Errorf("revision: got %s, want still %s", after, before)
			}
			if status, _, err := envoytest.Fetch(soon(t), s.Status+"/readyz"); err != nil || status != http.StatusOK {
				t.Errorf("/readyz: %d, %v: a bad reload must not take the pod out of service", status, err)
			}

			restore(2)
			inForce(t, s, client, 2)
			wantNoErrors(t, s)
		})
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// A file gone from a directory that has others takes its rules with it, and their ids are logged.
func TestOneFileOfSeveralDeleted(t *testing.T) {
	t.Parallel()
	dir := rules(t,
		"shop-gw-flow-rules.json", version(0),
		"search-gw-flow-rules.json", `[{"id": "search-closed", "resource": "search", "count": 0}]`)
	s := ready(t, dir)
	c := client(t, "")
	inForce(t, s, c, 0)
	search := func() *http.Request { return request(t, http.MethodGet, s.URL+"/search") }
	wantTally(t, "before", send(t, c, 3, search), 0, "search-closed")

	remove(t, filepath.Join(dir, "search-gw-flow-rules.json"))
	err := envoytest.Poll(soon(t), "/search to be open", func(context.Context) (bool, error) {
		reply := envoytest.Send(c, search())
		return reply.Passed(), reply.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	logged(t, s.Sidecard, "removed", "search-closed")
	wantTally(t, "the file that stayed", send(t, c, 3, func() *http.Request {
		return request(t, http.MethodGet, s.URL+"/closed")
	}), 0, "closed")
	wantNoErrors(t, s)
}

// A changed count acts at once and keeps what was counted; other rules are not touched at all.
func TestReloadKeepsCounts(t *testing.T) {
	t.Parallel()
	put := func(dir string, count int) {
		write(t, filepath.Join(dir, "gw-flow-rules.json"), fmt.Sprintf(`[
			{"id": "orders", "resource": "orders", "count": %d, "intervalSec": 3600},
			{"id": "per-session", "resource": "cart", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}}
		]`, count))
	}
	dir := t.TempDir()
	put(dir, 3)
	s := ready(t, dir)
	c := client(t, "")
	orders := func() *http.Request { return request(t, http.MethodGet, s.URL+"/orders") }
	cart := func() *http.Request { return request(t, http.MethodGet, s.URL+"/cart", "cookie", "session=1") }
	wantTally(t, "three of an hour", send(t, c, 4, orders), 3, "orders")
	wantTally(t, "two of a session", send(t, c, 4, cart), 2, "per-session")

	put(dir, 5)
	err := envoytest.Poll(soon(t), "the second rule set", func(ctx context.Context) (bool, error) {
		good, _, err := reloads(ctx, s)
		return good == 2, err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantTally(t, "five of the same hour", send(t, c, 4, orders), 2, "orders")
	wantTally(t, "the same session", send(t, c, 4, cart), 0, "per-session")
}
