package rule

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParamFlowProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, fields, want string }{
		{"an argument", `"count": 2, "paramIdx": 0`, ``},
		{"an attribute", `"count": 2, "paramKey": "header.x-user-id"`, ``},
		{"as Sentinel writes it", `"count": 5.0, "grade": 1, "paramIdx": 0, "burstCount": 0, "controlBehavior": 0, "durationInSec": 1, "maxQueueingTimeMs": 0, "limitApp": "default", "regex": false, "clusterMode": false, "paramFlowItemList": []`,
			`warning: clusterMode: Sentinel's bookkeeping; ignored`},
		{"queueing that waits", `"count": 5, "paramIdx": 0, "controlBehavior": 2, "maxQueueingTimeMs": 500`, ``},
		{"concurrency", `"count": 5, "paramIdx": 0, "grade": 0, "leaseMs": 1000`, ``},
		{"Sentinel's bucket", `"count": 5, "paramIdx": 0, "window": "token-bucket", "burstCount": 3`, ``},

		{"no parameter", `"count": 2`, `error: paramIdx: is missing: which parameter is limited; fix: write paramIdx for an argument, or paramKey for an attribute, such as header.x-user-id`},
		{"null for a parameter", `"count": 2, "paramIdx": null`, `error: paramIdx: is missing: which parameter is limited; fix: write paramIdx for an argument, or paramKey for an attribute, such as header.x-user-id`},
		{"two parameters", `"count": 2, "paramIdx": 0, "paramKey": "query.sku"`, `error: paramKey: stands beside paramIdx, and both name the parameter; fix: remove one of the two`},
		{"no argument", `"count": 2, "paramIdx": 64`, `error: paramIdx: is 64; it must be from -64 to 63`},
		{"warm-up", `"count": 2, "paramIdx": 0, "controlBehavior": 1`, `error: controlBehavior: warm_up is not for parameters: Sentinel takes it for reject; fix: write controlBehavior reject, or queue`},
		{"warm-up with queueing", `"count": 2, "paramIdx": 0, "controlBehavior": 3, "maxQueueingTimeMs": 900`, `error: controlBehavior: warm_up_queue is not for parameters: Sentinel takes it for reject; fix: write controlBehavior reject, or queue`},
		{"queueing without waiting", `"count": 2, "paramIdx": 0, "controlBehavior": 2`, `warning: controlBehavior: a maxQueueingTimeMs of 0 is not above the 500ms between two requests: of those that come together only one passes; fix: write maxQueueingTimeMs 501 or more`},
		{"cluster mode", `"count": 2, "paramIdx": 0, "clusterMode": true`, `error: clusterMode: cluster mode is not supported: each sidecard counts for itself; fix: write false, and divide count by the number of instances`},
		{"somebody's calls", `"count": 2, "paramIdx": 0, "limitApp": "web"`, `error: limitApp: is not for hot-parameter rules: Sentinel reads it and limits everybody's calls; fix: remove it, or write a paramKey of origin to limit each caller`},
		{"an expression", `"count": 2, "paramIdx": 0, "regex": true`, `error: regex: is not for hot-parameter rules: Sentinel reads it and takes resource for a name; fix: write a rule for each resource, or an API group`},
		{"fine fraction", `"count": 0.123, "paramIdx": 0, "durationInSec": 2`, `error: count: 0.123 per 2 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write count 7 with durationInSec 114, or count 1 with durationInSec 16`},
		{"a gateway rule's interval", `"count": 2, "paramIdx": 0, "intervalSec": 1`, `error: unknown field "intervalSec"; did you mean "durationInSec"?`},
		{"sentinel-golang's index", `"count": 2, "paramIndex": 0`, "error: paramIdx: is missing: which parameter is limited; fix: write paramIdx for an argument, or paramKey for an attribute, such as header.x-user-id\n" +
			`error: unknown field "paramIndex"; did you mean "paramIdx"?`},
		{"a gateway rule", `"count": 2, "paramItem": {"parseStrategy": 0}, "intervalSec": 1`, `error: looks like a gateway flow rule (it has paramItem, intervalSec), not a hot-parameter rule; fix: move it to a file named …gw-flow-rules`},
		{"a flow rule", `"count": 2, "limitApp": "default", "strategy": 0`, `error: looks like a flow rule (it has limitApp, strategy), not a hot-parameter rule; fix: move it to a file named …flow-rules`},
		{"a record of the dashboard", `"app": "shop", "rule": {"resource": "a", "count": 2, "paramIdx": 0}`, "error: rule: the rule is inside the record that Sentinel's dashboard keeps of it; fix: write what stands under rule in the record's place"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, text := problems(t, "param-flow-rules.json", `[{"resource": "a", `+tt.fields+`}]`, Options{})
			if got := withoutSpots(text); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if want := 1; !strings.Contains(text, "error") && len(set.Limits) != want {
				t.Errorf("%d rules", len(set.Limits))
			}
		})
	}
}

