package engine_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// hotSet loads one hot-parameter rule over the first argument, with exceptions for vip, bad and free.
func hotSet(t testing.TB, fields string, vip int) rule.Set {
	t.Helper()
	data := fmt.Sprintf(`[{"id": "hot", "resource": "r", "paramIdx": 0, %s, "paramFlowItemList": [
		{"object": "vip", "count": %d}, {"object": "bad", "count": 0}, {"object": "free", "count": 9e9}]}]`, fields, vip)
	set, problems := rule.Load([]rule.File{{Name: "param-flow-rules.json", Data: []byte(data)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

func withArgument(value string) engine.Request {
	return engine.Request{Resource: "r", Hits: 1, Attrs: params{{rule.SourceArgument, "0"}: value}}
}

// Whatever a rule does with its values, it does it with another count for those that have one.
func TestExceptionsOfEveryBehavior(t *testing.T) {
	t.Parallel()
	const all = 50
	for fields, want := range map[string]struct{ usual, vip, bad, free int }{
		`"count": 2`: {2, 5, 0, all},
		`"count": 2, "window": "strict", "sampleCount": 10`:     {2, 5, 0, all},
		`"count": 2, "burstCount": 3`:                           {5, 8, 0, all},
		`"count": 2, "burstCount": 3, "window": "token-bucket"`: {5, 8, 0, all},
		`"count": 2.5`: {5, 10, 0, all}, // per 2 s
		`"count": 2, "controlBehavior": 2, "maxQueueingTimeMs": 601`: {2, 4, 0, all}, // every 500 and every 200 ms
		`"count": 2, "grade": 0`:                                     {2, 5, 0, all},
		`"count": 0, "burstCount": 3`:                                {0, 8, 0, all},
		`"count": 9e9`:                                               {all, 5, 0, all},
		`"count": 9e9, "burstCount": 3`:                              {all, 8, 0, all},
		`"count": 9e9, "grade": 0`:                                   {all, 5, 0, all},
		`"count": 9e9, "overflow": "block", "maxKeys": 1`:            {all, 5, 0, all},
	} {
		e := newEngine(t, hotSet(t, fields, 5))
		for value, n := range map[string]int{"somebody": want.usual, "else": want.usual, "vip": want.vip, "bad": want.bad, "free": want.free, "VIP": want.usual, "": want.usual} {
			c := engine.Call{MaxWait: time.Minute}
			passed := 0
			for range all {
				if decide(e, start, &c, withArgument(value)) == engine.Pass {
					passed++
				}
			}
			v := c.Verdicts[0]
			if passed != n || n < all && (v.Rule == nil || v.Unlimited || v.Limit != limitOf(fields, n)) || n == all && v.Rule != nil {
				t.Errorf("%s: %d of %q passed, want %d; limit %d", fields, passed, value, n, v.Limit)
			}
		}
	}
}

// limitOf is the limit of a value of which n pass at once.
func limitOf(fields string, n int) int64 {
	if strings.Contains(fields, "maxQueueing") {
		return map[int]int64{2: 2, 4: 5}[n] // a queue is as long as it is
	}
	return int64(n)
}

// A changed exception acts at once on what has been counted, and so does one that is new or gone.
func TestChangedExceptions(t *testing.T) {
	t.Parallel()
	e := newEngine(t, hotSet(t, `"count": 2`, 5))
	if n := passes(e, start, 10, withArgument("vip")); n != 5 {
		t.Fatalf("%d passed", n)
	}
	apply(t, e, hotSet(t, `"count": 2`, 7))
	if n := passes(e, start, 10, withArgument("vip")); n != 2 {
		t.Errorf("%d more passed under 7 instead of 5", n)
	}
	without := hotSet(t, `"count": 9`, 7)
	without.Limits[0].Exceptions = nil
	if changes := apply(t, e, without); len(changes.Fresh) > 0 {
		t.Errorf("%v started anew", changes.Fresh)
	}
	if n := passes(e, start, 10, withArgument("vip")); n != 2 {
		t.Errorf("%d more passed under 9 for all", n)
	}
	if n := passes(e, start, 10, withArgument("bad")); n != 9 {
		t.Errorf("%d of a value passed that was blocked", n)
	}
	apply(t, e, hotSet(t, `"count": 9`, 3))
	if n := passes(e, start, 10, withArgument("vip")); n != 0 {
		t.Errorf("%d passed beyond 3", n)
	}
}

// An exception that is too large for words changes what the table is made of.
func TestExceptionsInWideTables(t *testing.T) {
	t.Parallel()
	const large = 1<<24 + 5
	e := newEngine(t, hotSet(t, `"count": 2`, large))
	q := withArgument("vip")
	q.Hits = large
	if n := passes(e, start, 3, q); n != 1 {
		t.Errorf("%d passed", n)
	}
	if n := passes(e, start, 3, withArgument("vip")); n != 0 {
		t.Errorf("%d passed beyond", n)
	}
	if changes := apply(t, e, hotSet(t, `"count": 2`, 5)); len(changes.Fresh) != 1 {
		t.Errorf("%+v", changes)
	}
}

// What a rule refuses whatever the value is, it refuses although it has no limit of its own.
func TestUnlimitedRuleWithExceptions(t *testing.T) {
	t.Parallel()
	set := hotSet(t, `"count": 9e9, "onMissing": "block"`, 1)
	e := newEngine(t, set)
	var c engine.Call
	if decide(e, start, &c, engine.Request{Resource: "r", Hits: 1, Attrs: params{}}) != engine.Block || c.Verdicts[0].Reason != engine.ReasonMissingParam || !c.Verdicts[0].Unlimited {
		t.Errorf("missing: %+v", c.Verdicts[0])
	}
	if decide(e, start, &c, engine.Request{Resource: "r", Hits: 1, Attrs: tooLarge{}}) != engine.Block || c.Verdicts[0].Reason != engine.ReasonInputTooLarge {
		t.Errorf("a value that nobody knows may be an exception: %+v", c.Verdicts[0])
	}
	set.Limits[0].Exceptions, set.Limits[0].OnMissing = nil, rule.MissingSkip
	apply(t, e, set)
	if decide(e, start, &c, engine.Request{Resource: "r", Hits: 1, Attrs: tooLarge{}}) != engine.Pass {
		t.Error("without exceptions it limits nothing")
	}
}

type tooLarge struct{}

func (tooLarge) Param(rule.ParamSource, string) (string, engine.Presence) {
	return "", engine.TooLarge
}

// Exactly its own count of each value passes, however many ask at the same time.
func TestConcurrentExceptions(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{`"count": 20`, `"count": 20, "sampleCount": 10`, `"count": 10, "burstCount": 10`, `"count": 10, "burstCount": 10, "window": "token-bucket"`, `"count": 20, "grade": 0`} {
		vip := 60
		if strings.Contains(fields, "burst") {
			vip = 50
		}
		e := newEngine(t, hotSet(t, fields, vip))
		want := map[string]int64{"somebody": 20, "vip": 60, "bad": 0, "free": 32 * 20}
		passed := make(map[string]*atomic.Int64)
		var wg sync.WaitGroup
		for value := range want {
			n := new(atomic.Int64)
			passed[value] = n
			for range 32 {
				wg.Go(func() { n.Add(int64(passes(e, start, 20, withArgument(value)))) })
			}
		}
		wg.Wait()
		for value, n := range passed {
			if n.Load() != want[value] {
				t.Errorf("%s: %d of %s passed, want exactly %d", fields, n.Load(), value, want[value])
			}
		}
	}
}

// A value under way keeps the place of its exception until it ends.
func TestExceptionsOfCallsUnderWay(t *testing.T) {
	t.Parallel()
	e := newEngine(t, hotSet(t, `"count": 9e9, "grade": 0`, 2))
	tokens := underWay(e, 3, withArgument("vip"))
	if len(tokens) != 2 {
		t.Fatalf("%d under way", len(tokens))
	}
	e.Complete(start, tokens[0], engine.Outcome{})
	if n := len(underWay(e, 3, withArgument("vip"))); n != 1 {
		t.Errorf("%d more after one has ended", n)
	}
	for _, token := range underWay(e, 3, withArgument("free")) {
		if token != (engine.Token{}) {
			t.Error("a token for a call that nothing counts")
		}
	}
}

// Where nobody can tell whether a request enters a group, what the group's rules would refuse without asking a
// budget is refused, and what they would let pass passes.
func TestUnknownGroupsOfRulesWithoutBudget(t *testing.T) {
	t.Parallel()
	const group = `
apiDefinitions: [{apiName: g, predicateItems: [{pattern: "/a/**", matchStrategy: prefix}]}]
`
	for rules, want := range map[string]engine.Reason{
		`gatewayFlowRules: [{resource: g, resourceMode: api, count: 10000000000, onMissing: block, paramItem: {parseStrategy: header, fieldName: x}}]`: engine.ReasonInputTooLarge,
		`gatewayFlowRules: [{resource: g, resourceMode: api, count: 10000000000}]`:                                                                     engine.ReasonNone,
		`authorityRules: [{resource: g, resourceMode: api, limitApp: web, strategy: 1}]`:                                                               engine.ReasonInputTooLarge,
		`authorityRules: [{resource: g, resourceMode: api, limitApp: app, strategy: 1}]`:                                                               engine.ReasonNone,
	} {
		e := newEngine(t, pathSet(t, group+rules))
		var c engine.Call
		decide(e, start, &c, engine.Request{PathTooLarge: true, Origin: "web", Hits: 1, Attrs: params{}})
		if got := c.Verdicts[0].Reason; got != want || (c.Overall == engine.Block) != (want != engine.ReasonNone) {
			t.Errorf("%s: %v, %v; want %v", rules, c.Overall, got, want)
		}
	}
}
