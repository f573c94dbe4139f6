package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// flowSet loads flow rules, and API definitions if there are any.
func flowSet(t testing.TB, rules string, apis ...string) rule.Set {
	t.Helper()
	files := []rule.File{{Name: "flow-rules.json", Data: []byte("[" + rules + "]")}}
	if len(apis) > 0 {
		files = append(files, rule.File{Name: "gw-api-definitions.json", Data: []byte("[" + strings.Join(apis, ",") + "]")})
	}
	set, problems := rule.Load(files, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

func from(origin, resource string) engine.Request {
	return engine.Request{Resource: resource, Path: "/", Origin: origin, Hits: 1}
}

func TestFlowOrigins(t *testing.T) {
	t.Parallel()
	const (
		all   = `{"id": "all", "resource": "a", "count": 9}`
		web   = `{"id": "web", "resource": "a", "count": 2, "limitApp": "web"}`
		other = `{"id": "other", "resource": "a", "count": 3, "limitApp": "other"}`
	)
	const plenty = 20
	type step struct {
		origin string
		passes int
	}
	tests := []struct {
		name, rules string
		steps       []step
	}{
		{"named", web, []step{{"web", 2}, {"app", plenty}, {"Web", plenty}, {"", plenty}}},
		{"each other for itself", web + "," + other, []step{{"web", 2}, {"app", 3}, {"batch", 3}, {"", plenty}}},
		{"all are all", web + "," + other + "," + all, []step{{"web", 2}, {"app", 3}, {"", 4}, {"batch", 0}}},
		{"names of another resource do not count", other + `, {"resource": "b", "count": 5, "limitApp": "app"}`, []step{{"app", 3}}},
		{"names of a matching expression count", other + `, {"resource": "a|b", "regex": true, "count": 5, "limitApp": "app"}`, []step{{"app", 5}, {"web", 3}}},
		{"names of a group do not count", other + `, {"resource": "g", "resourceMode": "api", "count": 2, "limitApp": "app"}`, []step{{"app", 2}, {"app", 0}}},
		{"two of a name", web + `, {"id": "web2", "resource": "a", "count": 1, "limitApp": "web"}`, []step{{"web", 1}}},
		{"no origin is refused", `{"resource": "a", "count": 2, "limitApp": "web", "onMissing": "block"}`, []step{{"", 0}, {"app", plenty}, {"web", 2}}},
		{"no origin is refused by others", `{"resource": "a", "count": 2, "limitApp": "other", "onMissing": "block"}`, []step{{"", 0}, {"app", 2}}},
		{"others at a time", `{"resource": "a", "count": 2, "limitApp": "other", "grade": 0}`, []step{{"app", 2}, {"batch", 2}, {"app", 0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, flowSet(t, tt.rules, `{"apiName": "g", "predicateItems": [{"pattern": "/"}]}`))
			for _, s := range tt.steps {
				if got := passes(e, start, plenty, from(s.origin, "a")); got != s.passes {
					t.Errorf("%q: %d passed, want %d", s.origin, got, s.passes)
				}
			}
		})
	}
}

func TestOtherOriginsShareOneQueue(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "a", "count": 10, "limitApp": "other", "controlBehavior": 2}, {"resource": "a", "count": 100, "limitApp": "web"}`))
	c := engine.Call{MaxWait: time.Second}
	for i, origin := range []string{"app", "batch", "app"} {
		if decide(e, start, &c, from(origin, "a")) != engine.Pass || c.Wait != time.Duration(i)*100*time.Millisecond {
			t.Errorf("%s waits %v, overall %v", origin, c.Wait, c.Overall)
		}
	}
}

func TestMissingOriginIsNamed(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"id": "web", "resource": "a", "count": 2, "limitApp": "web", "onMissing": "block"}`))
	var c engine.Call
	decide(e, start, &c, from("", "a"))
	if v := c.Verdicts[0]; v.Reason != engine.ReasonMissingParam || v.Rule.ID != "web" || v.Reset != 0 || v.Rule.Missing.Load() != 1 {
		t.Errorf("%v, missing %d", v, v.Rule.Missing.Load())
	}
}

