package ruletest

import (
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/rule"
)

// problems decodes a file and returns what is wrong with it, a line each, without the name of the file.
func problems(text string) string {
	_, ps := decode(rule.File{Name: "c.yaml", Data: []byte(text)})
	var lines []string
	for _, p := range ps {
		lines = append(lines, strings.TrimPrefix(p.String(), "c.yaml:"))
	}
	return strings.Join(lines, "\n")
}

func TestMistakesInFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"empty", " \n", "1:1: error: the file is empty"},
		{"null", "null", "1:1: error: the file holds nothing"},
		{"a list", "- 1", "1:1: error: is a list, not a mapping with the key cases"},
		{"no cases", "rules: r", "1:1: error: cases: is missing: what to test"},
		{"no events", "cases: [{name: x}]", "1:9: error: cases[0].events: is missing: what happens, and what is expected"},
		{"nothing", "cases: []", "1:8: error: cases: is empty, so nothing would be tested"},
		{"no list", "cases: {}", "1:8: error: cases: is a mapping, not a list of cases"},
		{"unknown key", "rule: r\ncases: [{events: [{at: 0, resource: r}], title: x}]",
			"1:1: error: unknown field \"rule\"; did you mean \"rules\"?\n2:42: error: cases[0]: unknown field \"title\"; there are name, events"},
		{"empty path", "rules: ['']\ncases: [{events: [{at: 0, resource: r}]}]", "1:9: error: rules[0]: an empty path; fix: name a file or a directory"},
		{"twice", "cases: [{events: [{at: 0, at: 1s, resource: r}]}]", "1:27: error: duplicate key \"at\"; it is at 1:20 already"},
		{"syntax", "cases: [", "1:8: error: sequence end token ']' not found"},
		{"back in time", "cases:\n- events:\n  - {at: 1s, resource: r}\n  - {at: 999ms, resource: r}",
			"4:10: error: cases[0].events[1].at: is 999ms, before the event above it, at 1s; fix: put the events in the order of time, which never goes back"},
		{"no unit after others", "cases:\n- events:\n  - {at: 1s, resource: r}\n  - {at: 20, resource: r}\n  - {at: 2s, resource: r}",
			"4:10: error: cases[0].events[1].at: is 20, of which the unit is missing; fix: write 20ms, or 20s"},
		{"no time after others", "cases:\n- events:\n  - {at: 1s, resource: r}\n  - {resource: r}", "4:5: error: cases[0].events[1].at: is missing: when it happens, such as 0ms"},
		{"more ends than calls", "cases:\n- events:\n  - {at: 1s, resource: r, hold: a}\n  - {at: 1s, resource: r, hold: a, times: 2}\n  - {at: 1s, complete: a, times: 2}\n  - {at: 1s, complete: a, times: 2}",
			"6:24: error: cases[0].events[3].complete: of the name \"a\" 1 calls are held at this point, not 2"},
		{"not held", "cases: [{events: [{at: 0, resource: r, hold: first}, {at: 0, complete: frist}]}]",
			"1:72: error: cases[0].events[1].complete: of the name \"frist\" 0 calls are held at this point, not 1; did you mean \"first\"?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := problems(tt.text); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestMistakesInEvents(t *testing.T) {
	t.Parallel()
	const start = "cases: [{events: [{"
	for _, tt := range []struct{ event, want string }{
		{"resource: r", "at: is missing: when it happens, such as 0ms"},
		{"at: 0", ": does nothing; fix: give it a resource or attrs, or one of call, complete, reload, breaker and system"},
		{"at: 5, resource: r", "at: is 5, of which the unit is missing; fix: write 5ms, or 5s"},
		{"at: soon, resource: r", `at: "soon" is no time; fix: write a number with its unit, such as 500ms, 3s or 2m30s`},
		{"at: -1s, resource: r", "at: is -1s; it must be from 0s to 87600h0m0s"},
		{"at: [], resource: r", "at: is a list, not a time; fix: write a number with its unit, such as 500ms"},
		{"at: 0, resource: r, expects: pass", `: unknown field "expects"; did you mean "expect"?`},
		{"at: 0, resource: r, expect: passes", `expect: unknown word "passes"; did you mean "pass"?`},
		{"at: 0, resource: r, expect: [pass]", "expect: is a list, not a string"},
		{"at: 0, resource: r, expect: true", `expect: is a boolean, not a string; fix: write "true"`},
		{"at: 0, resource: r, times: 0", "times: is 0; it must be a whole number from 1 to 1000000"},
		{"at: 0, resource: r, times: many", "times: is a string, not a number"},
		{"at: 0, resource: r, hits: 1.5", "hits: is 1.5; it must be a whole number from 1 to 9007199254740991"},
		{"at: 0, resource: r, peek: yes", "peek: is a string, not a boolean; fix: write true or false"},
		{"at: 0, resource: r, peek: true, refund: true", "refund: beside peek; fix: make two events of it"},
		{"at: 0, resource: r, peek: true, hold: a", "hold: what takes nothing is not under way, and has no end"},
		{"at: 0, resource: r, hold: ''", "hold: is empty; fix: give it a name"},
		{"at: 0, resource: {a: 1}", `resource: is a mapping, not a plain value; fix: write "" for an empty value, and leave out what the request has not`},
		{"at: 0, resource: r, expect: pass, retryAfter: 1s", "retryAfter: is known only where the outcome is block; fix: write expect: block"},
		{"at: 0, resource: r, expect: block, retryAfter: 0s", "retryAfter: is 0, but a refused request must wait; fix: write never if it will not fit, or if nobody knows when"},
		{"at: 0, resource: r, expect: block, wait: 1s", "wait: is known only where the outcome is wait; fix: write expect: wait"},
		{"at: 0, resource: r, reason: limit", "reason: is known only where the outcome is block; fix: write expect: block"},
		{"at: 0, resource: r, attrs: x", "attrs: is a string, not a mapping of attributes; fix: write {path: /orders/7, header.x-user-id: bob}"},
		{"at: 0, attrs: {haeder.x: 1}", `attrs: "haeder.x" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean "header.x"?`},
		{"at: 0, attrs: {sidecard.token: 1}", `attrs: "sidecard.token" reports the end of a call; fix: use hold and complete`},
		{"at: 0, resource: r, attrs: {resource: r}", "resource: stands in attrs too"},
		{"at: 0, resource: r, origin: a, attrs: {origin: r}", "origin: stands in attrs too"},
		{"at: 0, resource: r, args: 1", "args: is a number, not a list of arguments"},
		{"at: 0, call: []", "call: is empty, so nothing would be tested"},
		{"at: 0, resource: r, call: [{resource: s}]", "resource: has no meaning of a call; fix: move it into the requests of the call"},
		{"at: 0, call: [{expect: pass}]", "call[0]: is a request of nothing; fix: give it a resource or attrs"},
		{"at: 0, call: [{resource: r, times: 2}]", `call[0]: unknown field "times"; there are resource, attrs, args, origin, hits, peek, refund, expect, rule, reason, limit, remaining, retryAfter, wait`},
		{"at: 0, call: [{resource: r}], rule: x", "rule: has no meaning of a call; fix: move it into the requests of the call"},
		{"at: 0, call: [{resource: r}], reload: x", "reload: beside call; fix: make two events of it"},
		{"at: 0, reload: x, expect: pass", `expect: unknown word "pass"; there are ok, error`},
		{"at: 0, reload: x, hits: 2", "hits: has no meaning beside reload"},
		{"at: 0, reload: x, reason: y", "reason: is known only where the outcome is error; fix: write expect: error"},
		{"at: 0, breaker: x", "expect: is missing: the state of the breaker"},
		{"at: 0, breaker: x, expect: half-open", `expect: unknown word "half-open"; did you mean "half_open"?`},
		{"at: 0, system: 4", "system: is a number, not a mapping with load and cpu"},
		{"at: 0, system: {laod: 4}", `system: unknown field "laod"; did you mean "load"?`},
		{"at: 0, system: {cpu: -0.5}", "system.cpu: is -0.5; it must be a number of 0 or more"},
		{"at: 0, system: {cpu: high}", "system.cpu: is a string; it must be a number of 0 or more"},
		{"at: 0, system: {cpu: 1}, expect: ok", "expect: has no meaning beside system"},
		{"at: 0, resource: r, error: true", "error: has no meaning of a single request"},
	} {
		t.Run(tt.event, func(t *testing.T) {
			t.Parallel()
			got := problems(start + tt.event + "}]}]")
			_, got, _ = strings.Cut(got, "error: cases[0].events[0]")
			got = strings.TrimPrefix(got, ".")
			if i := strings.Index(got, "\n"); i >= 0 {
				got = got[:i]
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Whatever a file is, it is run or said to be wrong; nothing panics.
func FuzzRun(f *testing.F) {
	for _, seed := range []string{
		"cases: [{events: [{at: 0, resource: orders, times: 3, expect: pass}]}]",
		"rules: more.yaml\ncases:\n- events:\n  - {at: 1s, call: [{resource: calls}], hold: a}\n  - {at: 2s, complete: a, rt: 5ms}",
		"cases: [{events: [{at: 0, reload: bad.yaml, expect: error}, {at: 9h, breaker: failing, expect: open}]}]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "times") && len(data) > 200 {
			t.Skip() // many calls take their time
		}
		r := Run(rule.File{Name: "dir/case.yaml", Data: data}, Options{Read: files.read, Rules: []string{"dir/rules.yaml"}})
		if r.OK() && len(r.Cases) == 0 {
			t.Error("passed without a case")
		}
	})
}
