package ratelimitsvc

import (
	"context"
	"net"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/goccy/go-yaml"
	"google.golang.org/grpc/peer"

	"github.com/sidecard/sidecard/pkg/engine"
)

const callRules = `[
	{"resource": "orders", "id": "orders", "grade": 0, "count": 2, "leaseMs": 5000},
	{"resource": "users", "id": "users", "grade": "concurrency", "count": 1, "paramItem": {"parseStrategy": "header", "fieldName": "X-User-Id"}},
	{"resource": "paced", "id": "paced", "grade": 0, "count": 9},
	{"resource": "paced", "id": "pace", "count": 1, "controlBehavior": 2, "maxQueueingTimeoutMs": 9000},
	{"resource": "rate", "id": "rate", "count": 5}
]`

func newCallWorld(t testing.TB) *world {
	t.Helper()
	w := newWorld(t, nil)
	w.apply(t, callRules)
	return w
}

// inFlight is how many calls a rule counts.
func (w *world) inFlight(t testing.TB, id string) int64 {
	t.Helper()
	for _, r := range w.engine.Rules() {
		if r.Rule.ID == id {
			return r.InFlight
		}
	}
	t.Fatalf("no rule %s", id)
	return 0
}

// token is that of an answer; empty if it has none.
func token(m *rls.RateLimitResponse) string {
	return m.GetDynamicMetadata().GetFields()["token"].GetStringValue()
}

func report(token, code, flags string) *common.RateLimitDescriptor {
	return pairs("sidecard.token", token, "sidecard.code", code, "sidecard.flags", flags)
}

func TestTokensGoOutAndComeBack(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	first := w.ask(t, describe(pairs("route", "orders")))
	second := w.ask(t, describe(pairs("route", "orders")))
	third := w.ask(t, describe(pairs("route", "orders")))
	for i, c := range []struct {
		m     *rls.RateLimitResponse
		want  string
		token bool
	}{{first, "OK: OK 1/2", true}, {second, "OK: OK 0/2", true}, {third, "OVER_LIMIT: OVER_LIMIT 0/2", false}} {
		if got := brief(c.m); got != c.want || (token(c.m) != "") != c.token {
			t.Errorf("call %d: got %q, token %q, want %q", i, got, token(c.m), c.want)
		}
	}
	// Nobody knows of a limit that is per nothing how long its interval is.
	if unit := first.GetStatuses()[0].GetCurrentLimit().GetUnit(); unit != rls.RateLimitResponse_RateLimit_UNKNOWN {
		t.Errorf("the limit is per %v", unit)
	}
	if got := brief(w.ask(t, describe(report(token(first), "200", "-")))); got != "OK: OK" {
		t.Errorf("a report is answered %q", got)
	}
	if got := w.inFlight(t, "orders"); got != 1 {
		t.Errorf("%d under way after a report", got)
	}
	// Reports that end nothing: again, made up, of no token, and of one that is none.
	for _, text := range []string{token(first), strings.Repeat("0", 32), "", "\xff", strings.Repeat("f", 1<<16)} {
		if got := w.raw(t, report("?", "200", "-"), text); got != "OK: OK" {
			t.Errorf("report of %.40q: %q", text, got)
		}
	}
	if got := w.inFlight(t, "orders"); got != 1 || w.engine.Tokens().Foreign.Load() != 5 {
		t.Errorf("%d under way, %d foreign tokens", got, w.engine.Tokens().Foreign.Load())
	}
	// A report and a request in one call: the place is free for the request.
	w.ask(t, describe(pairs("route", "orders")))
	if got := brief(w.ask(t, describe(report(token(second), "0", "DC"), pairs("route", "orders")))); got != "OK: OK, OK 0/2" {
		t.Errorf("report and request: %q", got)
	}
	if m := w.ask(t, describe(pairs("route", "rate"))); token(m) != "" {
		t.Error("a rule that counts over time gave a token")
	}
}

