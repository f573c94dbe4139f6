//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// told is what a client was answered, and when.
type told struct {
	envoytest.Reply
	reason string // of a refusal with the daemon's own body
	after  int    // seconds of Retry-After; 0: there is none
}

func tell(c *http.Client, r *http.Request) told {
	a := told{Reply: envoytest.Reply{Sent: time.Now()}}
	response, err := c.Do(r)
	if err != nil {
		a.Err = err
		return a
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a.Done, a.Err, a.Status, a.Rule = time.Now(), err, response.StatusCode, envoytest.DecidingRule(response.Header)
	var refusal struct{ Reason string }
	if json.Unmarshal(body, &refusal) == nil {
		a.reason = refusal.Reason
	}
	a.after, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	return a
}

// want fails the test unless the client was refused by that rule for that reason.
func (a told) want(t *testing.T, what, rule, reason string) {
	t.Helper()
	if !a.Limited() || a.Rule != rule || a.reason != reason {
		t.Errorf("%s: got %+v, want a refusal by %s, reason %s", what, a, rule, reason)
	}
}

// patient is ready with an Envoy whose filter waits that long for an answer.
func patient(t *testing.T, timeout, rules string, args ...string) *envoytest.Stack {
	t.Helper()
	shipped, err := os.ReadFile(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	const setting = "\n              timeout: 1s\n"
	if strings.Count(string(shipped), setting) != 1 {
		t.Fatal("the filter's timeout is not where it was")
	}
	changed := filepath.Join(t.TempDir(), "envoy.yaml")
	write(t, changed, strings.Replace(string(shipped), setting, strings.Replace(setting, "1s", timeout, 1), 1))
	s, err := envoytest.Start(soon(t), envoytest.Options{
		Envoy: envoy(t), Sidecard: sidecard(t), Bootstrap: changed, Rules: rules, Dir: shortDir(t), Args: args,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("ends of the logs:\n" + s.Tails(30))
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.WaitReady(soon(t)); err != nil {
		t.Fatal(err)
	}
	return s
}

// sample reads a metric of the daemon.
func sample(ctx context.Context, s *envoytest.Stack, name string, labels ...string) (float64, error) {
	page, err := s.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	_, value, err := envoytest.Sample(page, name, labels...)
	return value, err
}

func wantSample(t *testing.T, s *envoytest.Stack, want float64, name string, labels ...string) {
	t.Helper()
	if got, err := sample(soon(t), s, name, labels...); err != nil || got != want {
		t.Errorf("%s %v: got %v, %v, want %v", name, labels, got, err, want)
	}
}

// queue is the clients of one rule, who come one after the other.
type queue struct {
	t    *testing.T
	s    *envoytest.Stack
	c    *http.Client
	rule string
}

// passes is how many requests the rule has promised to let pass, and how many of them late.
func (q queue) passes(ctx context.Context) (all, late float64, err error) {
	at, err := sample(ctx, q.s, "sidecard_decisions_total", `outcome="pass"`, `rule="`+q.rule+`"`)
	if err != nil {
		return 0, 0, err
	}
	late, err = sample(ctx, q.s, "sidecard_decisions_total", `outcome="wait"`, `rule="`+q.rule+`"`)
	return at + late, late, err
}

// come sends a request, which must get a place, and returns when it has one.
func (q queue) come(r *http.Request) <-chan told {
	q.t.Helper()
	before, _, err := q.passes(soon(q.t))
	if err != nil {
		q.t.Fatal(err)
	}
	answer := make(chan told, 1)
	go func() { answer <- tell(q.c, r) }()
	err = envoytest.Poll(soon(q.t), "a place in the queue of "+q.rule, func(ctx context.Context) (bool, error) {
		now, _, err := q.passes(ctx)
		return now > before, err
	})
	if err != nil {
		q.t.Fatal(err)
	}
	return answer
}

// wantLate fails the test unless the n-th answer after the first was a pass that came in its turn, at
// the rate of one each pause: earlier than that none may come, whatever it overtook.
func (q queue) wantLate(first told, n int, answer told, pause time.Duration) {
	q.t.Helper()
	late := answer.Done.Sub(first.Sent)
	if !answer.Passed() || late < time.Duration(n)*pause {
		q.t.Errorf("request %d: got %+v, %v after the first was sent, want a pass after %v at least", n, answer, late, time.Duration(n)*pause)
	}
	q.t.Logf("request %d: %v after the first was sent, due after %v", n, late.Round(time.Millisecond), time.Duration(n)*pause)
}

func TestQueueAnswersLateAndInOrder(t *testing.T) {
	t.Parallel()
	s := patient(t, "30s", rules(t, rulesFile,
		`[{"id": "reports", "resource": "reports", "count": 2, "controlBehavior": "queue", "maxQueueingTimeoutMs": 20000}]`))
	q := queue{t, s, client(t, ""), "reports"}
	const pause, others = 500 * time.Millisecond, 6
	first := tell(q.c, request(t, http.MethodGet, s.URL+"/reports"))
	q.wantLate(first, 0, first, pause)
	var answers [others]<-chan told
	for i := range answers {
		answers[i] = q.come(request(t, http.MethodGet, s.URL+"/reports"))
	}
	came := time.Since(first.Sent)
	for i := range answers {
		q.wantLate(first, i+1, <-answers[i], pause)
	}
	all, late, err := q.passes(soon(t))
	if err != nil || all != others+1 || late == 0 && came < others*pause {
		t.Errorf("%v passed, %v of them late (%v), want %d; they came within %v", all, late, err, others+1, came)
	}
	wantSample(t, s, 0, "sidecard_waiting")
	wantSample(t, s, 0, "sidecard_unused_places_total", `rule="reports"`)
	if limits := wantNoErrors(t, s); limits.OK != others+1 || limits.Over != 0 {
		t.Errorf("Envoy counts %+v", limits)
	}
}

// Of many that come at once and go on coming, no more pass than the rate allows, in no stretch of time;
// those beyond the longest wait are refused, and none passes for want of an answer.
func TestQueueAdmitsNoMoreThanItsRate(t *testing.T) {
	t.Parallel()
	s := patient(t, "30s", rules(t, rulesFile,
		`[{"id": "reports", "resource": "reports", "count": 20, "controlBehavior": 2, "maxQueueingTimeoutMs": 800}]`))
	c := client(t, "")
	const rate = 20
	replies := envoytest.Load{Every: time.Second / (5 * rate), Total: 25 * rate, Request: func(int) *http.Request {
		return request(t, http.MethodGet, s.URL+"/reports")
	}}.Run(t.Context(), c)
	got := envoytest.Count(replies)
	if got.Other != 0 || got.Sent != 25*rate || got.LimitedBy["reports"] != got.Limited || got.Limited < 10*rate {
		t.Errorf("got %+v", got)
	}
	for _, within := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, envoytest.Span(replies)} {
		bound := 1 + int(math.Floor(rate*within.Seconds()))
		if most := envoytest.MostWithin(replies, within); most > bound {
			t.Errorf("%d passed within %v, the bound is %d", most, within, bound)
		}
	}
	if got.Passed < 3*rate {
		t.Errorf("%d passed in %v, at %d a second", got.Passed, envoytest.Span(replies), rate)
	}
	q := queue{t, s, c, "reports"}
	if all, late, err := q.passes(soon(t)); err != nil || int(all) != got.Passed || late < 2*rate {
		t.Errorf("the daemon counts %v passes, %v of them late (%v), the client %d", all, late, err, got.Passed)
	}
	if limits := wantNoErrors(t, s); limits.OK != int64(got.Passed) || limits.Over != int64(got.Limited) || s.Upstream.Served() != limits.OK {
		t.Errorf("Envoy counts %+v, the application %d, the client %+v", limits, s.Upstream.Served(), got)
	}
	t.Logf("sent %d in %v, passed %d, refused %d", got.Sent, envoytest.Span(replies).Round(time.Millisecond), got.Passed, got.Limited)
}

// visitor is a request that waits, of a client that can leave.
type visitor struct {
	answer <-chan told
	leave  context.CancelFunc
}

func (q queue) visit(url string) visitor {
	q.t.Helper()
	ctx, leave := context.WithCancel(q.t.Context())
	q.t.Cleanup(leave)
	return visitor{q.come(request(q.t, http.MethodGet, url).WithContext(ctx)), leave}
}

// leaves makes the client leave, and waits until the daemon has counted that as the n-th that did.
func (q queue) leaves(v visitor, n float64) {
	q.t.Helper()
	v.leave()
	if a := <-v.answer; a.Err == nil {
		q.t.Errorf("got %+v before it left", a)
	}
	err := envoytest.Poll(soon(q.t), "the daemon to notice", func(ctx context.Context) (bool, error) {
		now, err := sample(ctx, q.s, "sidecard_cancelled_calls_total")
		return now == n, err
	})
	if err != nil {
		q.t.Error(err)
	}
}

// The place of a client that leaves goes to the next one while it is the newest, and else to nobody.
func TestQueueWhenClientsLeave(t *testing.T) {
	t.Parallel()
	s := patient(t, "30s", rules(t, rulesFile, `[
		{"id": "reports", "resource": "reports", "count": 1, "intervalSec": 3, "controlBehavior": 2, "maxQueueingTimeoutMs": 4000},
		{"id": "images", "resource": "images", "count": 1, "intervalSec": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 20000}
	]`))
	q := queue{t, s, client(t, ""), "reports"}
	first := tell(q.c, request(t, http.MethodGet, s.URL+"/reports"))
	q.leaves(q.visit(s.URL+"/reports"), 1)
	// The next place would be six seconds after the first, and the wait too long.
	q.wantLate(first, 1, tell(q.c, request(t, http.MethodGet, s.URL+"/reports")), 3*time.Second)
	wantSample(t, s, 0, "sidecard_unused_places_total", `rule="reports"`)

	q.rule = "images"
	first = tell(q.c, request(t, http.MethodGet, s.URL+"/images"))
	second := q.visit(s.URL + "/images")
	third := q.come(request(t, http.MethodGet, s.URL+"/images"))
	q.leaves(second, 2)
	q.wantLate(first, 2, <-third, 2*time.Second)
	wantSample(t, s, 1, "sidecard_unused_places_total", `rule="images"`)
	wantSample(t, s, 0, "sidecard_waiting")
	wantNoErrors(t, s)
}

// Envoy lets a request pass that gets no answer in time. So what would wait for longer than the filter
// does is refused, before it takes a place.
func TestQueueRefusesWhatEnvoyWouldNotWaitFor(t *testing.T) {
	t.Parallel()
	s := patient(t, "0.3s", rules(t, rulesFile,
		`[{"id": "reports", "resource": "reports", "count": 1, "intervalSec": 5, "controlBehavior": 2, "maxQueueingTimeoutMs": 20000}]`))
	c := client(t, "")
	ask := func() told { return tell(c, request(t, http.MethodGet, s.URL+"/reports")) }
	if first := ask(); !first.Passed() {
		t.Fatalf("the first: got %+v", first)
	}
	refused := ask()
	for range 4 {
		refused.want(t, "one more", "reports", "deadline")
		refused = ask()
	}
	refused.want(t, "the last", "reports", "deadline")
	if refused.after < 1 || refused.after > 5 {
		t.Errorf("told to come back after %d s", refused.after)
	}
	if err := envoytest.Pause(t.Context(), time.Duration(refused.after)*time.Second); err != nil {
		t.Fatal(err)
	}
	if a := ask(); !a.Passed() {
		t.Errorf("after the time it was told: got %+v", a)
	}
	if limits := wantNoErrors(t, s); limits.OK != 2 || limits.Over != 5 {
		t.Errorf("Envoy counts %+v", limits)
	}
	wantSample(t, s, 0, "sidecard_unused_places_total", `rule="reports"`)
}

// No more calls wait than limits.waiting says. One more is refused at once.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "sidecard.yaml")
	write(t, config, "limits: {waiting: 2}\n")
	s := patient(t, "30s", rules(t, rulesFile,
		`[{"id": "reports", "resource": "reports", "count": 1, "intervalSec": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 60000}]`), "--config", config)
	q := queue{t, s, client(t, ""), "reports"}
	get := func() *http.Request { return request(t, http.MethodGet, s.URL+"/reports") }
	first := tell(q.c, get())
	second, third := q.come(get()), q.come(get())
	tell(q.c, get()).want(t, "one more", "reports", "deadline")
	wantSample(t, s, 1, "sidecard_waiting_refused_total")
	q.wantLate(first, 1, <-second, 2*time.Second)
	q.wantLate(first, 2, <-third, 2*time.Second)
	wantNoErrors(t, s)
}

// Every user has a queue of its own.
func TestQueuePerUser(t *testing.T) {
	t.Parallel()
	s := patient(t, "30s", rules(t, rulesFile, `[{"id": "reports", "resource": "reports", "count": 1, "intervalSec": 3,
		"controlBehavior": 2, "maxQueueingTimeoutMs": 4000, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}}]`))
	q := queue{t, s, client(t, ""), "reports"}
	of := func(user string) *http.Request {
		return request(t, http.MethodGet, s.URL+"/reports", "x-user-id", user)
	}
	firsts, waiting := make(map[string]told), make(map[string]<-chan told)
	for _, user := range []string{"alice", "bob"} {
		firsts[user] = tell(q.c, of(user))
		q.wantLate(firsts[user], 0, firsts[user], 0)
	}
	if _, late, err := q.passes(soon(t)); err != nil || late != 0 {
		t.Errorf("%v were late (%v), though each was the first of its user", late, err)
	}
	for user := range firsts {
		waiting[user] = q.come(of(user))
	}
	tell(q.c, of("alice")).want(t, "a third of alice", "reports", "limit")
	for user, first := range firsts {
		q.wantLate(first, 1, <-waiting[user], 3*time.Second)
	}
	wantNoErrors(t, s)
}

// Those who wait when the daemon is told to stop are answered in their turn; those whose turn comes after
// the drain are refused at its end. Envoy gets an answer for each.
func TestStopAnswersTheQueue(t *testing.T) {
	t.Parallel()
	const pause, drain = 5 * time.Second, 7 * time.Second
	s := patient(t, "60s", rules(t, rulesFile,
		`[{"id": "reports", "resource": "reports", "count": 1, "intervalSec": 5, "controlBehavior": 2, "maxQueueingTimeoutMs": 60000}]`), "--drain", drain.String())
	q := queue{t, s, client(t, ""), "reports"}
	get := func() *http.Request { return request(t, http.MethodGet, s.URL+"/reports") }
	first := tell(q.c, get())
	second, third := q.come(get()), q.come(get())
	if err := s.Sidecard.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	signalled := time.Now()
	q.wantLate(first, 1, <-second, pause)
	last := <-third
	if signalled.Sub(first.Sent) > 2*pause-drain {
		t.Logf("the machine was too slow to keep the third waiting: %+v", last)
	} else {
		last.want(t, "the third", "reports", "deadline")
	}
	if err := s.Sidecard.Wait(soon(t)); err != nil {
		t.Errorf("the daemon did not end well: %v", err)
	}
	wantNoErrors(t, s)
}
