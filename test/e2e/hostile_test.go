//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// The hostile tests send what no well-behaved client sends. An input that Envoy lets pass must be
// decided as its harmless spelling is: no client gets a new budget, or past a block, by spelling
// something differently, and no byte makes the daemon fail, because Envoy would then let the request
// pass. Each table is sent in its order, so that a harmless row, which uses up a budget of two, comes
// before the hostile ones that draw on the same. Nothing leaves the windows of ten minutes meanwhile.

// hostileRow is one input.
type hostileRow struct {
	what string
	sent string // for the printed table
	want string // the answers to three times the input, up to the first that is not 200
	send func() (hostileAnswer, error)
}

// What becomes of an input, as want has it.

// limited is the refusal of a request whose budget is used up, or 0.
func limited(rule string) string { return refused(rule, "limit") }

func refused(rule, reason string) string { return fmt.Sprintf("429 by %s (%s)", rule, reason) }

// own is what a value gets that nobody sent before.
func own(rule string) string { return "200, 200, " + limited(rule) }

// free is what a request gets that no rule applies to.
const free = "200, 200, 200"

// byEnvoy is a request that Envoy answers itself, without asking anyone.
func byEnvoy(status int) string { return "Envoy: " + strconv.Itoa(status) }

// The ways in which Envoy refuses to answer in HTTP/2.
const (
	streamReset = "Envoy: stream reset"
	closed      = "Envoy: connection closed"
)

// hostileAnswer is what the client got for one request.
type hostileAnswer struct {
	status       int
	rule, reason string // of a 429
	location     string
	broken       string // what Envoy did in place of an answer
}

func (a hostileAnswer) String() string {
	switch {
	case a.broken != "":
		return a.broken
	case a.status == 200:
		return "200"
	case a.status == 429:
		return refused(a.rule, a.reason)
	case a.location != "":
		return byEnvoy(a.status) + " to " + a.location
	}
	return byEnvoy(a.status)
}

// reasonIn finds the reason in the body of a refusal.
func reasonIn(body []byte) string {
	var refusal struct{ Reason string }
	if err := json.Unmarshal(body, &refusal); err != nil {
		return fmt.Sprintf("%q", body)
	}
	return refusal.Reason
}

// hostileResult is what became of an input.
type hostileResult struct {
	outcome      string
	passed, over int64
	err          error
}

// ask sends the input up to three times.
func (r hostileRow) ask() hostileResult {
	var result hostileResult
	var answers []string
	for range 3 {
		answer, err := r.send()
		if err != nil {
			result.err = err
			break
		}
		answers = append(answers, answer.String())
		if answer.status != 200 {
			if answer.status == 429 {
				result.over++
			}
			break
		}
		result.passed++
	}
	result.outcome = strings.Join(answers, ", ")
	return result
}

// hostileRun sends a table and compares. What Envoy and the application counted must agree with it
// to the request: an answer of Envoy's own was not asked for, none passed for want of an answer.
func hostileRun(t *testing.T, s *envoytest.Stack, rows []hostileRow) {
	t.Helper()
	results := make([]hostileResult, len(rows))
	var wg sync.WaitGroup
	for i, row := range rows {
		if row.want == closed { // these use up nothing, and Envoy takes a second for each
			wg.Go(func() { results[i] = row.ask() })
		}
	}
	for i, row := range rows {
		if row.want != closed {
			results[i] = row.ask()
		}
	}
	wg.Wait()

	var passed, over int64
	var table strings.Builder
	out := tabwriter.NewWriter(&table, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(out, "input\t outcome\t sent")
	for i, got := range results {
		row := rows[i]
		fmt.Fprintf(out, "%s\t %s\t %s\n", row.what, got.outcome, row.sent)
		if got.err != nil || got.outcome != row.want {
			t.Errorf("%s: %s: got %q (%v), want %q", row.what, row.sent, got.outcome, got.err, row.want)
		}
		passed += got.passed
		over += got.over
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d inputs\n%s", len(rows), table.String())
	limits := wantNoErrors(t, s)
	if limits.OK != passed || limits.Over != over {
		t.Errorf("Envoy counts %+v, the client %d passed and %d limited", limits, passed, over)
	}
	if served := s.Upstream.Served(); served != passed {
		t.Errorf("%d requests reached the application, %d passed", served, passed)
	}
}

// abridged quotes bytes, long ones by their ends.
func abridged(s string) string {
	const ends = 40
	if len(s) > 3*ends {
		return fmt.Sprintf("%s … %s (%d bytes)", quoted(s[:2*ends]), quoted(s[len(s)-ends:]), len(s))
	}
	return quoted(s)
}

func quoted(s string) string {
	s = strconv.QuoteToASCII(s)
	return s[1 : len(s)-1]
}

// hostileRules has a rule for each place that a value can come from, and an API group for each way in
// which a request can be matched. All have one of the groups for each thing that a rule can do when
// the value is missing, with paths like /limit/cookie.
func hostileRules(t *testing.T) string {
	t.Helper()
	const (
		user    = `{"parseStrategy": "header", "fieldName": "x-user-id"}`
		session = `{"parseStrategy": "cookie", "fieldName": "session"}`
		sku     = `{"parseStrategy": "url_param", "fieldName": "sku"}`
		term    = `{"parseStrategy": "url_param", "fieldName": "q"}`
		host    = `{"parseStrategy": "host"}`
		client  = `{"parseStrategy": "client_ip"}`
		mallory = `{"parseStrategy": "header", "fieldName": "x-user-id", "pattern": "mallory"}`
	)
	var flows, groups []string
	flow := func(id, resource string, count int, rest string) {
		flows = append(flows, fmt.Sprintf(`{"id": %q, "resource": %q, "count": %d, "intervalSec": 600, "window": "strict"%s}`, id, resource, count, rest))
	}
	group := func(id, item string, count int, rest string) {
		groups = append(groups, fmt.Sprintf(`{"apiName": %q, "predicateItems": [%s]}`, id, item))
		flow(id, id, count, `, "resourceMode": 1`+rest)
	}
	flow("mallory", "orders", 0, `, "paramItem": `+mallory)
	flow("per-user", "orders", 2, `, "paramItem": `+user)
	flow("per-session", "cart", 2, `, "paramItem": `+session)
	flow("per-sku", "products", 2, `, "paramItem": `+sku)
	flow("per-term", "search", 2, `, "paramItem": `+term)
	flow("per-host", "login", 2, `, "paramItem": `+host)
	group("admin", `{"pattern": "/admin/**", "matchStrategy": 1}`, 0, "")
	group("letter", `{"pattern": "/%C3%A9", "matchStrategy": 0}`, 0, "")
	group("internal", `{"host": "internal.example"}`, 0, "")
	group("writes", `{"pattern": "/writes", "matchStrategy": 0, "methods": ["POST"]}`, 0, "")
	group("per-client", `{"pattern": "/client", "matchStrategy": 0}`, 2, `, "paramItem": `+client)
	for _, missing := range []string{"skip", "limit", "block"} {
		for source, item := range map[string]string{"header": user, "cookie": session, "query": sku, "term": term, "host": host} {
			group(missing+"-"+source, fmt.Sprintf(`{"pattern": "/%s/%s", "matchStrategy": 0}`, missing, source), 2,
				fmt.Sprintf(`, "onMissing": %q, "paramItem": %s`, missing, item))
		}
	}
	return rules(t,
		"gw-flow-rules.json", "["+strings.Join(flows, ",\n")+"]",
		"gw-api-definitions.json", "["+strings.Join(groups, ",\n")+"]")
}