// TestFlowQueueBound waits for as long as maxQueueingTimeMs: gateway rules refuse that, flow rules do not.
func TestFlowQueueBound(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "a", "count": 10, "controlBehavior": 2, "maxQueueingTimeMs": 200}`))
	c := engine.Call{MaxWait: time.Second}
	for i := range 3 {
		if decide(e, start, &c, from("", "a")) != engine.Pass || c.Wait != time.Duration(i)*100*time.Millisecond {
			t.Errorf("request %d: %v, waits %v", i, c.Overall, c.Wait)
		}
	}
	if decide(e, start, &c, from("", "a")) != engine.Block || c.Verdicts[0].Reset != 100*time.Millisecond {
		t.Errorf("overall %v, retry after %v", c.Overall, c.Verdicts[0].Reset)
	}
}

func TestFlowExpressions(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"id": "re", "resource": "orders-\\d+", "regex": true, "count": 3}, {"id": "exact", "resource": "orders-1", "count": 2}`))
	for _, tt := range []struct {
		resource string
		want     int
	}{{"orders-1", 2}, {"orders-22", 3}, {"orders-", 5}, {"orders-1x", 5}, {"xorders-1", 5}} {
		if got := passes(e, start, 5, from("", tt.resource)); got != tt.want {
			t.Errorf("%s: %d passed, want %d: a budget for each that matches", tt.resource, got, tt.want)
		}
	}
	if n := e.Regexps(); n != 1 {
		t.Errorf("%d expressions", n)
	}
}

// TestFlowExpressionBudgets: what an expression matches is counted apart, by route and, for others, by route and
// origin; what waits for its turn has one queue, and the use of another resource is one.
func TestFlowExpressionBudgets(t *testing.T) {
	t.Parallel()
	type step struct {
		origin, resource string
		passes           int
	}
	const plenty = 9
	for _, tt := range []struct {
		name, fields string
		steps        []step
	}{
		{"a named origin", `"count": 2, "limitApp": "web"`, []step{{"web", "a1", 2}, {"web", "a2", 2}, {"app", "a1", plenty}, {"", "a1", plenty}}},
		{"others", `"count": 2, "limitApp": "other"`, []step{{"app", "a1", 2}, {"app", "a2", 2}, {"batch", "a1", 2}, {"a1", "app", plenty}, {"a1", "a1", 2}, {"app", "a1", 0}, {"", "a1", plenty}}},
		{"no origin is refused", `"count": 2, "limitApp": "web", "onMissing": "block"`, []step{{"", "a1", 0}, {"web", "a1", 2}}},
		{"under way", `"count": 2, "grade": 0`, []step{{"", "a1", 2}, {"", "a2", 2}, {"", "a1", 0}}},
		{"a burst", `"count": 2, "burst": 1`, []step{{"", "a1", 3}, {"", "a2", 3}}},
		{"a bucket", `"count": 2, "window": "token-bucket"`, []step{{"", "a1", 2}, {"", "a2", 2}}},
		{"warm-up", `"count": 6, "controlBehavior": 1`, []step{{"", "a1", 2}, {"", "a2", 0}}},
		{"relate", `"count": 2, "strategy": 1, "refResource": "b"`, []step{{"", "b", plenty}, {"", "a1", 0}, {"", "a2", 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, flowSet(t, `{"resource": "a\\d", "regex": true, `+tt.fields+`}`))
			for _, s := range tt.steps {
				if got := passes(e, start, plenty, from(s.origin, s.resource)); got != s.passes {
					t.Errorf("%q to %s: %d passed, want %d", s.origin, s.resource, got, s.passes)
				}
			}
		})
	}
}

// TestFlowExpressionRelatesToRoute: what an expression looks at is a route by its name, whatever stands in that.
func TestFlowExpressionRelatesToRoute(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "a\\d", "regex": true, "count": 2, "strategy": 1, "refResource": "b+c"}`))
	passes(e, start, 5, from("", "bbc"))
	if got := passes(e, start, 5, from("", "a1")); got != 5 {
		t.Errorf("%d passed, want 5: nothing was asked of b+c", got)
	}
	passes(e, start, 2, from("", "b+c"))
	if got := passes(e, start, 5, from("", "a1")); got != 0 {
		t.Errorf("%d passed, want none", got)
	}
}

// TestFlowExpressionCountsMissingOrigins counts what comes without the origin that the rule asks for.
func TestFlowExpressionCountsMissingOrigins(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"id": "re", "resource": "a.", "regex": true, "count": 2, "limitApp": "web", "onMissing": "block"}`))
	var c engine.Call
	decide(e, start, &c, from("", "a1"))
	if v := c.Verdicts[0]; v.Reason != engine.ReasonMissingParam || v.Rule.Missing.Load() != 1 {
		t.Errorf("%v, missing %d", v, v.Rule.Missing.Load())
	}
}

