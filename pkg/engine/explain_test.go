package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/match"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
	"pgregory.net/rapid"
)

// What is explained is what a peek is answered and what a charge then gets, and it agrees with itself.
func TestExplainAgainstDecide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := rule.Set{Claimed: []string{"claimed"}}
		for i := range rapid.IntRange(1, 6).Draw(t, "rules") {
			set.Limits = append(set.Limits, drawRule(t, i))
		}
		for i := range 3 {
			set.APIs = append(set.APIs, drawAPI(t, i))
		}
		now := start
		e := engine.New(engine.Options{})
		if _, err := e.Apply(now, set); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "calls") {
			now += rapid.SampledFrom([]int64{0, 0, 1e6, 1e8, 5e8, 1e9, 7e9}).Draw(t, "step")
			domain := rapid.SampledFrom([]string{"", "claimed", "free"}).Draw(t, "domain")
			q := drawRequest(t)
			x := e.Explain(now, domain, q, 0)

			q.Kind = engine.Peek
			c := engine.Call{Domain: domain, Items: []engine.Request{q}}
			if e.Decide(now, &c); c.Verdicts[0] != x.Verdict {
				t.Fatalf("%+v:\nexplained %+v\ndecided   %+v", q, x.Verdict, c.Verdicts[0])
			}
			checkExplanation(t, &x, set, domain, &q)
			q.Kind = engine.Charge
			c.Items[0] = q
			if e.Decide(now, &c); c.Overall != x.Verdict.Code {
				t.Fatalf("%+v:\nexplained %+v\ncharged   %+v", q, x.Verdict, c.Verdicts[0])
			}
		}
	})
}

func checkExplanation(t *rapid.T, x *engine.Explanation, set rule.Set, domain string, q *engine.Request) {
	refuses, decides := false, x.Verdict.Rule == nil
	for _, r := range x.Rules {
		refuses = refuses || r.Refuses && !r.Rule.Shadow
		decides = decides || r.Rule == x.Verdict.Rule
		if r.Skip == "" && !r.Unlimited && r.Reason != engine.ReasonMissingParam && r.Used+r.Remaining != r.Limit {
			t.Fatalf("used %d and remaining %d are not %d", r.Used, r.Remaining, r.Limit)
		}
		if r.Skip != "" && (r.Refuses || r.Param == nil) || (r.Skip == engine.SkipMissing) != (r.Param != nil && r.Param.Found == engine.Absent && r.Skip != "") {
			t.Fatalf("skipped: %+v", r)
		}
	}
	if refuses != (x.Verdict.Code == engine.Block) || !decides {
		t.Fatalf("the rules say otherwise than the verdict %+v:\n%+v", x.Verdict, x.Rules)
	}
	if !slices.Contains(set.Claimed, domain) {
		domain = ""
	}
	groups := match.Groups(set.APIs, domain, q.Host, q.Method, q.Path)
	for _, g := range x.Groups {
		item := slices.ContainsFunc(g.Items, func(m engine.ItemMatch) bool { return len(m.Failed) == 0 })
		if want := slices.Contains(groups, g.Name); g.Matched != want || item != want || g.Unknown {
			t.Fatalf("group %s: matched %v, want %v: %+v", g.Name, g.Matched, want, g.Items)
		}
	}
}

func explainSet(t *testing.T) *engine.Engine {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "rules.yaml", Data: []byte(`
gatewayFlowRules:
- {id: all, resource: orders, count: 5, burst: 2}
- {id: user, resource: orders, count: 3, paramItem: {parseStrategy: header, fieldName: X-User, pattern: b, matchStrategy: prefix}}
- {id: session, resource: orders, count: 3, onMissing: limit, paramItem: {parseStrategy: cookie, fieldName: s}}
- {id: sku, resource: orders, count: 3, paramItem: {parseStrategy: url_param, fieldName: sku}}
- {id: queue, resource: orders, count: 10, controlBehavior: queue, maxQueueingTimeoutMs: 400}
- {id: dark, resource: orders, count: 0, shadow: true}
- {id: writes, resource: writes, resourceMode: api, count: 1}
- {id: rest, resource: rest, resourceMode: api, count: 9}
flowRules:
- {id: app, resource: orders, count: 1, limitApp: shop}
apiDefinitions:
- apiName: writes
  predicateItems: [{pattern: /orders/**, matchStrategy: prefix, methods: [POST], host: "*.example.com"}]
- apiName: rest
  predicateItems: [{other: true}]
degradeRules:
- {id: failing, resource: orders, grade: error_count, count: 1, timeWindow: 1}
`)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return newEngine(t, set)
}

func TestExplain(t *testing.T) {
	t.Parallel()
	e := explainSet(t)
	q := engine.Request{
		Resource: "orders", Path: "/orders/7", Method: "GET", Host: "a.example.com", Origin: "office", Hits: 2,
		Attrs: params{{rule.SourceHeader, "x-user"}: "alice"},
	}
	c := engine.Call{Items: []engine.Request{q}, MaxWait: time.Second}
	e.Decide(start, &c)
	x := e.Explain(start, "shop", q, 0)
	var got []string
	for _, r := range x.Rules {
		line := fmt.Sprintf("%s %s refuses %v %v: %d of %d used, wait %v", r.Rule.ID, r.Skip, r.Refuses, r.Reason, r.Used, r.Limit, r.Wait)
		if r.Param != nil {
			line += fmt.Sprintf(", %q %v %v", r.Param.Value, r.Param.Found, r.Param.Shared)
		}
		if r.Breaker != nil {
			line += " " + r.Breaker.State.String()
		}
		got = append(got, line)
	}
	want := []string{
		"all  refuses false none: 2 of 7 used, wait 0s",
		`user pattern refuses false none: 0 of 0 used, wait 0s, "alice" 1 false`,
		`session  refuses true limit: 2 of 3 used, wait 0s, "" 0 true`, // which has no room for two more
		`sku missing refuses false none: 0 of 0 used, wait 0s, "" 0 false`,
		"queue  refuses true deadline: 0 of 10 used, wait 0s",
		"dark  refuses true limit: 0 of 0 used, wait 0s",
		"failing  refuses false none: 0 of 0 used, wait 0s closed",
		"app origin refuses false none: 0 of 0 used, wait 0s",
		"rest  refuses false none: 2 of 9 used, wait 0s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if x.Verdict.Code != engine.Block || len(x.Groups) != 2 || x.Groups[0].Matched || !x.Groups[1].Matched {
		t.Errorf("got %+v", x)
	}
	if it := x.Groups[0].Items[0]; !slices.Equal(it.Held, []string{"path", "host"}) || !slices.Equal(it.Failed, []string{"methods"}) {
		t.Errorf("held %v, failed %v", it.Held, it.Failed)
	}
}