// withoutSpots takes file, line and column from problems, and the place in the list.
func withoutSpots(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if _, rest, ok := strings.Cut(line, ": "); ok {
			lines[i] = strings.Replace(strings.Replace(rest, " [0].", " ", 1), " [0]:", "", 1)
		}
	}
	return strings.Join(lines, "\n")
}

func TestParamFlowRules(t *testing.T) {
	t.Parallel()
	plain := func(source ParamSource, name string) LimitRule {
		return LimitRule{Kind: LimitParam, Resource: "a", Count: "2", Limit: 2, Interval: time.Second, Scale: 1, SampleCount: 2,
			MaxKeys: defaultMaxKeys, DerivedID: true, Param: &ParamItem{Source: source, FieldName: name}}
	}
	with := func(r LimitRule, id string, change func(*LimitRule)) LimitRule {
		r.ID = id
		if change != nil {
			change(&r)
		}
		return r
	}
	const begin = "param-flow/route/a/qps/reject/1s/aligned/"
	for fields, want := range map[string]LimitRule{
		`"paramIdx": 0`:                           with(plain(SourceArgument, "0"), begin+"argument:0", nil),
		`"paramIdx": -1.0`:                        with(plain(SourceArgument, "-1"), begin+"argument:-1", nil),
		`"paramKey": "header.X-User-Id"`:          with(plain(SourceHeader, "X-User-Id"), begin+"header:x-user-id", nil),
		`"paramKey": "query.sku"`:                 with(plain(SourceURLParam, "sku"), begin+"url_param:sku", nil),
		`"paramKey": "cookie.sid"`:                with(plain(SourceCookie, "sid"), begin+"cookie:sid", nil),
		`"paramKey": "remote_address"`:            with(plain(SourceClientIP, ""), begin+"client_ip", nil),
		`"paramKey": "host"`:                      with(plain(SourceHost, ""), begin+"host", nil),
		`"paramKey": "origin"`:                    with(plain(SourceOrigin, ""), begin+"origin", nil),
		`"paramKey": ":path"`:                     with(plain(SourceAttribute, "path"), begin+"attribute:path", nil),
		`"paramKey": ":method"`:                   with(plain(SourceAttribute, "method"), begin+"attribute:method", nil),
		`"paramKey": "tenant"`:                    with(plain(SourceAttribute, "tenant"), begin+"attribute:tenant", nil),
		`"paramIdx": 0, "resourceMode": "api"`:    with(plain(SourceArgument, "0"), "param-flow/api/a/qps/reject/1s/aligned/argument:0", func(r *LimitRule) { r.Mode = ModeAPI }),
		`"paramIdx": 0, "durationInSec": 60`:      with(plain(SourceArgument, "0"), "param-flow/route/a/qps/reject/60s/aligned/argument:0", func(r *LimitRule) { r.Interval = time.Minute }),
		`"paramIdx": 0, "burstCount": 3`:          with(plain(SourceArgument, "0"), begin+"argument:0", func(r *LimitRule) { r.Burst = 3 }),
		`"paramIdx": 0, "window": "token-bucket"`: with(plain(SourceArgument, "0"), "param-flow/route/a/qps/reject/1s/token-bucket/argument:0", func(r *LimitRule) { r.Window, r.SampleCount = WindowTokenBucket, 0 }),
		`"paramIdx": 0, "controlBehavior": 2, "maxQueueingTimeMs": 800`: with(plain(SourceArgument, "0"), "param-flow/route/a/qps/queue/1s/none/argument:0", func(r *LimitRule) {
			r.Behavior, r.MaxQueueing, r.Window, r.SampleCount = BehaviorQueue, 800*time.Millisecond, WindowNone, 0
		}),
		`"paramIdx": 0, "grade": "thread", "durationInSec": 1`: with(plain(SourceArgument, "0"), "param-flow/route/a/concurrency/reject/argument:0", func(r *LimitRule) {
			r.Grade, r.Lease, r.Interval, r.Window, r.SampleCount = GradeConcurrency, time.Minute, 0, WindowNone, 0
		}),
	} {
		set, text := problems(t, "a-param-rules.json", `[{"resource": "a", "count": 2, `+fields+`}]`, Options{})
		if strings.Contains(text, "error") || len(set.Limits) != 1 {
			t.Errorf("%s: %s", fields, text)
			continue
		}
		got := set.Limits[0]
		got.Pos = Position{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v %+v\nwant\n%+v %+v", fields, got, got.Param, want, want.Param)
		}
	}
	set, text := problems(t, "b.yaml", "paramFlowRules:\n- {resource: a, count: 2, paramIdx: 0}\n", Options{})
	if text != "" || len(set.Limits) != 1 {
		t.Errorf("in a bundle: %s", text)
	}
}