// raw sends a descriptor with a value in the place of its only question mark, be it UTF-8 or not.
func (w *world) raw(t testing.TB, d *common.RateLimitDescriptor, value string) string {
	t.Helper()
	for _, e := range d.GetEntries() {
		if e.Value == "?" {
			e.Value = strings.Repeat("?", len(value))
		}
	}
	b := marshal(t, describe(d))
	out, err := w.wire(t.Context(), []byte(strings.Replace(string(b), strings.Repeat("?", len(value)), value, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return brief(decodeResponse(t, out))
}

func TestTokensByUser(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	ask := func(user string) *rls.RateLimitResponse {
		return w.ask(t, describe(withHits(pairs("route", "users", "header.x-user-id", user), 3, false)))
	}
	bob := ask("bob")
	for _, c := range []struct{ user, want string }{{"bob", "OVER_LIMIT: OVER_LIMIT 0/1"}, {"ann", "OK: OK 0/1"}} {
		if got := brief(ask(c.user)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.user, got, c.want)
		}
	}
	w.ask(t, describe(report(token(bob), "200", "-")))
	if got := brief(ask("bob")); got != "OK: OK 0/1" {
		t.Errorf("bob's second: %q", got)
	}
	// Whose call has ended is not known from hits that are given back.
	w.ask(t, describe(withHits(pairs("route", "users", "header.x-user-id", "bob"), 1, true)))
	if got := w.inFlight(t, "users"); got != 2 {
		t.Errorf("%d under way", got)
	}
}

func TestNegativeHitsEndCalls(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	w.ask(t, describe(pairs("route", "orders")))
	for range 3 {
		if got := brief(w.ask(t, describe(withHits(pairs("route", "orders"), 1, true)))); got != "OK: OK 2/2" {
			t.Errorf("got %q", got)
		}
	}
	if got := w.inFlight(t, "orders"); got != 0 {
		t.Errorf("%d under way", got)
	}
}

func TestGivenUpCallsEnd(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.wire(ctx, marshal(t, describe(pairs("route", "orders")))); err == nil {
		t.Fatal("a call that was given up is answered")
	}
	if st := w.engine.Tokens(); w.inFlight(t, "orders") != 0 || st.Withdrawn.Load() != 1 {
		t.Errorf("%d under way, %d withdrawn", w.inFlight(t, "orders"), st.Withdrawn.Load())
	}
}

// TestCallsThatWaitHoldTheirPlace: a call is under way while it waits for its turn, until it is given up.
func TestCallsThatWaitHoldTheirPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t, callRules, 0)
		ask := marshal(t, describe(pairs("route", "paced")))
		if _, err := w.wire(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := w.wire(ctx, ask); done <- err }()
		synctest.Wait()
		if got := w.inFlight(t, "paced"); got != 2 {
			t.Errorf("%d under way while one waits, want 2", got)
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("a call that was given up is answered")
		}
		if st := w.engine.Tokens(); w.inFlight(t, "paced") != 1 || st.Live != 1 || st.Withdrawn.Load() != 1 {
			t.Errorf("%d under way, %d tokens", w.inFlight(t, "paced"), st.Live)
		}
	})
}

