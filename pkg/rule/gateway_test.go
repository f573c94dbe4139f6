package rule

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// bothForms loads text that JSON and YAML read alike under both extensions, and requires the same
// outcome, position by position.
func bothForms(t *testing.T, stem, data string, o Options) (Set, string) {
	t.Helper()
	set, asJSON := problems(t, stem+".json", data, o)
	setYAML, asYAML := problems(t, stem+".yaml", data, o)
	if got := strings.ReplaceAll(asYAML, stem+".yaml:", stem+".json:"); got != asJSON {
		t.Errorf("as JSON\n%s\nas YAML\n%s", asJSON, got)
	}
	set.Revision, setYAML.Revision = "", ""
	for i := range setYAML.Limits {
		setYAML.Limits[i].Pos.File = stem + ".json"
	}
	for i := range setYAML.Degrade {
		setYAML.Degrade[i].Pos.File = stem + ".json"
	}
	if len(set.Limits)+len(set.Degrade) > 0 && !reflect.DeepEqual(set, setYAML) {
		t.Errorf("as JSON\n%+v\nas YAML\n%+v", set, setYAML)
	}
	return set, strings.ReplaceAll(asJSON, stem+".json:", "")
}

func TestGatewayFlowProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, data, want string }{
		{"smallest", `[{"resource": "a", "count": 1}]`, ""},
		{"not a mapping", `["a"]`, `1:2: error: [0]: is a string, not a gateway flow rule`},
		{"unknown field", `[{"resource": "a", "count": 1, "intervalsec": 3}]`, `1:32: error: [0]: unknown field "intervalsec"; did you mean "intervalSec"?`},
		{"unlike any field", `[{"resource": "a", "count": 1, "xyzzy": 3}]`, `1:32: error: [0]: unknown field "xyzzy"; there are id, resource, resourceMode, grade, count, intervalSec, interval, intervalUnit, controlBehavior, burst, maxQueueingTimeoutMs, paramItem, paramFlowItemList, window, sampleCount, onMissing, maxKeys, overflow, leaseMs, blockResponse, shadow, clusterMode, warmUpPeriodSec, coldFactor`},
		{"duplicate key", `[{"resource": "a", "count": 1, "count": 2}]`, `1:32: error: duplicate key "count"; it is at 1:20 already`},
		{"no resource, no count", `[{"grade": 1}]`, "1:2: error: [0].resource: is missing: the route id, or the name of an API group\n1:2: error: [0].count: is missing: how many requests may pass per interval, or be under way at a time"},
		{"null is absent", `[{"resource": "a", "count": null, "burst": null, "paramItem": null}]`, `1:2: error: [0].count: is missing: how many requests may pass per interval, or be under way at a time`},
		{"blank resource", `[{"resource": " ", "count": 1}]`, `1:15: error: [0].resource: is blank`},
		{"number as resource", `[{"resource": 404, "count": 1}]`, `1:15: error: [0].resource: is a number, not a string; fix: write "404"`},
		{"boolean as resource", `[{"resource": true, "count": 1}]`, `1:15: error: [0].resource: is a boolean, not a string; fix: write "true"`},
		{"list as resource", `[{"resource": ["a"], "count": 1}]`, `1:15: error: [0].resource: is a list, not a string`},
		{"control character", `[{"resource": "a\nb", "count": 1}]`, `1:15: error: [0].resource: holds a control character`},
		{"long resource", `[{"resource": "` + strings.Repeat("a", 257) + `", "count": 1}]`, `1:15: error: [0].resource: is 257 bytes long; at most 256 are allowed`},
		{"space around resource", `[{"resource": "a ", "count": 1}]`, `1:15: warning: [0].resource: begins or ends with a space, which counts as part of the name; fix: remove the space`},

		{"enumeration by name", `[{"resource": "a", "count": 1, "resourceMode": "route", "grade": "qps", "controlBehavior": "reject"}]`, ""},
		{"enumeration in wrong case", `[{"resource": "a", "count": 1, "grade": "QPS"}]`, `1:41: error: [0].grade: unknown value "QPS"; did you mean "qps"?`},
		{"unknown name", `[{"resource": "a", "count": 1, "grade": "requests"}]`, `1:41: error: [0].grade: unknown value "requests"; there are 0 concurrency, 1 qps`},
		{"unknown number", `[{"resource": "a", "count": 1, "resourceMode": 2}]`, `1:48: error: [0].resourceMode: unknown number 2; there are 0 route, 1 api`},
		{"number in quotes", `[{"resource": "a", "count": 1, "grade": "1"}]`, `1:41: error: [0].grade: unknown value "1"; write 1 without quotes, or "qps"`},
		{"fraction for an enumeration", `[{"resource": "a", "count": 1, "grade": 1.5}]`, `1:41: error: [0].grade: is not a whole number`},
		{"boolean for an enumeration", `[{"resource": "a", "count": 1, "grade": true}]`, `1:41: error: [0].grade: is a boolean; there are 0 concurrency, 1 qps`},

		{"warm-up", `[{"resource": "a", "count": 1, "controlBehavior": 1}]`, `1:29: warning: [0].count: 1 per 1 s divided by a coldFactor of 3 is less than one request: one passes all the same, where Sentinel would never let any through; fix: write a count of 3 or more, or a smaller coldFactor`},
		{"warm-up with queueing", `[{"resource": "a", "count": 10, "controlBehavior": 3}]`, ""},
		{"negative burst", `[{"resource": "a", "count": 1, "burst": -1}]`, `1:41: error: [0].burst: is -1; it must be from 0 to 2147483647`},
		{"path parameter", `[{"resource": "a", "count": 1, "paramItem": {"parseStrategy": "path_param", "fieldName": "id"}}]`, `1:90: error: [0].paramItem.fieldName: nothing says where in the path of a route {id} stands; fix: add a template, such as /orders/{id}`},
		{"window by number", `[{"resource": "a", "count": 1, "window": 1}]`, `1:42: error: [0].window: is 1; there are aligned, strict, token-bucket`},

		{"what dashboards write", `[{"resource": "a", "count": 1, "controlBehavior": 0, "burst": 0, "maxQueueingTimeoutMs": 500}]`, ""},
		{"dashboard fields", `[{"id": 7, "app": "x", "ip": "1.1.1.1", "port": 8719, "gmtCreate": 1, "gmtModified": null, "resource": "a", "count": 1}]`,
			"1:9: warning: [0].id: Sentinel's bookkeeping; ignored\n1:19: warning: [0].app: Sentinel's bookkeeping; ignored\n1:30: warning: [0].ip: Sentinel's bookkeeping; ignored\n" +
				"1:49: warning: [0].port: Sentinel's bookkeeping; ignored\n1:68: warning: [0].gmtCreate: Sentinel's bookkeeping; ignored"},
		{"dashboard fields, many rules", `[{"id": 7, "resource": "a", "count": 1}, {"id": 8, "resource": "b", "count": 1}]`, `1:9: warning: [0].id: Sentinel's bookkeeping; ignored (2 times in this file)`},
		{"cluster mode", `[{"resource": "a", "count": 1, "intervalSec": 1, "clusterMode": true}]`, `1:65: error: [0].clusterMode: cluster mode is not supported: each sidecard counts for itself; fix: write false, and divide count by the number of instances`},
		{"no cluster mode", `[{"resource": "a", "count": 1, "intervalSec": 1, "clusterMode": false}]`, `1:65: warning: [0].clusterMode: Sentinel's bookkeeping; ignored`},

		{"count in quotes", `[{"resource": "a", "count": "10"}]`, `1:29: error: [0].count: is a string, not a number; fix: write 10 without quotes`},
		{"count is no number", `[{"resource": "a", "count": "ten"}]`, `1:29: error: [0].count: is a string, not a number`},
		{"negative count", `[{"resource": "a", "count": -0.5}]`, `1:29: error: [0].count: -0.5 is negative; fix: write 0 to block everything`},
		{"count 0", `[{"resource": "a", "count": 0}]`, ""},
		{"unlimited", `[{"resource": "a", "count": 1e15}]`, `1:29: warning: [0].count: 1e15 is above 2147483647 and means unlimited: the rule never refuses`},
		{"largest limit", `[{"resource": "a", "count": 2147483647}]`, ""},
		{"exponent", `[{"resource": "a", "count": 1e999999999}]`, `1:29: error: [0].count: 1e999999999 has an exponent beyond 400`},
		{"endless digits", `[{"resource": "a", "count": 0.` + strings.Repeat("1", 70) + `}]`, `1:29: error: [0].count: 0.` + strings.Repeat("1", 70) + ` has more than 64 characters`},
		{"fraction", `[{"resource": "a", "count": 0.5}]`, `1:29: warning: [0].count: 0.5 per 1 s is enforced as 1 per 2 s`},
		{"fraction of ten seconds", `[{"resource": "a", "count": 0.05, "intervalSec": 10}]`, `1:29: warning: [0].count: 0.05 per 10 s is enforced as 1 per 200 s`},
		{"fraction that is none", `[{"resource": "a", "count": 10.0}]`, ""},
		{"fraction out of reach", `[{"resource": "a", "count": 0.333}]`, `1:29: error: [0].count: 0.333 per 1 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write count 19 with intervalSec 58, or count 1 with intervalSec 3`},
		{"fraction near nothing", `[{"resource": "a", "count": 0.001}]`, `1:29: error: [0].count: 0.001 per 1 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write count 1 with intervalSec 1000`},
		{"fraction near the largest", `[{"resource": "a", "count": 2147483646.5}]`, `1:29: error: [0].count: 2147483646.5 per 1 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write count 2147483646 with intervalSec 1, or count 2147483647 with intervalSec 1`},
		{"fraction of a year", `[{"resource": "a", "count": 0.5, "intervalSec": 31622400}]`, `1:29: error: [0].count: 0.5 per 31622400 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write a whole number, or 0 to block everything` +
			"\n1:49: warning: [0].intervalSec: windows start empty after a restart, which matters for an interval of an hour or more"},

		{"no interval", `[{"resource": "a", "count": 1, "intervalSec": 0}]`, `1:47: error: [0].intervalSec: is 0; it must be from 1 to 31622400`},
		{"long interval", `[{"resource": "a", "count": 1, "intervalSec": 3600}]`, `1:47: warning: [0].intervalSec: windows start empty after a restart, which matters for an interval of an hour or more`},
		{"just not long", `[{"resource": "a", "count": 1, "intervalSec": 3599}]`, ""},
		{"fraction of a second", `[{"resource": "a", "count": 1, "intervalSec": 0.5}]`, `1:47: error: [0].intervalSec: 0.5 is not a whole number`},
		{"whole by any name", `[{"resource": "a", "count": 1, "intervalSec": 1e1}]`, ""},
		{"beyond 64 bits", `[{"resource": "a", "count": 1, "intervalSec": 99999999999999999999}]`, `1:47: error: [0].intervalSec: is 99999999999999999999; it must be from 1 to 31622400`},
		{"interval alone", `[{"resource": "a", "count": 1, "interval": 5}]`, `1:44: error: [0].interval: interval without intervalUnit does not say of which unit; fix: write intervalSec, in seconds`},
		{"unit alone", `[{"resource": "a", "count": 1, "intervalUnit": 1}]`, `1:48: error: [0].intervalUnit: intervalUnit without interval; fix: write intervalSec, in seconds`},
		{"interval in minutes", `[{"resource": "a", "count": 1, "interval": 5, "intervalUnit": 1}]`, ""},
		{"interval in hours", `[{"resource": "a", "count": 1, "interval": 1, "intervalUnit": "hour"}]`, `1:44: warning: [0].interval: windows start empty after a restart, which matters for an interval of an hour or more`},
		{"interval said twice", `[{"resource": "a", "count": 1, "interval": 5, "intervalUnit": 1, "intervalSec": 300}]`, ""},
		{"interval contradicts", `[{"resource": "a", "count": 1, "interval": 5, "intervalUnit": 1, "intervalSec": 1}]`, `1:81: error: [0].intervalSec: is 1 s, but interval with intervalUnit says 300 s; fix: remove interval and intervalUnit`},
		{"too many days", `[{"resource": "a", "count": 1, "interval": 367, "intervalUnit": 3}]`, `1:44: error: [0].interval: is 31708800 s; it must be from 1 s to 31622400 s`},
		{"unknown unit", `[{"resource": "a", "count": 1, "interval": 5, "intervalUnit": 4}]`, `1:63: error: [0].intervalUnit: unknown number 4; there are 0 second, 1 minute, 2 hour, 3 day`},

		{"sample count", `[{"resource": "a", "count": 1, "sampleCount": 7}]`, `1:47: error: [0].sampleCount: 7 does not divide the interval of 1000 ms; fix: write 5 or 8`},
		{"sample count with none above", `[{"resource": "a", "count": 1, "sampleCount": 60}]`, `1:47: error: [0].sampleCount: 60 does not divide the interval of 1000 ms; fix: write 50`},
		{"sample count of the scaled interval", `[{"resource": "a", "count": 0.2, "sampleCount": 16, "intervalSec": 1}]`, `1:29: warning: [0].count: 0.2 per 1 s is enforced as 1 per 5 s` + "\n" + `1:49: error: [0].sampleCount: 16 does not divide the interval of 5000 ms; fix: write 10 or 20`},
		{"sample count out of range", `[{"resource": "a", "count": 1, "sampleCount": 61}]`, `1:47: error: [0].sampleCount: is 61; it must be from 1 to 60`},

		{"onMissing without param", `[{"resource": "a", "count": 1, "onMissing": "skip", "maxKeys": 5, "overflow": "allow"}]`, strings.Join([]string{
			`1:45: error: [0].onMissing: is for rules with a paramItem; fix: remove it, or add the paramItem`,
			`1:64: error: [0].maxKeys: is for rules with a paramItem; fix: remove it, or add the paramItem`,
			`1:79: error: [0].overflow: is for rules with a paramItem; fix: remove it, or add the paramItem`}, "\n")},
		{"shadow is no string", `[{"resource": "a", "count": 1, "shadow": "yes"}]`, `1:42: error: [0].shadow: is a string, not a boolean; fix: write true or false`},

		{"id", `[{"id": "a b/c", "resource": "a", "count": 1}]`, ""},
		{"id with a quote", `[{"id": "a\"b", "resource": "a", "count": 1}]`, `1:9: error: [0].id: "a\"b" holds "\""; an id is printable ASCII without " and \`},
		{"id with a backslash", `[{"id": "a\\b", "resource": "a", "count": 1}]`, `1:9: error: [0].id: "a\\b" holds "\\"; an id is printable ASCII without " and \`},
		{"id with a control character", `[{"id": "a\nb", "resource": "a", "count": 1}]`, `1:9: error: [0].id: "a\nb" holds "\n"; an id is printable ASCII without " and \`},
		{"id beyond ASCII", `[{"id": "é", "resource": "a", "count": 1}]`, `1:9: error: [0].id: "é" holds "\xc3"; an id is printable ASCII without " and \`},
		{"long id", `[{"id": "` + strings.Repeat("a", 129) + `", "resource": "a", "count": 1}]`, `1:9: error: [0].id: is 129 bytes long; at most 128 are allowed`},
		{"blank id", `[{"id": "", "resource": "a", "count": 1}]`, `1:9: error: [0].id: "" is blank, or begins or ends with a space`},
		{"same id", `[{"id": "x", "resource": "a", "count": 1}, {"id": "x", "resource": "b", "count": 1}]`, `1:51: error: [1].id: the rule at gw-flow-rules.json:1:2 has this id; fix: give one of the two another id`},
		{"same rule", `[{"resource": "a", "count": 1}, {"resource": "a", "count": 2}]`,
			`1:33: error: [1]: limits the same as the rule at gw-flow-rules.json:1:2, whose id is gw-flow/route/a/qps/reject/1s/aligned as well; fix: give one of the two an id of its own, or remove one`},
		{"group without definition", `[{"resource": "a", "resourceMode": 1, "count": 1}]`, `1:15: warning: [0].resource: no API group "a" is defined: the rule never applies; fix: define it in a file named …gw-api-definitions`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := bothForms(t, "gw-flow-rules", tt.data, Options{})
			want := strings.ReplaceAll(tt.want, "gw-flow-rules.json:", "")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestGatewayFlowMeaning(t *testing.T) {
	t.Parallel()
	base := LimitRule{
		ID: "x", Resource: "a", Count: "5", Limit: 5, Interval: time.Second, Scale: 1, SampleCount: 10, MaxKeys: defaultMaxKeys,
	}
	with := func(change func(r *LimitRule)) LimitRule {
		r := base
		change(&r)
		return r
	}
	tests := []struct {
		name, fields string
		options      Options
		want         LimitRule
	}{
		{"defaults", `"count": 5`, Options{}, base},
		{"api", `"count": 5, "resourceMode": "api"`, Options{}, with(func(r *LimitRule) { r.Mode = ModeAPI })},
		{"fraction", `"count": 2.5, "intervalSec": 3`, Options{}, with(func(r *LimitRule) { r.Count, r.Interval, r.Scale = "2.5", 6*time.Second, 2 })},
		{"count as Java writes it", `"count": 5.0`, Options{}, with(func(r *LimitRule) { r.Count = "5.0" })},
		{"exponent", `"count": 5e-1`, Options{}, with(func(r *LimitRule) { r.Count, r.Limit, r.Interval, r.Scale = "5e-1", 1, 2*time.Second, 2 })},
		{"unlimited", `"count": 1.7976931348623157E308`, Options{}, with(func(r *LimitRule) { r.Count, r.Limit, r.Unlimited = "1.7976931348623157E308", MaxLimit, true })},
		{"blocks all", `"count": 0`, Options{}, with(func(r *LimitRule) { r.Count, r.Limit = "0", 0 })},
		{"strict", `"count": 5, "window": "strict", "sampleCount": 20`, Options{}, with(func(r *LimitRule) { r.Window, r.SampleCount = WindowStrict, 20 })},
		{"minutes", `"count": 5, "interval": 2, "intervalUnit": 1`, Options{}, with(func(r *LimitRule) { r.Interval = 2 * time.Minute })},
		{"shadow", `"count": 5, "shadow": true`, Options{}, with(func(r *LimitRule) { r.Shadow = true })},
		{"shadow for all", `"count": 5, "shadow": false`, Options{Shadow: true}, with(func(r *LimitRule) { r.Shadow = true })},
		{"parameter", `"count": 5, "paramItem": {"index": null, "parseStrategy": 2, "fieldName": "X-User", "pattern": "v.*", "matchStrategy": 2}, "onMissing": "block", "maxKeys": 7, "overflow": "allow"`, Options{},
			with(func(r *LimitRule) {
				r.SampleCount, r.OnMissing, r.MaxKeys, r.Overflow = keyedSampleCount, MissingBlock, 7, OverflowAllow
				r.Param = &ParamItem{Source: SourceHeader, FieldName: "X-User", Pattern: "v.*", Match: MatchRegex}
			})},
		{"parameter with a sample count", `"count": 5, "sampleCount": 10, "paramItem": {"parseStrategy": 0}, "onMissing": "limit"`, Options{},
			with(func(r *LimitRule) { r.Param, r.OnMissing = &ParamItem{Source: SourceClientIP}, MissingLimit })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, text := bothForms(t, "gw-flow-rules", `[{"id": "x", "resource": "a", `+tt.fields+`}]`, tt.options)
			if len(set.Limits) != 1 {
				t.Fatalf("not loaded: %s", text)
			}
			tt.want.Pos = Position{File: "gw-flow-rules.json", Line: 1, Column: 2}
			if got := set.Limits[0]; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, tt.want)
			}
		})
	}
}