// TestFlowExpressionsOverReloads: what is remembered of a route is forgotten with the rule set.
func TestFlowExpressionsOverReloads(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxResources: 2})
	for i, expr := range []string{"a.*", "b.*", "a.*|b.*", "a.*"} {
		apply(t, e, flowSet(t, fmt.Sprintf(`{"resource": "x", "count": 1}, {"resource": "%s", "regex": true, "count": 3}`, expr)))
		now := start + int64(i)*int64(time.Minute)
		for _, resource := range []string{"a1", "b1", "a2", "b2"} { // there is no room to remember all
			want := 5
			if strings.Contains(expr, resource[:1]) {
				want = 3
			}
			for range 2 {
				if got := passes(e, now, 5, from("", resource)); got != want {
					t.Errorf("%s: %d of %s passed, want %d", expr, got, resource, want)
				}
				now += int64(2 * time.Second)
			}
		}
	}
}

// TestFlowExpressionBeyondBounds uses up the work of a call on long names: what cannot be matched is
// refused by the rules that might be for it.
func TestFlowExpressionBeyondBounds(t *testing.T) {
	t.Parallel()
	var rules []string
	for i := range 40 {
		rules = append(rules, fmt.Sprintf(`{"id": "r%d", "resource": "a.*%d", "regex": true, "count": 3}`, i, i))
	}
	e := newEngine(t, flowSet(t, strings.Join(rules, ",")))
	var c engine.Call
	if got := decide(e, start, &c, from("", "a"+strings.Repeat("x", 60_000))); got != engine.Block || c.Verdicts[0].Reason != engine.ReasonInputTooLarge {
		t.Errorf("%v, %v", got, c.Verdicts[0].Reason)
	}
	if got := decide(e, start, &c, from("", "b"+strings.Repeat("x", 60_000))); got != engine.Pass {
		t.Error("a name that no expression can match was refused")
	}
}

func TestRelate(t *testing.T) {
	t.Parallel()
	const rules = `{"id": "read", "resource": "read", "count": 5, "strategy": 1, "refResource": "write"}, {"id": "write", "resource": "write", "count": 8}`
	e := newEngine(t, flowSet(t, rules))
	if got := passes(e, start, 20, from("", "read")); got != 20 {
		t.Fatalf("%d reads passed while nobody writes, want all", got)
	}
	if got := passes(e, start, 4, from("", "write")); got != 4 {
		t.Fatal("writes refused")
	}
	if got := passes(e, start, 20, from("", "read")); got != 20 {
		t.Errorf("%d of 20 reads passed at 4 writes of 5", got)
	}
	var c engine.Call
	decide(e, start, &c, from("", "read"))
	if v := c.Verdicts[0]; v.Rule.ID != "read" || v.Remaining != 1 {
		t.Errorf("remaining %d of %s", v.Remaining, v.Rule.ID)
	}
	decide(e, start, &c, from("", "write"))
	if got := passes(e, start, 5, from("", "read")); got != 0 {
		t.Errorf("%d reads passed at 5 writes", got)
	}
	e.Cancel(start, &c)
	if got := passes(e, start, 5, from("", "read")); got != 5 {
		t.Errorf("%d reads passed after a write was given back", got)
	}
	if got := passes(e, start, 20, from("", "write")); got != 4 {
		t.Errorf("%d more writes, want 4: reads must not use them up, nor refused writes count", got)
	}
	decide(e, start, &c, from("", "read"))
	if v := c.Verdicts[0]; v.Code != engine.Block || v.Reset != 876_543_211 || v.Rule.ID != "read" {
		t.Errorf("%v by %s, retry after %v", v.Code, v.Rule.ID, v.Reset)
	}
	// A new count acts on the use so far.
	apply(t, e, flowSet(t, strings.Replace(rules, `"count": 5`, `"count": 9`, 1)))
	if got := passes(e, start, 5, from("", "read")); got != 5 {
		t.Errorf("%d reads passed at 8 writes of 9", got)
	}
	if got := passes(e, start+int64(time.Second), 9, from("", "write")); got != 8 {
		t.Errorf("%d writes in the next second", got)
	}
}

