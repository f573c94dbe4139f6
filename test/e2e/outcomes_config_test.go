//go:build e2e

package e2e

import (
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

func configured(t *testing.T, yaml string) (args []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, yaml)
	return []string{"--config", file}
}

// What counts as an error is what the configuration says: here no 500, but 404, and an application that
// cannot be reached.
func TestErrorCodes(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "error_count", 2, `, "timeWindow": 3600`), configured(t, "outcomes: {errorCodes: [404, 501-502]}\n")...)
	for _, status := range []int{500, 503, 500, 504, 404, 501} {
		if got := s.ended(envoytest.StatusHeader, strconv.Itoa(status)); got != status {
			t.Fatalf("status %d, want %d", got, status)
		}
	}
	s.until("sidecard_breaker_state", "b", breakerClosed)
	if err := s.Upstream.Stop(); err != nil {
		t.Fatal(err)
	}
	if got := s.ended(); got != http.StatusServiceUnavailable {
		t.Fatalf("without the application: status %d", got)
	}
	s.until("sidecard_breaker_state", "b", breakerOpen)
	wantNoErrors(t, s.Stack)
}

// In the mode always every request that passes and that a rule concerns is reported, whatever the rule.
func TestOutcomesAlways(t *testing.T) {
	t.Parallel()
	const sent, limit = 20, 12
	s := reporting(t, rules(t, rulesFile, `[{"id": "r", "resource": "orders", "count": 12, "intervalSec": 3600}]`), configured(t, "outcomes: {mode: always}\n")...)
	wantTally(t, "requests", send(t, s.c, sent, func() *http.Request { return request(t, http.MethodGet, s.URL+"/orders") }), limit, "r")
	if got := send(t, s.c, 5, func() *http.Request { return request(t, http.MethodGet, s.URL+"/search") }); got.Passed != 5 {
		t.Errorf("a route without a rule: %+v", got)
	}
	s.until("sidecard_tokens_total", "completed", limit)
	if got := s.count("sidecard_tokens_total", "issued"); got != limit {
		t.Errorf("%v tokens, want one for each of %d that passed", got, limit)
	}
	if got := s.count("sidecard_tokens_total", "foreign"); got != 0 {
		t.Errorf("%v reports ended nothing", got)
	}
	wantNoErrors(t, s.Stack)
}
