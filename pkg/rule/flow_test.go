package rule

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// asDashboard is what Sentinel's dashboard writes beside the fields that matter.
const asDashboard = `"id": 7, "app": "shop", "ip": "10.0.0.1", "port": 8719, "gmtCreate": null, "gmtModified": "x", "clusterMode": false, "clusterConfig": {"thresholdType": 0}, "refResource": null, "controlBehavior": 0, "maxQueueingTimeMs": null, "limitApp": "default", "strategy": 0, "regex": false`

func TestFlowProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, fields, want string }{
		{"plain", `"count": 2`, ``},
		{"as Sentinel writes it", `"count": 2.0, "grade": 1, "limitApp": "default", "strategy": 0, "controlBehavior": 0, "maxQueueingTimeMs": 500`, ``},
		{"no count", `"grade": 1`, `error: count: is missing: how many requests may pass per interval, or be under way at a time`},
		{"interval of a minute", `"count": 60, "intervalSec": 60, "sampleCount": 6`, ``},
		{"an expression that reads like what it relates to", `"count": 60, "regex": true, "strategy": 1, "refResource": "a"`, ``},
		{"interval", `"count": 60, "interval": 1`, `error: unknown field "interval"; did you mean "intervalSec"?`},
		{"interval and unit", `"count": 60, "limitApp": "default", "interval": 1`, `error: unknown field "interval"; did you mean "intervalSec"?`},
		{"gateway spelling", `"count": 60, "limitApp": "default", "maxQueueingTimeoutMs": 1`, `error: unknown field "maxQueueingTimeoutMs"; did you mean "maxQueueingTimeMs"?`},
		{"golang spelling", `"threshold": 1, "count": 1, "relationStrategy": 1`, "error: unknown field \"threshold\"; did you mean \"count\"?\nerror: unknown field \"relationStrategy\"; did you mean \"strategy\"?"},
		{"unknown number", `"count": 1, "strategy": 5`, `error: strategy: unknown number 5; there are 0 direct, 1 relate`},
		{"unknown behaviour", `"count": 1, "controlBehavior": 9`, `error: controlBehavior: unknown number 9; there are 0 reject, 1 warm_up, 2 queue, 3 warm_up_queue`},
		{"cluster", `"count": 1, "clusterMode": true`, `error: clusterMode: cluster mode is not supported: each sidecard counts for itself; fix: write false, and divide count by the number of instances`},
		{"sampleCount", `"count": 1, "sampleCount": 7`, `error: sampleCount: 7 does not divide the interval of 1000 ms; fix: write 5 or 8`},
		{"unlimited", `"count": 1e12`, `warning: count: 1e12 is above 2147483647 and means unlimited: the rule never refuses`},
		{"fraction", `"count": 2.5`, `warning: count: 2.5 per 1 s is enforced as 5 per 2 s`},
		{"queue", `"count": 10, "controlBehavior": 2, "maxQueueingTimeMs": 100`, ``},
		{"too short a queue", `"count": 10, "controlBehavior": 2, "maxQueueingTimeMs": 99`, `warning: maxQueueingTimeMs: a maxQueueingTimeMs of 99 is not above the 100ms between two requests: of those that come together only one passes; fix: write maxQueueingTimeMs 101 or more`},
		{"concurrency", `"count": 10, "grade": 0, "leaseMs": 5000`, ``},
		{"api", `"count": 10, "resourceMode": "api"`, `warning: resource: no API group "a" is defined: the rule never applies; fix: define it in a file named …gw-api-definitions`},

		{"origin", `"count": 10, "limitApp": "web", "onMissing": "block"`, ``},
		{"blank origin", `"count": 10, "limitApp": " "`, ``},
		{"list of origins", `"count": 10, "limitApp": "web,app"`, `warning: limitApp: is one origin with a comma in its name; flow rules, unlike authority rules, take no list; fix: write a rule for each`},
		{"origin with a line end", `"count": 10, "limitApp": "a\nb"`, `error: limitApp: holds a control character`},
		{"onMissing without", `"count": 10, "onMissing": "block"`, `error: onMissing: is for rules whose limitApp asks for an origin; fix: remove it, or write the limitApp`},
		{"onMissing limit", `"count": 10, "limitApp": "other", "onMissing": "limit"`, `error: onMissing: limit is for parameters; fix: write skip or block`},

		{"relate", `"count": 10, "strategy": 1, "refResource": "b"`, ``},
		{"relate by name", `"count": 10, "strategy": "relate", "refResource": "b", "grade": 0`, ``},
		{"relate without", `"count": 10, "strategy": 1`, `error: strategy: strategy relate needs a refResource, whose use decides`},
		{"relate to a blank", `"count": 10, "strategy": 1, "refResource": ""`, `error: refResource: strategy relate needs a refResource, whose use decides`},
		{"relate to itself", `"count": 10, "strategy": 1, "refResource": "a"`, `error: refResource: is the rule's own resource; fix: write strategy direct`},
		{"relate and queue", `"count": 10, "strategy": 1, "refResource": "b", "controlBehavior": 2`, `error: controlBehavior: queue is not for strategy relate: Sentinel lets the resource wait at count, whatever refResource does; fix: write strategy direct to mean that, or controlBehavior reject`},
		{"relate and burst", `"count": 10, "strategy": 1, "refResource": "b", "burst": 3`, `error: burst: is not for strategy relate, which takes nothing from a budget of its own; fix: write 0`},
		{"relate and bucket", `"count": 10, "strategy": 1, "refResource": "b", "window": "token-bucket"`, `error: window: token-bucket is not for strategy relate, which takes nothing from a bucket of its own; fix: write aligned or strict`},
		{"unused reference", `"count": 10, "refResource": "b"`, `warning: refResource: means nothing with strategy direct; fix: remove it, or write strategy relate`},
		{"chain", `"count": 10, "strategy": 2, "refResource": "b"`, `error: strategy: chain limits what came in by one entrance, and no request tells by which it came; fix: write strategy direct, and limitApp with the origin that calls`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "a", ` + tt.fields + `}]`
			bothForms(t, "flow-rules", data, Options{})
			_, ps := Load([]File{{"flow-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestFlowExpressions(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, expr, want string }{
		{"plain", `orders|items-\\d+`, ``},
		{"lookahead", `orders(?!-internal)`, `error: resource: "orders(?!-internal)" is no regular expression: invalid or unsupported Perl syntax: (?!; fix: expressions are RE2, which has no lookahead; list what may follow, or write a rule or item for each case`},
		{"possessive", `a*+`, `error: resource: "a*+" is no regular expression: invalid nested repetition operator: *+; fix: expressions are RE2, which has no possessive repetition; write * in place of *+, which takes no longer`},
		{"glob", `ass*`, `warning: resource: "ass*" looks like a glob: as a regular expression, * repeats the "s" before it; fix: write .* for any characters`},
		{"intersection", `[a-z&&[^b]]+`, `error: resource: "[a-z&&[^b]]+" is no regular expression: && within a class; fix: expressions are RE2, which has no intersection of classes; list the characters`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "` + tt.expr + `", "count": 1, "regex": true}]`
			set, ps := Load([]File{{"flow-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if len(ps.Errors()) == 0 && set.Limits[0].Mode != ModeRegex {
				t.Errorf("mode %v", set.Limits[0].Mode)
			}
		})
	}
	_, text := problems(t, "flow-rules.json", `[{"resource": "a", "count": 1, "regex": true, "resourceMode": 1}]`, Options{})
	if want := `flow-rules.json:1:41: error: [0].regex: is for routes; an API group has expressions in its items; fix: remove regex, or write resourceMode route`; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestFlowMeaning(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, fields string
		want         LimitRule
	}{
		{"plain", `"count": 2`, LimitRule{ID: "flow/route/a/qps/reject/1s/aligned", SampleCount: 2, Interval: time.Second}},
		{"dashboard", asDashboard + `, "count": 2`, LimitRule{ID: "flow/route/a/qps/reject/1s/aligned", SampleCount: 2, Interval: time.Second}},
		{"minute", `"count": 2, "intervalSec": 60, "window": "strict", "sampleCount": 6`, LimitRule{ID: "flow/route/a/qps/reject/60s/strict", SampleCount: 6, Interval: time.Minute, Window: WindowStrict}},
		{"origin", `"count": 2, "limitApp": "web/1"`, LimitRule{ID: "flow/route/a/web%2F1/qps/reject/1s/aligned", Origin: "web/1", SampleCount: 2, Interval: time.Second}},
		{"others", `"count": 2, "limitApp": "other"`, LimitRule{ID: "flow/route/a/other/qps/reject/1s/aligned", Origin: "other", SampleCount: 2, Interval: time.Second,
			Param: &ParamItem{Source: SourceOrigin}, MaxKeys: defaultMaxKeys}},
		{"others in a queue", `"count": 2, "limitApp": "other", "controlBehavior": 2`, LimitRule{ID: "flow/route/a/other/qps/queue/1s/none", Origin: "other", Behavior: BehaviorQueue, MaxQueueing: 500 * time.Millisecond, Window: WindowNone, Interval: time.Second}},
		{"relate", `"count": 2, "strategy": 1, "refResource": "b"`, LimitRule{ID: "flow/route/a/relate:b/qps/reject/1s/aligned", RefResource: "b", SampleCount: 2, Interval: time.Second}},
		{"concurrency", `"count": 2, "grade": 0`, LimitRule{ID: "flow/route/a/concurrency/reject", Grade: GradeConcurrency, Window: WindowNone, Lease: time.Minute}},
		{"expression", `"count": 2, "regex": true`, LimitRule{ID: "flow/regex/a/qps/reject/1s/aligned", Mode: ModeRegex, SampleCount: 2, Interval: time.Second,
			Param: &ParamItem{Source: SourceRoute}, MaxKeys: expressionRoutes}},
		{"expression for others", `"count": 2, "regex": true, "limitApp": "other"`, LimitRule{ID: "flow/regex/a/other/qps/reject/1s/aligned", Mode: ModeRegex, Origin: "other", SampleCount: 2, Interval: time.Second,
			Param: &ParamItem{Source: SourceOrigin}, MaxKeys: defaultMaxKeys}},
		{"expression in a queue", `"count": 2, "regex": true, "controlBehavior": 2`, LimitRule{ID: "flow/regex/a/qps/queue/1s/none", Mode: ModeRegex, Behavior: BehaviorQueue, MaxQueueing: 500 * time.Millisecond, Window: WindowNone, Interval: time.Second}},
		{"expression that relates", `"count": 2, "regex": true, "strategy": 1, "refResource": "b"`, LimitRule{ID: "flow/regex/a/relate:b/qps/reject/1s/aligned", Mode: ModeRegex, RefResource: "b", SampleCount: 2, Interval: time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, text := problems(t, "flow-rules.json", `[{"resource": "a", `+tt.fields+`}]`, Options{})
			if strings.Contains(text, "error") || len(set.Limits) != 1 {
				t.Fatal(text)
			}
			got := set.Limits[0]
			want := tt.want
			want.Kind, want.Pos, want.DerivedID, want.Resource, want.Count, want.Limit, want.Scale = LimitFlow, got.Pos, true, "a", got.Count, 2, 1
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

// TestKindsInOrder loads rules whose files stand in the other order than their kinds.
func TestKindsInOrder(t *testing.T) {
	t.Parallel()
	set, ps := Load([]File{
		{"a-flow-rules.json", []byte(`[{"id": "f1", "resource": "a", "count": 1}, {"id": "f2", "resource": "a", "count": 2}]`)},
		{"b.yaml", []byte("flowRules: [{id: f3, resource: a, count: 1}]\ngatewayFlowRules: [{id: g1, resource: a, count: 1}]\n")},
		{"c-gw-flow-rules.json", []byte(`[{"id": "g2", "resource": "a", "count": 1}]`)},
	}, Options{})
	var ids []string
	for i := range set.Limits {
		ids = append(ids, set.Limits[i].ID)
	}
	if got := strings.Join(ids, " "); got != "g1 g2 f1 f2 f3" || len(ps) > 0 {
		t.Errorf("order %s, problems %v", got, ps)
	}
}