func TestParamKeyProblems(t *testing.T) {
	t.Parallel()
	const none = ` is no attribute; fix: write header.NAME, query.NAME, cookie.NAME, remote_address, host, origin, method, path, or the name of a descriptor entry, which has no dot`
	for key, want := range map[string]string{
		"":               `"" ` + none[1:],
		"header.":        `"header."` + none,
		"haeder.x":       `"haeder.x"` + none,
		"sidecard.token": `"sidecard.token"` + none,
		"arg.":           `"arg."` + none,
		"arg.2":          `"arg.2" is an argument; fix: write paramIdx 2 in its place`,
		"cookie":         `cookie is the whole Cookie header, which clients write in any order; fix: write cookie. and the name of one`,
		"header.a b":     `"a b" cannot be the name of a header`,
		"a\\u0001b":      `"a\x01b"` + none,
	} {
		_, text := problems(t, "param-flow-rules.json", `[{"resource": "a", "count": 2, "paramKey": "`+key+`"}]`, Options{})
		if got := withoutSpots(text); got != "error: paramKey: "+want {
			t.Errorf("%q: got\n%s\nwant\n%s", key, got, want)
		}
	}
}

// Rules of all kinds are in the order of the kinds, whatever files they come from.
func TestOrderOfKinds(t *testing.T) {
	t.Parallel()
	set, ps := Load([]File{
		{"a-flow-rules.json", []byte(`[{"resource": "a", "count": 1}]`)},
		{"b-param-flow-rules.json", []byte(`[{"resource": "a", "count": 1, "paramIdx": 0}]`)},
		{"c-gw-flow-rules.json", []byte(`[{"resource": "a", "count": 1}]`)},
	}, Options{})
	var got []LimitKind
	for _, r := range set.Limits {
		got = append(got, r.Kind)
	}
	if want := []LimitKind{LimitGateway, LimitParam, LimitFlow}; len(ps) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, ps)
	}
}
