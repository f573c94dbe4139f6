//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// The states of sidecard_breaker_state.
const (
	breakerClosed   = 0
	breakerHalfOpen = 1
	breakerOpen     = 2
)

// breaker is a degrade rule on /orders that judges the calls of the last minute, followed by further fields.
func breaker(t *testing.T, id, grade string, count float64, more string) string {
	t.Helper()
	return rules(t, "degrade-rules.json", fmt.Sprintf(
		`[{"id": %q, "resource": "orders", "grade": %q, "count": %v, "minRequestAmount": 3, "statIntervalMs": 60000%s}]`, id, grade, count, more))
}

// ended sends a request, and returns its status once the daemon knows how it ended.
func (s *calls) ended(headers ...string) int {
	s.t.Helper()
	before := s.count("sidecard_tokens_total", "completed")
	status := s.begin(s.t.Context(), headers...)()
	if status != http.StatusTooManyRequests {
		s.until("sidecard_tokens_total", "completed", before+1)
	}
	return status
}

// probed sends requests until one is not refused, and returns its status.
func (s *calls) probed(headers ...string) (status int) {
	s.t.Helper()
	err := envoytest.Poll(soon(s.t), "a probe", func(context.Context) (bool, error) {
		status = s.ended(headers...)
		return status != http.StatusTooManyRequests, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return status
}

// TestBreakerOfAFailingApplication: it opens, keeps requests away from the application with the answer
// of the rule, opens again when its probe fails, and closes when one does not.
func TestBreakerOfAFailingApplication(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "error_ratio", 0.5,
		`, "timeWindow": 5, "blockResponse": {"contentType": "application/json", "body": "{\"down\":true,\"rule\":\"{rule}\",\"reason\":\"{reason}\",\"retry\":{retry_after}}"}`))
	for i, want := range []int{200, 500, 200, 503} {
		if got := s.ended(envoytest.StatusHeader, fmt.Sprint(want)); got != want {
			t.Fatalf("request %d: status %d, want %d", i, got, want)
		}
	}
	s.until("sidecard_breaker_state", "b", breakerClosed)
	if got := s.ended(envoytest.StatusHeader, "500"); got != 500 {
		t.Fatalf("the request that opens it: status %d", got)
	}
	s.until("sidecard_breaker_state", "b", breakerOpen)
	served := s.Upstream.Served()
	for range 3 {
		header, body := s.refusal()
		if header.Get("Content-Type") != "application/json" || !strings.HasPrefix(body, `{"down":true,"rule":"b","reason":"breaker","retry":`) || strings.Contains(body, "null") {
			t.Errorf("open: %v, %s", header, body)
		}
		if after := header.Get("Retry-After"); after == "" || header.Get("X-Ratelimit-Limit") != "" {
			t.Errorf("open: retry-after %q and limit %q, want a time and no limit", after, header.Get("X-Ratelimit-Limit"))
		}
	}
	if got := s.Upstream.Served(); got != served {
		t.Errorf("%d requests reached the application although the breaker was open", got-served)
	}

	if got := s.probed(envoytest.StatusHeader, "500"); got != 500 {
		t.Fatalf("a probe that fails: status %d", got)
	}
	s.until("sidecard_breaker_state", "b", breakerOpen)
	release := s.Upstream.Hold()
	defer release()
	probe := s.heldProbe("b")
	s.wantRefused("while a probe is under way", "b")
	release()
	s.wantStatus("the probe", http.StatusOK, probe)
	s.until("sidecard_breaker_state", "b", breakerClosed)
	if got := s.Upstream.Served(); got != served+2 {
		t.Errorf("%d requests reached the application, want 2 probes", got-served)
	}
	for range 5 {
		if got := s.ended(); got != http.StatusOK {
			t.Fatalf("closed: status %d", got)
		}
	}
	logged(t, s.Sidecard, "circuit breaker changed its state", `"from":"closed","to":"open"`)
	logged(t, s.Sidecard, "circuit breaker changed its state", `"from":"half_open","to":"closed"`)
	wantNoErrors(t, s.Stack)
}

// refusal sends a request that must be refused, and returns its answer.
func (s *calls) refusal() (http.Header, string) {
	s.t.Helper()
	response, err := s.c.Do(request(s.t, http.MethodGet, s.URL+"/orders"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusTooManyRequests {
		s.t.Fatalf("status %d, want 429: %s", response.StatusCode, body)
	}
	return response.Header, string(body)
}

// heldProbe sends requests until one reaches the application, which must keep it, and the breaker of the
// rule is half open.
func (s *calls) heldProbe(rule string) (status func() int) {
	s.t.Helper()
	served := s.Upstream.Served()
	for status == nil {
		done := make(chan int, 1)
		wait := s.begin(s.t.Context())
		go func() { done <- wait() }()
		err := envoytest.Poll(soon(s.t), "a refusal or a probe", func(context.Context) (bool, error) {
			if s.Upstream.Served() > served {
				status = func() int { return <-done }
				return true, nil
			}
			return len(done) > 0, nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	s.until("sidecard_breaker_state", rule, breakerHalfOpen)
	return status
}

func TestBreakerWithoutTheApplication(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "error_count", 2, `, "timeWindow": 60`))
	if err := s.Upstream.Stop(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := s.ended(); got != http.StatusServiceUnavailable {
			t.Fatalf("without the application: status %d", got)
		}
	}
	s.until("sidecard_breaker_state", "b", breakerOpen)
	s.wantRefused("open", "b")
}

func TestBreakerOfASlowApplication(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "slow_ratio", 100, `, "slowRatioThreshold": 1, "timeWindow": 60`))
	for range 3 {
		if got := s.ended(envoytest.DelayHeader, "300ms"); got != http.StatusOK {
			t.Fatalf("slow: status %d", got)
		}
	}
	s.until("sidecard_breaker_state", "b", breakerOpen)
	s.wantRefused("open", "b")
}

// TestBreakerOfClientsThatLeave: who does not wait for an answer does not make it a bad one.
func TestBreakerOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	s := reporting(t, breaker(t, "b", "error_count", 2, `, "timeWindow": 60`))
	release := s.Upstream.Hold()
	defer release()
	ctx, leave := context.WithCancel(t.Context())
	var under []func() int
	for range 5 {
		under = append(under, s.begin(ctx))
	}
	s.until("sidecard_tokens_total", "issued", 5)
	leave()
	for _, status := range under {
		s.wantStatus("who left", 0, status)
	}
	s.until("sidecard_tokens_total", "completed", 5)
	s.until("sidecard_breaker_state", "b", breakerClosed)
	release()
	if got := s.ended(); got != http.StatusOK {
		t.Errorf("who comes next: status %d", got)
	}
}
