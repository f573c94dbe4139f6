//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// calls is a stack whose Envoy reports how requests end.
type calls struct {
	*envoytest.Stack
	t *testing.T
	c *http.Client
}

func reporting(t *testing.T, rules string, args ...string) *calls {
	t.Helper()
	s := &calls{Stack: stackOf(t, outcomesBootstrap, rules, args...), t: t, c: client(t, "")}
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// begin sends a request whose end the returned function waits for: its status, 0 if there was none.
func (s *calls) begin(ctx context.Context, headers ...string) (status func() int) {
	s.t.Helper()
	r := request(s.t, http.MethodGet, s.URL+"/orders", headers...).WithContext(ctx)
	done := make(chan int, 1)
	go func() {
		reply := envoytest.Send(s.c, r)
		done <- reply.Status
	}()
	return func() int { return <-done }
}

// held begins n requests that the application keeps, and waits until the rule counts them.
func (s *calls) held(ctx context.Context, rule string, n int, headers ...string) (statuses []func() int) {
	s.t.Helper()
	before := s.count("sidecard_in_flight", rule)
	for range n {
		statuses = append(statuses, s.begin(ctx, headers...))
	}
	s.until("sidecard_in_flight", rule, before+float64(n))
	return statuses
}

// count reads a sample of the daemon's metrics by its only label.
func (s *calls) count(metric, label string) float64 {
	s.t.Helper()
	text, err := s.Metrics(soon(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	_, v, err := envoytest.Sample(text, metric, `"`+label+`"`)
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

// until waits until a sample has a value.
func (s *calls) until(metric, label string, want float64) {
	s.t.Helper()
	err := envoytest.Poll(soon(s.t), fmt.Sprintf("%s of %s to be %v", metric, label, want), func(context.Context) (bool, error) {
		got := s.count(metric, label)
		return got == want, fmt.Errorf("it is %v", got)
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// wantRefused fails the test unless a request is refused at once by the rule.
func (s *calls) wantRefused(what, rule string, headers ...string) {
	s.t.Helper()
	response, err := s.c.Do(request(s.t, http.MethodGet, s.URL+"/orders", headers...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(body), `"rule":"`+rule+`"`) {
		s.t.Errorf("%s: %d %s, want 429 by %s", what, response.StatusCode, body, rule)
	}
}

func (s *calls) wantStatus(what string, want int, status func() int) {
	s.t.Helper()
	if got := status(); got != want {
		s.t.Errorf("%s: status %d, want %d", what, got, want)
	}
}

// concurrency is a rule on /orders, followed by further fields.
func concurrency(id string, count int, more string) string {
	return fmt.Sprintf(`{"id": %q, "resource": "orders", "grade": 0, "count": %d, "leaseMs": 3600000%s}`, id, count, more)
}

func TestConcurrencyOfASlowApplication(t *testing.T) {
	t.Parallel()
	dir := rules(t, "gw-flow-rules.json", "["+concurrency("two", 2, "")+"]")
	s := reporting(t, dir)
	release := s.Upstream.Hold()
	defer release()
	under := s.held(t.Context(), "two", 2)
	s.wantRefused("the third", "two")

	// A changed count acts at once on what is under way.
	recount := func(count int) {
		t.Helper()
		before := revision(t, s.Stack)
		write(t, filepath.Join(dir, "gw-flow-rules.json"), "["+concurrency("two", count, "")+"]")
		if err := envoytest.Poll(soon(t), "the new count", func(context.Context) (bool, error) { return revision(t, s.Stack) != before, nil }); err != nil {
			t.Fatal(err)
		}
	}
	recount(3)
	under = append(under, s.held(t.Context(), "two", 1)...)
	s.wantRefused("the fourth of 3", "two")
	recount(1)
	s.wantRefused("one more than 3 under way of 1", "two")
	release()
	for i, status := range under {
		s.wantStatus(fmt.Sprint("request ", i), http.StatusOK, status)
	}
	s.until("sidecard_in_flight", "two", 0)
	s.wantStatus("when all have ended", http.StatusOK, s.begin(t.Context()))
	s.until("sidecard_in_flight", "two", 0)
	s.until("sidecard_tokens_total", "completed", 4)
	wantNoErrors(t, s.Stack)
}

func TestConcurrencyPerUser(t *testing.T) {
	t.Parallel()
	s := reporting(t, rules(t, "gw-flow-rules.json", "["+concurrency("each", 1, `, "paramItem": {"parseStrategy": "header", "fieldName": "X-User-Id"}`)+"]"))
	release := s.Upstream.Hold()
	defer release()
	under := s.held(t.Context(), "each", 1, "x-user-id", "bob")
	s.wantRefused("bob's second", "each", "x-user-id", "bob")
	under = append(under, s.held(t.Context(), "each", 1, "x-user-id", "ann")...)
	s.wantRefused("ann's second", "each", "x-user-id", "ann")
	release()
	for _, status := range under {
		s.wantStatus("the first of each", http.StatusOK, status)
	}
	s.until("sidecard_in_flight", "each", 0)
	s.wantStatus("bob again", http.StatusOK, s.begin(t.Context(), "x-user-id", "bob"))
	s.until("sidecard_in_flight", "each", 0)
}

func TestConcurrencyOfClientsThatLeave(t *testing.T) {
	t.Parallel()
	s := reporting(t, rules(t, "gw-flow-rules.json", "["+concurrency("two", 2, "")+"]"))
	release := s.Upstream.Hold()
	defer release()
	ctx, leave := context.WithCancel(t.Context())
	under := s.held(ctx, "two", 2)
	s.wantRefused("the third", "two")
	leave()
	for _, status := range under {
		s.wantStatus("who left", 0, status)
	}
	s.until("sidecard_in_flight", "two", 0)
	s.until("sidecard_tokens_total", "completed", 2)
	release()
	s.wantStatus("who comes next", http.StatusOK, s.begin(t.Context()))
}

func TestConcurrencyWithoutTheApplication(t *testing.T) {
	t.Parallel()
	s := reporting(t, rules(t, "gw-flow-rules.json", "["+concurrency("two", 2, "")+"]"))
	if err := s.Upstream.Stop(); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.wantStatus(fmt.Sprint("request ", i), http.StatusServiceUnavailable, s.begin(t.Context()))
		s.until("sidecard_in_flight", "two", 0)
	}
	s.until("sidecard_tokens_total", "completed", 5)
}

// TestConcurrencyAfterEnvoyIsKilled: an Envoy that dies reports nothing; its calls end with it, long
// before their lease.
func TestConcurrencyAfterEnvoyIsKilled(t *testing.T) {
	t.Parallel()
	s := reporting(t, rules(t, "gw-flow-rules.json", "["+concurrency("two", 2, "")+"]"))
	release := s.Upstream.Hold()
	defer release()
	under := s.held(t.Context(), "two", 2)
	if err := s.Envoy.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, status := range under {
		s.wantStatus("a request to the Envoy that was killed", 0, status)
	}
	<-s.Envoy.Done()
	if err := s.StartEnvoy(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	s.until("sidecard_in_flight", "two", 0)
	s.until("sidecard_tokens_total", "disconnected", 2)
	logged(t, s.Sidecard, "a process that asked has gone", `"calls":2`)
	under = s.held(t.Context(), "two", 2)
	s.wantRefused("the third, at the new Envoy", "two")
	release()
	for _, status := range under {
		s.wantStatus("a request to the new Envoy", http.StatusOK, status)
	}
	s.until("sidecard_in_flight", "two", 0)
}

// TestMissingReportsAreTold: behind an Envoy that reports nothing places come free with the lease only, and
// the operator is told what to add.
func TestMissingReportsAreTold(t *testing.T) {
	t.Parallel()
	s := &calls{t: t, c: client(t, ""), Stack: ready(t, rules(t, "gw-flow-rules.json", `[{"id": "one", "resource": "orders", "grade": 0, "count": 1, "leaseMs": 1000}]`))}
	s.wantStatus("the first", http.StatusOK, s.begin(t.Context()))
	s.wantRefused("the second, though the first has ended", "one")
	s.until("sidecard_in_flight", "one", 0)
	s.until("sidecard_tokens_total", "expired", 1)
	s.until("sidecard_outcome_reports_missing", "sidecard", 1)
	logged(t, s.Sidecard, `"level":"error"`, "no end of a request has ever been reported", "apply_on_stream_done: true")
	s.wantStatus("after the lease", http.StatusOK, s.begin(t.Context()))
}

// TestConcurrencyOfACrowd: as many again as there are places for, nobody leaves: the application never
// has more than the limit, exactly, and no place is lost.
func TestConcurrencyOfACrowd(t *testing.T) {
	t.Parallel()
	const limit, requests = 8, 1500
	s := reporting(t, rules(t, "gw-flow-rules.json", "["+concurrency("crowd", limit, "")+"]"))
	tally := s.crowd(2*limit, requests, 0)
	t.Logf("limit %d: %+v; at most %d at the application at a time", limit, tally, s.Upstream.Most())
	if most := s.Upstream.Most(); most > limit {
		t.Errorf("%d requests at the application at a time, limit %d", most, limit)
	}
	if tally.other != 0 || tally.passed == 0 || tally.refused == 0 {
		t.Errorf("%+v", tally)
	}
	s.until("sidecard_in_flight", "crowd", 0)
	s.until("sidecard_tokens_total", "completed", float64(tally.passed))
	wantNoErrors(t, s.Stack)
}

// TestConcurrencyOfAnImpatientCrowd: half as many again as there are places for, and a third of the clients mean to leave at any moment, of
// whom those that are not refused first, about a fifth of all, do. A client
// that leaves while the answer is on its way to Envoy takes its token with it, which then has its lease.
func TestConcurrencyOfAnImpatientCrowd(t *testing.T) {
	t.Parallel()
	const limit, requests = 20, 5000
	s := reporting(t, rules(t, "gw-flow-rules.json", `[{"id": "crowd", "resource": "orders", "grade": 0, "count": 20, "leaseMs": 4000}]`))
	tally := s.crowd(limit+limit/2, requests, 3)
	s.until("sidecard_in_flight", "crowd", 0)
	issued := s.count("sidecard_tokens_total", "issued")
	sum := 0.0
	for _, event := range []string{"completed", "withdrawn", "expired", "disconnected"} {
		n := s.count("sidecard_tokens_total", event)
		sum += n
		t.Logf("%s: %v", event, n)
	}
	t.Logf("limit %d, %d requests: %+v; %v calls passed, %v needed their lease, 0 are under way", limit, requests, tally, issued, s.count("sidecard_tokens_total", "expired"))
	if sum != issued {
		t.Errorf("%v calls have ended, %v were let pass", sum, issued)
	}
	if tally.other != 0 || tally.passed == 0 || tally.refused == 0 || tally.left == 0 {
		t.Errorf("%+v", tally)
	}
	if n := s.count("sidecard_tokens_total", "foreign"); n != 0 {
		t.Errorf("%v reports ended nothing", n)
	}
	wantNoErrors(t, s.Stack)
}

// crowdTally says what became of a crowd's requests.
type crowdTally struct{ passed, refused, left, other int64 }

// crowd sends requests from so many clients at a time, who come again when they have been answered; one
// of each leaves leaves at a random moment; 0: none.
func (s *calls) crowd(clients, requests, leaves int) crowdTally {
	s.t.Helper()
	const delay = 10 * time.Millisecond
	var passed, refused, left, other, next atomic.Int64
	var crowd sync.WaitGroup
	for range clients {
		crowd.Go(func() {
			for next.Add(1) <= int64(requests) {
				ctx, cancel := context.WithCancel(s.t.Context())
				impatient := leaves > 0 && rand.IntN(leaves) == 0
				if impatient {
					ctx, cancel = context.WithTimeout(ctx, rand.N(delay+delay/2))
				}
				reply := envoytest.Send(s.c, request(s.t, http.MethodGet, s.URL+"/orders", envoytest.DelayHeader, delay.String()).WithContext(ctx))
				cancel()
				switch {
				case reply.Passed():
					passed.Add(1)
				case reply.Limited():
					refused.Add(1)
					if err := envoytest.Pause(s.t.Context(), 3*delay); err != nil { // about as long as it takes those who pass
						return
					}
				case impatient && reply.Err != nil:
					left.Add(1)
				default:
					other.Add(1)
				}
			}
		})
	}
	crowd.Wait()
	return crowdTally{passed.Load(), refused.Load(), left.Load(), other.Load()}
}
