package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// everyBehavior holds each kind of state that a rule can have, whole and per user, roomy and narrow,
// each for a resource of its own.
func everyBehavior(t *testing.T) (rule.Set, []engine.Request) {
	t.Helper()
	data, sep := []byte("["), ""
	var calls []engine.Request
	for _, behavior := range []string{
		`"window": "aligned"`,
		`"window": "strict"`,
		`"window": "aligned", "sampleCount": 10`,
		`"window": "strict", "burst": 3`,
		`"window": "token-bucket", "burst": 3`,
		`"controlBehavior": 2, "maxQueueingTimeoutMs": 500`,
	} {
		for _, param := range []string{"", `, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}`} {
			for _, count := range []int{7, 1_000_000} {
				name := fmt.Sprintf("rule-%02d", len(calls))
				data = fmt.Appendf(data, `%s{"id": %q, "resource": %q, "count": %d, %s%s}`, sep, name, name, count, behavior, param)
				calls, sep = append(calls, request(name, "/", "")), ",\n"
			}
		}
	}
	flows, sep := []byte("["), ""
	for _, rest := range []string{
		`"resource": "RES", "count": 7, "controlBehavior": 1`, `"resource": "RES", "count": 1000000, "controlBehavior": 1`,
		`"resource": "RES", "count": 7, "controlBehavior": 3, "maxQueueingTimeMs": 900`, `"resource": "RES", "count": 1000000, "controlBehavior": 3`,
		`"resource": "RES", "count": 7, "limitApp": "other"`, `"resource": "R.S", "regex": true, "count": 1000000`,
		`"resource": "RES", "count": 7, "strategy": 1, "refResource": "rule-01"`, `"resource": "RES", "count": 1000000, "strategy": 1, "refResource": "rule-03"`,
	} {
		name := fmt.Sprintf("rule-%02d", len(calls))
		rest = strings.Replace(strings.Replace(rest, "RES", name, 1), "R.S", "rule.*"+name[5:], 1)
		flows = fmt.Appendf(flows, `%s{"id": %q, %s}`, sep, name, rest)
		calls, sep = append(calls, request(name, "/", "")), ",\n"
		calls[len(calls)-1].Origin = "app"
	}
	set, problems := rule.Load([]rule.File{
		{Name: "gw-flow-rules.json", Data: append(data, ']')}, {Name: "flow-rules.json", Data: append(flows, ']')},
	}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set, calls
}

// TestEveryBehaviorAllocatesNothing decides, waits, refuses, peeks, gives back and cancels with known
// and new users while slots rotate.
func TestEveryBehaviorAllocatesNothing(t *testing.T) {
	set, items := everyBehavior(t)
	e := newEngine(t, set)
	users := make([]string, 500)
	for i := range users {
		users[i] = fmt.Sprintf("user-%d", i)
	}
	user := new(oneUser)
	calls := make([]engine.Call, len(items))
	for i := range calls {
		items[i].Attrs = user
		calls[i] = engine.Call{Items: items[i : i+1], MaxWait: time.Second}
	}
	all := engine.Call{Items: items, MaxWait: time.Second}
	outcomes := make([][2]int, len(calls))
	kinds := [...]engine.Kind{engine.Charge, engine.Charge, engine.Charge, engine.Peek, engine.Refund}
	now, n := start, 0
	round := func() {
		// Three of four rounds are of the same user, so that its budgets are used up at times.
		if user.name = users[0]; n%4 == 0 {
			user.name = users[n%len(users)]
		}
		for i := range calls {
			items[i].Kind = kinds[n%len(kinds)]
			e.Decide(now, &calls[i])
			outcomes[i][calls[i].Overall]++
			if n%7 == 0 {
				e.Cancel(now, &calls[i])
			}
		}
		e.Decide(now, &all)
		e.Cancel(now, &all)
		now += int64(5 * time.Millisecond)
		n++
	}
	for range 2000 { // until the tables have grown
		round()
	}
	const rounds = 4 * 5 * 7 // every kind of round
	if got := testing.AllocsPerRun(20, func() {
		for range rounds {
			round()
		}
	}); got != 0 {
		t.Errorf("%v allocations in %d rounds of %d decisions", got, rounds, len(calls)+1)
	}
	for i, o := range outcomes {
		narrow := i%2 == 0
		if o[engine.Pass] == 0 || narrow != (o[engine.Block] > 0) {
			t.Errorf("%s: passed %d times and refused %d times", items[i].Resource, o[engine.Pass], o[engine.Block])
		}
	}
}
