package ruletest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

// world is the files that a test can name, by path.
type world map[string]string

func (w world) read(path string) ([]rule.File, error) {
	content, ok := w[path]
	if !ok {
		return nil, errors.New(path + ": no such file or directory")
	}
	return []rule.File{{Name: path, Data: []byte(content)}}, nil
}

const rules = `
gatewayFlowRules:
- {id: orders, resource: orders, count: 5}
- {id: orders-user, resource: orders, count: 3, paramItem: {parseStrategy: header, fieldName: x-user}}
- {id: queue, resource: queue, count: 10, controlBehavior: queue, maxQueueingTimeoutMs: 400}
- {id: calls, resource: calls, grade: concurrency, count: 1, leaseMs: 2000}
- {id: writes, resource: writes, resourceMode: api, count: 1}
- {id: huge, resource: huge, count: 3000000000}
apiDefinitions:
- {apiName: writes, predicateItems: [{pattern: /orders/**, matchStrategy: prefix, methods: [POST]}]}
systemRules:
- {id: busy, highestCpuUsage: 0.8}
degradeRules:
- {id: failing, resource: failing, grade: error_count, count: 1, minRequestAmount: 2, timeWindow: 1}
- {id: slow, resource: slow, grade: slow_ratio, count: 50, slowRatioThreshold: 0.5, minRequestAmount: 1, timeWindow: 1}
`

var files = world{
	"dir/rules.yaml": rules,
	"dir/more.yaml":  strings.Replace(rules, "resource: orders, count: 5}", "resource: orders, count: 7}", 1),
	"dir/worse.yaml": "\ngatewayFlowRules:\n- {resource: a}\n- {count: 1}\n",
	"dir/bad.yaml":   strings.Replace(rules, "count: 5}", "count: five}", 1),
}

// run runs one case, given as its events.
func run(t *testing.T, events string) Report {
	t.Helper()
	text := "rules: rules.yaml\ncases:\n- name: it\n  events:\n"
	for _, line := range strings.Split(strings.TrimSpace(events), "\n") {
		text += "  - " + strings.TrimSpace(line) + "\n"
	}
	return Run(rule.File{Name: "dir/case.yaml", Data: []byte(text)}, Options{Read: files.read})
}

// lines are the failures of a report as text.
func lines(r Report) string {
	var b strings.Builder
	for _, ps := range []rule.Problems{r.Unread, r.Refused} {
		for _, p := range ps {
			fmt.Fprintln(&b, p)
		}
	}
	for _, c := range r.Cases {
		for _, f := range c.Failures {
			fmt.Fprintf(&b, "%v %s: want %s; got %s; %s\n", f.Pos, f.What, f.Expected, f.Got, f.Note)
		}
	}
	return b.String()
}