// TestRelateOfHits refuses the requests that the use of the other resource leaves no room for.
func TestRelateOfHits(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "read", "count": 5, "strategy": 1, "refResource": "write"}`))
	w := from("", "write")
	w.Hits = 3
	var c engine.Call
	decide(e, start, &c, w)
	if c.Verdicts[0].Matched || c.Verdicts[0].Rule != nil {
		t.Error("no rule is for write")
	}
	r := from("", "read")
	for _, tt := range []struct {
		hits int64
		want engine.Code
	}{{2, engine.Pass}, {3, engine.Block}, {2, engine.Pass}} {
		if r.Hits = tt.hits; decide(e, start, &c, r) != tt.want {
			t.Errorf("%d hits: %v", tt.hits, c.Overall)
		}
	}
	w.Hits = 1 << 40
	if decide(e, start, &c, w) != engine.Pass {
		t.Error("what a resource uses was refused by a rule of another one")
	}
	w.Kind, w.Hits = engine.Refund, 3
	decide(e, start, &c, w)
	if r.Hits = 5; decide(e, start, &c, r) != engine.Pass {
		t.Error("hits that were given back still count")
	}
}

func TestRelateCallsUnderWay(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"id": "read", "resource": "read", "count": 2, "grade": 0, "strategy": 1, "refResource": "write"}`))
	if !e.Outcomes() {
		t.Error("the rule needs to know how calls end")
	}
	var c engine.Call
	decide(e, start, &c, from("", "read"))
	if c.Overall != engine.Pass || c.Token != (engine.Token{}) {
		t.Errorf("%v, token %v", c.Overall, c.Token)
	}
	writes := underWay(e, 2, from("", "write"))
	if len(writes) != 2 || writes[0] == (engine.Token{}) {
		t.Fatalf("writes %v", writes)
	}
	if decide(e, start, &c, from("", "read")) != engine.Block {
		t.Error("a read passed at two writes under way")
	}
	e.Complete(start, writes[0], engine.Outcome{})
	if decide(e, start, &c, from("", "read")) != engine.Pass {
		t.Error("no read passed at one write under way")
	}
}

// TestRelateWithoutRoomForTokens: what a resource uses is not counted where nobody could say when it ends,
// and is not refused for that.
func TestRelateWithoutRoomForTokens(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxTokens: 1})
	apply(t, e, flowSet(t, `{"resource": "read", "count": 2000, "grade": 0, "strategy": 1, "refResource": "write"}`))
	const calls = 1100 // of which 1024 have a token
	if got := len(underWay(e, calls, from("", "write"))); got != calls {
		t.Errorf("%d of %d writes passed", got, calls)
	}
	var c engine.Call
	decide(e, start, &c, from("", "read"))
	if got := c.Verdicts[0].Remaining; got != 2000-1024 {
		t.Errorf("%d remain", got)
	}
}

func TestRelateOfGroups(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "reads", "resourceMode": "api", "count": 1, "strategy": 1, "refResource": "writes"}`,
		`{"apiName": "reads", "predicateItems": [{"pattern": "/r"}]}`, `{"apiName": "writes", "predicateItems": [{"pattern": "/w"}]}`))
	read, write := from("", ""), from("", "writes")
	read.Path, write.Path = "/r", "/x"
	passes(e, start, 1, write) // the route of that name is not the group
	if got := passes(e, start, 3, read); got != 3 {
		t.Errorf("%d reads before writes", got)
	}
	write.Path = "/w"
	passes(e, start, 1, write)
	if got := passes(e, start, 3, read); got != 0 {
		t.Errorf("%d reads after a write", got)
	}
}

// BenchmarkFlowRules is the cost of a decision where many rules stand on the resource or might.
func BenchmarkFlowRules(b *testing.B) {
	many := func(n int, format string) string {
		var rules []string
		for i := range n {
			rules = append(rules, fmt.Sprintf(format, i))
		}
		return strings.Join(rules, ",")
	}
	const own = `, {"id": "own", "resource": "orders", "count": 1000000000}`
	for _, bb := range []struct{ name, rules string }{
		{"origins=1000", many(1000, `{"resource": "orders", "limitApp": "app-%d", "count": 1000000000}`)},
		{"expressions=100/prefix", many(100, `{"resource": "other-%d.*", "regex": true, "count": 1}`)},
		{"expressions=1/none", many(1, `{"resource": ".*-%d", "regex": true, "count": 1}`)},
		{"expressions=100/none", many(100, `{"resource": ".*-%d", "regex": true, "count": 1}`)},
		{"expressions=1/match", many(1, `{"id": "%d", "resource": "ord.*", "regex": true, "count": 1000000000}`)},
		{"warm-up", many(1, `{"id": "%d", "resource": "orders", "controlBehavior": 1, "count": 1000000000}`)},
		{"relate", many(1, `{"id": "%d", "resource": "search", "strategy": 1, "refResource": "orders", "count": 1000000000}`)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			e := newEngine(b, flowSet(b, bb.rules+own))
			c := engine.Call{Items: []engine.Request{from("app-7", "orders")}}
			now := start
			b.ReportAllocs()
			for b.Loop() {
				now += benchStep
				if e.Decide(now, &c); c.Overall != engine.Pass {
					b.Fatal("refused")
				}
			}
		})
	}
}
