//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// exchange sends a request and returns the answer with its body.
func exchange(t *testing.T, c *http.Client, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	response, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, body
}

func TestAnswerTellsTheClientWhatAndWhen(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json",
		`[{"id": "orders-limit", "resource": "orders", "count": 2, "intervalSec": 60, "window": "strict"}]`))
	c := client(t, "")
	for _, remaining := range []string{"1", "0"} {
		response, _ := exchange(t, c, request(t, http.MethodGet, s.URL+"/orders"))
		if response.StatusCode != http.StatusOK || response.Header.Get("Retry-After") != "" {
			t.Fatalf("got status %d, retry-after %q", response.StatusCode, response.Header.Get("Retry-After"))
		}
		if got := response.Header.Get("X-Ratelimit-Remaining"); got != remaining {
			t.Errorf("remaining: got %q, want %s", got, remaining)
		}
		if got, want := response.Header.Get("X-Ratelimit-Limit"), `2, 2;w=60;name="orders-limit"`; got != want {
			t.Errorf("limit: got %q, want %q", got, want)
		}
	}
	response, body := exchange(t, c, request(t, http.MethodGet, s.URL+"/orders"))
	if response.StatusCode != http.StatusTooManyRequests || response.Header.Get("X-Ratelimit-Remaining") != "0" {
		t.Fatalf("got status %d, headers %v", response.StatusCode, response.Header)
	}
	after, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || after < 1 || after > 66 || response.Header.Get("X-Ratelimit-Reset") != strconv.Itoa(after) {
		t.Errorf("headers say nothing sensible of when to come back: %v", response.Header)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		t.Errorf("content type: got %q", response.Header.Get("Content-Type"))
	}
	var answer struct {
		Code              int
		Rule, Reason      string
		RetryAfterSeconds int
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if answer.Code != 429 || answer.Rule != "orders-limit" || answer.Reason != "limit" || answer.RetryAfterSeconds != after {
		t.Errorf("got %s", body)
	}
	logged(t, s.Envoy, `"flags":"RL"`, "orders-limit", `"/orders"`)
}

// A client that waits as long as it is told is admitted, if no other takes its place.
func TestWaitingRetryAfterIsEnough(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[
		{"id": "strict", "resource": "orders", "count": 3, "intervalSec": 2, "window": "strict"},
		{"id": "aligned", "resource": "search", "count": 3, "intervalSec": 2},
		{"id": "keyed", "resource": "cart", "count": 3, "intervalSec": 2, "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}}
	]`))
	for rule, path := range map[string]string{"strict": "/orders", "aligned": "/search", "keyed": "/cart"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := client(t, "")
			ask := func() *http.Response {
				response, _ := exchange(t, c, request(t, http.MethodGet, s.URL+path, "cookie", "session=1"))
				return response
			}
			for round := range 3 {
				response := ask()
				for range 100 { // a slow machine may not exhaust the limit at the first attempt
					if response.StatusCode != http.StatusOK {
						break
					}
					response = ask()
				}
				seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
				if response.StatusCode != http.StatusTooManyRequests || err != nil {
					t.Fatalf("round %d: got status %d, retry-after %q", round, response.StatusCode, response.Header.Get("Retry-After"))
				}
				if err := envoytest.Pause(t.Context(), time.Duration(seconds)*time.Second); err != nil {
					t.Fatal(err)
				}
				if response := ask(); response.StatusCode != http.StatusOK {
					t.Errorf("round %d: waited %d s as told, got status %d", round, seconds, response.StatusCode)
				}
			}
		})
	}
}

// gRPC clients get a status that they do not retry at once.
func TestGRPCClientsSeeResourceExhausted(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[{"id": "closed", "resource": "other", "count": 0}]`))
	response, _ := exchange(t, client(t, ""), request(t, http.MethodPost, s.URL+"/shop.Shop/Buy", "content-type", "application/grpc"))
	if got := response.Header.Get("Grpc-Status"); got != "8" {
		t.Errorf("grpc-status: got %q, want 8; headers %v", got, response.Header)
	}
	if got := response.Header.Get("Grpc-Message"); !strings.Contains(got, "closed") {
		t.Errorf("grpc-message: got %q, which does not name the rule", got)
	}
}