// TestAborted: a client that left, unless it is known that the application had failed.
func TestAborted(t *testing.T) {
	t.Parallel()
	svc := newCallWorld(t).svc
	for _, c := range []struct {
		code, flags string
		want        bool
	}{
		{"0", "DC", true}, {"0", "-", true}, {"0", "DC,UR", true}, {"200", "DC", true}, {"200", "DR", true}, {"404", "XY,DC", true},
		{"200", "-", false}, {"200", "", false}, {"", "", false}, {"503", "DC", false}, {"200", "DC,UC", false}, {"500", "-", false}, {"200", "DCX", false},
	} {
		if got := svc.outcome(c.code, c.flags).Aborted; got != c.want {
			t.Errorf("code %q, flags %q: aborted %v, want %v", c.code, c.flags, got, c.want)
		}
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	svc := newCallWorld(t).svc
	for _, c := range []struct {
		code, flags string
		want        bool
	}{
		{"200", "-", false}, {"200", "", false}, {"404", "-", false}, {"429", "-", false}, {"500", "-", true}, {"503", "UF,URX", true}, {"504", "UT", true},
		{"0", "DC", false}, {"0", "-", false}, {"0", "DC,UR", false}, {"200", "DC", false}, {"503", "DC", true},
		{"200", "UC", true}, {"200", "DC,UC", true}, {"200", "UF", true}, {"200", "LR", true}, {"", "UO", true}, {"", "", false},
		{"5", "-", false}, {"5000", "-", false}, {"abc", "XY,", false}, {"\xff\xff\xff", ",,,", false},
	} {
		if got := svc.outcome(c.code, c.flags).Error; got != c.want {
			t.Errorf("code %q, flags %q: failed %v, want %v", c.code, c.flags, got, c.want)
		}
	}
}

func TestTheOperatorLearnsOfMissingReports(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	ask := func(domain string) string {
		m := describe(pairs("route", "orders"))
		m.Domain = domain
		return token(w.ask(t, m))
	}
	later := func() {
		w.now.Add(int64(7 * time.Second))
		w.svc.Expire(w.now.Load())
	}
	w.ask(t, describe(report(ask("reports"), "200", "-")))
	ask("reports")
	later()
	if w.log.Len() != 0 {
		t.Errorf("a domain that reports most of its calls: %s", w.log.String())
	}
	for range 3 {
		ask("silent")
		later()
	}
	if got := w.inFlight(t, "orders"); got != 0 {
		t.Errorf("%d under way", got)
	}
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(lines) != 1 || !strings.Contains(lines[0], `"level":"error"`) || !strings.Contains(lines[0], `"domain":"silent"`) || !strings.Contains(lines[0], "apply_on_stream_done: true") {
		t.Errorf("got %q, want one line", lines)
	}
}

// The entry that the log tells operators to add is the one of the bootstrap that the end-to-end tests run.
func TestOutcomeEntryIsTheOneThatIsTested(t *testing.T) {
	t.Parallel()
	var entry []map[string]any
	if err := yaml.Unmarshal([]byte(OutcomeEntry), &entry); err != nil || len(entry) != 1 {
		t.Fatalf("%v: %v", entry, err)
	}
	text, err := os.ReadFile("../../envoy/envoy-outcomes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap any
	if err := yaml.Unmarshal(text, &bootstrap); err != nil {
		t.Fatal(err)
	}
	if !holds(bootstrap, entry[0]) {
		t.Error("envoy-outcomes.yaml has another entry")
	}
}

// holds says whether want is somewhere in the tree.
func holds(tree any, want map[string]any) bool {
	switch n := tree.(type) {
	case map[string]any:
		if reflect.DeepEqual(n, want) {
			return true
		}
		for _, v := range n {
			if holds(v, want) {
				return true
			}
		}
	case []any:
		for _, v := range n {
			if holds(v, want) {
				return true
			}
		}
	}
	return false
}

type numbered struct{ net.Addr }

func (numbered) Peer() uint32 { return 7 }

// TestCallsOfAPeerEndWithIt: the number of a connection's process goes with its calls.
func TestCallsOfAPeerEndWithIt(t *testing.T) {
	t.Parallel()
	w := newCallWorld(t)
	for _, c := range []struct {
		addr net.Addr
		want int64
	}{{numbered{}, 0}, {&net.UnixAddr{}, 1}} {
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: c.addr})
		if _, err := w.wire(ctx, marshal(t, describe(pairs("route", "orders")))); err != nil {
			t.Fatal(err)
		}
		w.engine.EndPeer(epoch, 7)
		if got := w.inFlight(t, "orders"); got != c.want {
			t.Errorf("%T: %d under way after peer 7 has gone, want %d", c.addr, got, c.want)
		}
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestTheHandlerOfTokensAllocatesNothing(t *testing.T) {
	w := newCallWorld(t)
	ctx := t.Context()
	asked := marshal(t, describe(pairs("route", "orders")))
	var c call
	var out response
	if err := w.decide(ctx, &c, asked, &out); err != nil {
		t.Fatal(err)
	}
	reported := marshal(t, describe(report(token(decodeResponse(t, out)), "200", "-")))
	at := strings.Index(string(reported), token(decodeResponse(t, out)))
	text := make([]byte, 0, engine.TokenText)
	if n := testing.AllocsPerRun(200, func() {
		text = c.engine.Token.AppendText(text[:0])
		copy(reported[at:], text)
		if err := w.decide(ctx, &c, reported, &out); err != nil {
			t.Fatal(err)
		}
		if err := w.decide(ctx, &c, asked, &out); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a call and its report", n)
	}
	if st := w.engine.Tokens(); st.Live != 1 || st.Foreign.Load() != 0 {
		t.Errorf("%d under way, %d reports ended nothing", st.Live, st.Foreign.Load())
	}
}