func TestWhatHolds(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]string{
		"limit, remaining and the time until it fits": `
			{at: 0ms, resource: orders, times: 4, expect: pass, rule: orders, limit: 5, remaining: 1}
			{at: 120ms, resource: orders, hits: 2, expect: block, rule: orders, reason: limit, remaining: 0, retryAfter: 880ms}
			{at: 120ms, resource: orders, hits: 6, expect: block, retryAfter: never}
			{at: 999ms, resource: orders, times: 1, expect: pass, remaining: 0}
			{at: 1s, resource: orders, expect: pass, remaining: 3}`,
		"a parameter": `
			{at: 0ms, resource: orders, attrs: {header.x-user: 7}, times: 3, expect: pass, rule: orders-user, remaining: 0}
			{at: 0ms, resource: orders, attrs: {x-user: "7"}, expect: block, rule: orders-user}
			{at: 0ms, resource: orders, attrs: {header.x-user: bob}, times: 2, expect: pass}`,
		"queueing, with a deadline": `
			{at: 0ms, resource: queue, expect: pass}
			{at: 20ms, resource: queue, expect: wait, wait: 80ms, rule: queue}
			{at: 20ms, resource: queue, deadline: 185ms, expect: wait, wait: 180ms}
			{at: 20ms, resource: queue, deadline: 284ms, expect: block, reason: deadline}
			{at: 20ms, resource: queue, deadline: 0, expect: block, reason: deadline}
			{at: 20ms, resource: queue, peek: true, expect: wait, wait: 280ms}
			{at: 20ms, resource: queue, times: 2, expect: wait, wait: 380ms}
			{at: 20ms, resource: queue, expect: block, reason: limit}
			{at: 10s, resource: queue, expect: pass}`,
		"peeks and refunds": `
			{at: 0ms, resource: orders, peek: true, times: 9, expect: pass, remaining: 5}
			{at: 0ms, resource: orders, hits: 5, expect: pass}
			{at: 0ms, resource: orders, peek: true, expect: block}
			{at: 1ms, resource: orders, refund: true, hits: 2, expect: pass}
			{at: 2ms, resource: orders, hits: 2, expect: pass, remaining: 0}`,
		"all or nothing": `
			{at: 0ms, resource: orders, hits: 5, expect: pass}
			{at: 0ms, call: [{resource: queue, expect: pass}, {resource: orders, expect: block, rule: orders}], expect: block}
			{at: 0ms, call: [{resource: queue}, {resource: queue, expect: wait}], expect: wait, wait: 100ms}
			{at: 1s, call: [{resource: orders, expect: pass}, {resource: orders, hits: 4, expect: pass, remaining: 0}], expect: pass}`,
		"an API group, without a resource": `
			{at: 0ms, attrs: {path: "/orders/7?x=1", method: post}, expect: pass, rule: writes}
			{at: 0ms, attrs: {path: /orders/8, method: POST}, expect: block, rule: writes}
			{at: 0ms, attrs: {path: /orders/8, method: GET}, expect: pass, rule: ""}`,
		"calls under way, and their lease": `
			{at: 0ms, resource: calls, hold: a, expect: pass}
			{at: 100ms, resource: calls, expect: block, reason: limit, retryAfter: never}
			{at: 200ms, complete: a}
			{at: 200ms, resource: calls, times: 3, expect: pass}
			{at: 300ms, resource: calls, hold: a, expect: pass}
			{at: 2200ms, resource: calls, expect: block}
			{at: 4s, resource: calls, hold: b, expect: pass}
			{at: 4s, complete: a, expect: late}
			{at: 4s, complete: b, aborted: true}`,
		"a breaker": `
			{at: 0ms, breaker: failing, expect: closed}
			{at: 0ms, resource: failing, hold: a}
			{at: 0ms, resource: failing, hold: b}
			{at: 50ms, complete: a, error: true}
			{at: 60ms, complete: b, error: true}
			{at: 60ms, breaker: failing, expect: open}
			{at: 60ms, resource: failing, expect: block, reason: breaker, rule: failing, retryAfter: 1s}
			{at: 1060ms, resource: failing, hold: probe, expect: pass}
			{at: 1060ms, breaker: failing, expect: half_open}
			{at: 1070ms, complete: probe}
			{at: 1070ms, breaker: failing, expect: closed}`,
		"several calls under one name": `
			{at: 0ms, resource: failing, times: 3, hold: a}
			{at: 50ms, complete: a, times: 2, error: true}
			{at: 50ms, breaker: failing, expect: open}
			{at: 60ms, complete: a}`,
		"the time that a call takes": `
			{at: 0ms, resource: slow, hold: a}
			{at: 50ms, complete: a}
			{at: 50ms, breaker: slow, expect: closed}
			{at: 50ms, resource: slow, hold: b}
			{at: 50ms, resource: slow, hold: c}
			{at: 101ms, complete: b, rt: 1ms}
			{at: 101ms, breaker: slow, expect: closed}
			{at: 101ms, complete: c}
			{at: 101ms, breaker: slow, expect: closed}
			{at: 101ms, resource: slow, hold: d}
			{at: 200ms, complete: d}
			{at: 200ms, breaker: slow, expect: closed}
			{at: 200ms, resource: slow, hold: e}
			{at: 200ms, complete: e, rt: 51ms}
			{at: 200ms, breaker: slow, expect: open}`,
		"reloads": `
			{at: 0ms, resource: orders, hits: 5, expect: pass}
			{at: 1ms, reload: bad.yaml, expect: error, reason: "is a string, not a number"}
			{at: 1ms, resource: orders, expect: block}
			{at: 2ms, reload: more.yaml}
			{at: 2ms, resource: orders, expect: pass, limit: 7, remaining: 1}`,
		"the system": `
			{at: 0ms, resource: orders, expect: pass}
			{at: 1ms, system: {cpu: 0.81, load: 3}}
			{at: 1ms, resource: orders, expect: block, rule: busy, reason: system-cpu, retryAfter: never}
			{at: 2ms, system: {load: 9}}
			{at: 2ms, resource: orders, expect: pass}`,
		"no limit": `
			{at: 0ms, resource: huge, hits: 1000000000000, times: 1000, expect: pass, rule: ""}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := run(t, events); !r.OK() {
				t.Error("\n" + lines(r))
			}
		})
	}
}

func TestWhatFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, events, want string }{
		{"outcome", `{at: 10ms, resource: orders, expect: block}`,
			"dir/case.yaml:5:5 orders: want block; got pass, rule orders, limit 5, remaining 4; "},
		{"a number of the last time", `{at: 0ms, resource: orders, times: 2, expect: pass, remaining: 4}`,
			"dir/case.yaml:5:5 orders: want pass, remaining 4; got pass, rule orders, limit 5, remaining 3; time 2 of 2"},
		{"the first time that differs", `{at: 0ms, resource: orders, times: 9, expect: pass}`,
			"dir/case.yaml:5:5 orders: want pass; got block, rule orders, reason limit, limit 5, remaining 0, retryAfter 1s; time 6 of 9"},
		{"pass that waits", "{at: 0ms, resource: queue}\n{at: 0ms, resource: queue, expect: pass}",
			"dir/case.yaml:6:5 queue: want pass; got wait, rule queue, limit 10, remaining 2, wait 100ms; "},
		{"a request of a call", `{at: 0ms, call: [{resource: orders, expect: pass, limit: 4}], expect: block}`,
			"dir/case.yaml:5:22 orders: want pass, limit 4; got pass, rule orders, limit 5, remaining 4; \n" +
				"dir/case.yaml:5:5 call: want block; got pass; "},
		{"a rule that there is not", `{at: 0ms, resource: orders, expect: pass, rule: oders}`,
			`dir/case.yaml:5:5 orders: want pass, rule oders; got pass, rule orders, limit 5, remaining 4; no rule in force has the id "oders"; did you mean "orders"?`},
		{"no rule", `{at: 0ms, resource: orders, rule: ""}`,
			"dir/case.yaml:5:5 orders: want no rule; got pass, rule orders, limit 5, remaining 4; "},
		{"a breaker", "{at: 0ms, breaker: failing, expect: open}\n{at: 0ms, breaker: failin, expect: open}",
			"dir/case.yaml:5:5 breaker failing: want open; got closed; \n" +
				`dir/case.yaml:6:5 breaker failin: want open; got error; no circuit breaker in force has the id "failin"; did you mean "failing"?`},
		{"an end", "{at: 0ms, resource: orders, hold: a}\n{at: 0ms, resource: orders, hits: 9, hold: b}\n{at: 0ms, resource: calls, hold: c}\n" +
			"{at: 0ms, complete: a}\n{at: 0ms, complete: b}\n{at: 1m, complete: c}",
			"dir/case.yaml:8:5 complete a: want ok; got error; no rule wanted to know of the end of the call\n" +
				"dir/case.yaml:9:5 complete b: want ok; got error; no call is under way under this name: it was refused\n" +
				"dir/case.yaml:10:5 complete c: want ok; got late; the lease had ended the call before"},
		{"rules with several mistakes", "{at: 0ms, reload: worse.yaml}",
			"dir/case.yaml:5:5 reload worse.yaml: want ok; got error; dir/worse.yaml:3:3: error: gatewayFlowRules[0].count: is missing: how many requests may pass per interval, or be under way at a time; " +
				"dir/worse.yaml:4:3: error: gatewayFlowRules[1].resource: is missing: the route id, or the name of an API group"},
		{"a reload", "{at: 0ms, reload: gone.yaml}\n{at: 0ms, reload: more.yaml, expect: error}\n{at: 0ms, reload: gone.yaml, expect: error, reason: weather}",
			"dir/case.yaml:5:5 reload gone.yaml: want ok; got error; error: dir/gone.yaml: no such file or directory\n" +
				"dir/case.yaml:6:5 reload more.yaml: want error; got ok; \n" +
				"dir/case.yaml:7:5 reload gone.yaml: want error, reason weather; got error; error: dir/gone.yaml: no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := lines(run(t, tt.events)); got != tt.want+"\n" {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestWhereRulesComeFrom(t *testing.T) {
	t.Parallel()
	const one = "cases: [{events: [{at: 0, resource: orders, expect: pass, limit: 5}]}]"
	for _, tt := range []struct {
		name, file string
		rules      []string
		want       string
	}{
		{"none", one, nil, "dir/case.yaml: error: has no rules to test; fix: name them under the key rules, or with --rules"},
		{"the options", one, []string{"dir/rules.yaml"}, ""},
		{"both", "rules: more.yaml\n" + one, []string{"dir/rules.yaml"},
			"dir/rules.yaml:3:8: error: gatewayFlowRules[0].id: the rule at dir/more.yaml:3:3 has this id"},
		{"a path that is absolute", "rules: [/rules]\n" + one, nil, "error: /rules: no such file or directory"},
		{"refused", "rules: bad.yaml\n" + one, nil, "dir/bad.yaml:3:41: error: gatewayFlowRules[0].count: is a string, not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := Run(rule.File{Name: "dir/case.yaml", Data: []byte(tt.file)}, Options{Read: files.read, Rules: tt.rules})
			if got := lines(r); tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
			if (tt.want == "") != r.OK() {
				t.Errorf("OK is %v", r.OK())
			}
		})
	}
}
