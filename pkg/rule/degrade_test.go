package rule

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDegradeProblems(t *testing.T) {
	t.Parallel()
	const (
		errorRatio = `"timeWindow": 10, "grade": 1, "count": 0.5`
		errorCount = `"timeWindow": 10, "grade": 2, "count": 5`
		slowRatio  = `"timeWindow": 10, "grade": 0, "count": 100, "slowRatioThreshold": 0.5`
		averageRT  = `"timeWindow": 10, "grade": "avg_rt", "count": 100`
		old        = `grade slow_ratio without slowRatioThreshold opens the breaker only when all calls are slow; before Sentinel 1.8 grade 0 was the average RT; fix: write slowRatioThreshold, or grade avg_rt`
		always     = `: the breaker would open always; fix: write openAt above, or a greater threshold`
	)
	tests := []struct{ name, fields, want string }{
		{"slow ratio", slowRatio, ``},
		{"error ratio", errorRatio, ``},
		{"error count", errorCount, ``},
		{"average", averageRT, ``},
		{"error ratio by name", `"timeWindow": 10, "grade": "error_ratio", "count": 0.5`, ``},
		{"error count by Sentinel's name", `"timeWindow": 10, "grade": "exception_count", "count": 5`, ``},
		{"unknown grade", `"timeWindow": 10, "grade": 3, "count": 5`, `error: grade: unknown number 3; there are 0 slow_ratio, 1 error_ratio, 2 error_count, avg_rt`},
		{"misspelt grade", `"timeWindow": 10, "grade": "avgRt", "count": 5`, `error: grade: unknown value "avgRt"; did you mean "avg_rt"?`},
		{"the number that no name has", `"timeWindow": 10, "grade": -1, "count": 5`, `error: grade: unknown number -1; there are 0 slow_ratio, 1 error_ratio, 2 error_count, avg_rt`},
		{"unknown field", errorCount + `, "openat": "above"`, `error: unknown field "openat"; did you mean "openAt"?`},
		{"nothing", ``, "error: count: is missing: the threshold: milliseconds, a share from 0 to 1, or a number of errors, as grade has it\n" +
			"error: timeWindow: is missing: how long the breaker stays open"},

		{"as Sentinel's dashboard writes it", errorCount + `, "id": 7, "app": "x", "ip": "1.1.1.1", "port": 8719, "gmtCreate": 1, "gmtModified": null, "limitApp": "default", "regex": false, "minRequestAmount": 5, "slowRatioThreshold": 1.0, "statIntervalMs": 1000`,
			"warning: id: Sentinel's bookkeeping; ignored\nwarning: app: Sentinel's bookkeeping; ignored\nwarning: ip: Sentinel's bookkeeping; ignored\nwarning: port: Sentinel's bookkeeping; ignored\nwarning: gmtCreate: Sentinel's bookkeeping; ignored\n" +
				"warning: limitApp: Sentinel's bookkeeping; ignored\nwarning: regex: Sentinel's bookkeeping; ignored"},
		{"for one caller", errorCount + `, "limitApp": "shop"`, `warning: limitApp: is ignored, as Sentinel does in degrade rules: the breaker is for the calls of all`},
		{"for no caller", errorCount + `, "limitApp": 5`, `error: limitApp: is a number, not a string; fix: write "5"`},
		{"by expression", errorCount + `, "regex": true`, `error: regex: a resource by regular expression is not supported by this version; fix: write a rule for each resource, or for an API group`},
		{"before 1.8", `"timeWindow": 10, "grade": 0, "count": 100, "rtSlowRequestAmount": 5`,
			`warning: grade: ` + old + "\n" + `error: rtSlowRequestAmount: is not supported: since Sentinel 1.8 grade 0 is the share of slow calls, no average RT; fix: remove it, and with grade 0 write grade avg_rt and minRequestAmount in its place`},

		{"grade 0 alone", `"timeWindow": 10, "grade": 0, "count": 100`, `warning: grade: ` + old},
		{"no grade", `"timeWindow": 10, "count": 100`, `warning: count: ` + old},
		{"grade 0 of all calls", `"timeWindow": 10, "grade": 0, "count": 100, "slowRatioThreshold": 1`, ``},
		{"share above 1", `"timeWindow": 10, "count": 100, "slowRatioThreshold": 60`, `error: slowRatioThreshold: 60 is above 1, the share of all calls; fix: write 0.6 for 60 %`},
		{"share far above 1", `"timeWindow": 10, "count": 100, "slowRatioThreshold": 101`, `error: slowRatioThreshold: 101 is above 1, the share of all calls; fix: write a number from 0 to 1`},
		{"negative share", `"timeWindow": 10, "count": 100, "slowRatioThreshold": -0.1`, `error: slowRatioThreshold: -0.1 is negative`},
		{"nine decimals", `"timeWindow": 10, "count": 100, "slowRatioThreshold": 0.123456789`, ``},
		{"ten decimals", `"timeWindow": 10, "count": 100, "slowRatioThreshold": 0.1234567891`, `error: slowRatioThreshold: 0.1234567891 has more than 9 decimals`},
		{"many decimals", `"timeWindow": 10, "grade": 1, "count": 1e-300`, `error: count: 1e-300 has more than 9 decimals`},
		{"share for errors", errorRatio + `, "slowRatioThreshold": 0.5`, `warning: slowRatioThreshold: means nothing with grade error_ratio; fix: remove it`},
		{"wrong share for errors", errorCount + `, "slowRatioThreshold": 7`, `warning: slowRatioThreshold: means nothing with grade error_count; fix: remove it`},

		{"error ratio in percent", `"timeWindow": 10, "grade": 1, "count": 50`, `error: count: 50 is above 1, but grade error_ratio takes the share of calls that failed; fix: write 0.5 for 50 %`},
		{"error ratio of all", `"timeWindow": 10, "grade": 1, "count": 1.0`, ``},
		{"error ratio of none", `"timeWindow": 10, "grade": 1, "count": 0`, ``},
		{"error ratio of none reached", `"timeWindow": 10, "grade": 1, "count": 0, "openAt": "reached"`, `error: count: is reached without a single error` + always},
		{"slow ratio of none reached", `"timeWindow": 10, "count": 100, "slowRatioThreshold": 0, "openAt": "reached"`, `error: slowRatioThreshold: is reached without a single slow call` + always},
		{"error count of none", `"timeWindow": 10, "grade": 2, "count": 0`, ``},
		{"error count of none reached", `"timeWindow": 10, "grade": 2, "count": 0.0, "openAt": "reached"`, `error: count: is reached without a single error` + always},
		{"error count below 1", `"timeWindow": 10, "grade": 2, "count": 0.2`, `error: count: 0.2 is not a whole number of errors; fix: write grade error_ratio if the share of calls that failed is meant`},
		{"error count with a fraction", `"timeWindow": 10, "grade": 2, "count": 2.5`, `error: count: 2.5 is not a whole number of errors`},
		{"too many errors", `"timeWindow": 10, "grade": 2, "count": 1e12`, `error: count: 1e12 is above 2147483647: the breaker would never open`},
		{"negative count", `"timeWindow": 10, "grade": 2, "count": -1`, `error: count: -1 is negative`},
		{"count in quotes", `"timeWindow": 10, "grade": 2, "count": "5"`, `error: count: is a string, not a number; fix: write 5 without quotes`},

		{"half a millisecond", `"timeWindow": 10, "count": 0.5, "slowRatioThreshold": 0.5`, ``},
		{"finer than time", `"timeWindow": 10, "count": 0.0000001, "slowRatioThreshold": 0.5`, `error: count: 0.0000001 ms is no whole number of nanoseconds`},
		{"an hour", `"timeWindow": 10, "count": 3600000, "slowRatioThreshold": 0.5, "leaseMs": 3600001`, ``},
		{"more than an hour", `"timeWindow": 10, "count": 3600001, "slowRatioThreshold": 0.5`, `error: count: 3600001 ms is more than an hour, for which no call is measured`},
		{"slower than nothing", `"timeWindow": 10, "count": 0, "slowRatioThreshold": 0.5`, `warning: count: every call takes more than 0 ms; fix: write how many milliseconds are too many`},
		{"average of nothing", `"timeWindow": 10, "grade": "avg_rt", "count": 0`, `warning: count: every call takes more than 0 ms; fix: write how many milliseconds are too many`},
		{"average of nothing reached", `"timeWindow": 10, "grade": "avg_rt", "count": 0, "openAt": "reached"`, `error: count: is reached however fast calls are` + always},
		{"as long as the lease", `"timeWindow": 10, "count": 60000, "slowRatioThreshold": 0.5`, `warning: count: nothing is heard of calls that take longer than leaseMs, 60000: the breaker never opens; fix: write a leaseMs above the longest call`},
		{"longer than its lease", `"timeWindow": 10, "grade": "avg_rt", "count": 5000, "leaseMs": 1000`, `warning: count: nothing is heard of calls that take longer than leaseMs, 1000: the breaker never opens; fix: write a leaseMs above the longest call`},

		{"no time", `"timeWindow": 0, "grade": 2, "count": 5`, `error: timeWindow: is 0; it must be from 1 to 31622400`},
		{"part of a second", `"timeWindow": 0.5, "grade": 2, "count": 5`, `error: timeWindow: 0.5 is not a whole number`},
		{"no calls", errorCount + `, "minRequestAmount": 0`, `error: minRequestAmount: is 0; it must be from 1 to 2147483647`},
		{"no interval", errorCount + `, "statIntervalMs": 0`, `error: statIntervalMs: is 0; it must be from 1 to 2147483647`},
		{"long interval", errorCount + `, "statIntervalMs": 3600000`, `warning: statIntervalMs: windows start empty after a restart, which matters for an interval of an hour or more`},
		{"slots", errorCount + `, "statIntervalMs": 1000, "sampleCount": 20`, ``},
		{"uneven slots", errorCount + `, "statIntervalMs": 1000, "sampleCount": 7`, `error: sampleCount: 7 does not divide the interval of 1000 ms; fix: write 5 or 8`},
		{"uneven interval", errorCount + `, "statIntervalMs": 1009`, ``},
		{"too many slots", errorCount + `, "sampleCount": 61`, `error: sampleCount: is 61; it must be from 1 to 60`},

		{"last calls", errorRatio + `, "slidingWindow": {"type": "count", "size": 50, "maxWaitMs": 30000}`, ``},
		{"last calls, as many as usual", errorRatio + `, "slidingWindow": {"type": "count"}, "statIntervalMs": 1000`, ``},
		{"no type", errorRatio + `, "slidingWindow": {"size": 50}`, `error: slidingWindow.type: is missing: time, as without slidingWindow; or count, for the last calls however long ago they were`},
		{"unknown type", errorRatio + `, "slidingWindow": {"type": "counts"}`, `error: slidingWindow.type: unknown value "counts"; did you mean "count"?`},
		{"window is no mapping", errorRatio + `, "slidingWindow": "count"`, `error: slidingWindow: is a string, not a sliding window`},
		{"window of time", errorRatio + `, "slidingWindow": {"type": "time"}, "sampleCount": 5`, ``},
		{"window of time with a size", errorRatio + `, "slidingWindow": {"type": "time", "size": 10, "maxWaitMs": 5}`, strings.Join([]string{
			`error: slidingWindow.size: is for type count; a window of time has statIntervalMs and sampleCount; fix: remove it, or write type count`,
			`error: slidingWindow.maxWaitMs: is for type count; a window of time has statIntervalMs and sampleCount; fix: remove it, or write type count`}, "\n")},
		{"last calls in slots", errorRatio + `, "slidingWindow": {"type": "count"}, "sampleCount": 5`, `error: sampleCount: is for windows of time; a slidingWindow of type count has no slots; fix: remove it`},
		{"last calls of a time", errorRatio + `, "slidingWindow": {"type": "count"}, "statIntervalMs": 5000`, `warning: statIntervalMs: means nothing with a slidingWindow of type count; fix: remove it`},
		{"no last calls", errorRatio + `, "slidingWindow": {"type": "count", "size": 0}`, `error: slidingWindow.size: is 0; it must be from 1 to 1048576`},
		{"fewer last calls than it takes", errorRatio + `, "slidingWindow": {"type": "count", "size": 10}, "minRequestAmount": 20`, `warning: minRequestAmount: is more calls than slidingWindow.size; taken as 10`},
		{"fewer last calls than by default", errorRatio + `, "slidingWindow": {"type": "count", "size": 3}`, ``},
		{"more errors than calls", errorCount + `, "slidingWindow": {"type": "count", "size": 5}`, `warning: count: 5 calls do not have so many errors: the breaker never opens; fix: write a greater size`},
		{"as many errors as calls", errorCount + `, "slidingWindow": {"type": "count", "size": 5}, "openAt": "reached"`, ``},
		{"many more errors than calls", errorCount + `, "slidingWindow": {"type": "count", "size": 4}, "openAt": "reached", "minRequestAmount": 1`, `warning: count: 4 calls do not have so many errors: the breaker never opens; fix: write a greater size`},

		{"probes", errorCount + `, "halfOpenRequests": 10, "halfOpenTimeoutMs": 5000, "leaseMs": 30000`, ``},
		{"no probes", errorCount + `, "halfOpenRequests": 0`, `error: halfOpenRequests: is 0; it must be from 1 to 10000`},
		{"too many probes", errorCount + `, "halfOpenRequests": 10001`, `error: halfOpenRequests: is 10001; it must be from 1 to 10000`},
		{"no time for probes", errorCount + `, "halfOpenTimeoutMs": 0`, `error: halfOpenTimeoutMs: is 0; it must be from 1 to 86400000`},
		{"probes beyond the lease", errorCount + `, "halfOpenTimeoutMs": 60001`, `warning: halfOpenTimeoutMs: is above leaseMs, 60000: of a probe nothing is heard after that; fix: write leaseMs 60001`},
		{"no lease", errorCount + `, "leaseMs": 0`, `error: leaseMs: is 0; it must be from 1000 to 86400000`},
		{"openAt by number", errorCount + `, "openAt": 1`, `error: openAt: is 1; there are above, reached`},
		{"response", errorCount + `, "blockResponse": {"body": "{rule} {retry_after}"}`, ``},
		{"empty response", errorCount + `, "blockResponse": {}`, `error: blockResponse: is empty; fix: add contentType and body, or headers`},
		{"shadow is no string", errorCount + `, "shadow": "yes"`, `error: shadow: is a string, not a boolean; fix: write true or false`},
		{"bad id", errorCount + `, "id": "a\"b"`, `error: id: "a\"b" holds "\""; an id is printable ASCII without " and \`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "a"` + strings.TrimSuffix(", "+tt.fields, ", ") + `}]`
			bothForms(t, "degrade-rules", data, Options{})
			set, ps := Load([]File{{"degrade-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if (ps.Err() == nil) != (len(set.Degrade) == 1) {
				t.Errorf("%d rules loaded", len(set.Degrade))
			}
		})
	}
}

func TestDegradeResources(t *testing.T) {
	t.Parallel()
	const rest = `"grade": 2, "count": 5, "timeWindow": 10`
	tests := []struct{ name, data, want string }{
		{"none", `[{` + rest + `}]`, `error: [0].resource: is missing: the route id, or the name of an API group`},
		{"blank", `[{"resource": " ", ` + rest + `}]`, `error: [0].resource: is blank`},
		{"every resource", `[{"resource": "*", ` + rest + `}]`, `error: [0].resource: a default rule for every resource, *, is not supported by this version; fix: write a rule for each resource, or for an API group whose items match them`},
		{"undefined group", `[{"resource": "a", "resourceMode": "api", ` + rest + `}]`, `warning: [0].resource: no API group "a" is defined: the rule never applies; fix: define it in a file named …gw-api-definitions`},
		{"same rule", `[{"resource": "a", ` + rest + `}, {"resource": "a", "minRequestAmount": 9, ` + rest + `}]`,
			`error: [1]: watches the same as the rule at degrade-rules.json:1:2, whose id is degrade/route/a/error_count/5/1000ms as well; fix: give one of the two an id of its own, or remove one`},
		{"same id", `[{"id": "x", "resource": "a", ` + rest + `}, {"id": "x", "resource": "b", ` + rest + `}]`, `error: [1].id: the rule at degrade-rules.json:1:2 has this id; fix: give one of the two another id`},
		{"two of one resource", `[{"resource": "a", ` + rest + `}, {"resource": "a", "grade": 2, "count": 6, "timeWindow": 10}]`, ``},
		{"gateway rule", `[{"resource": "a", "count": 5, "intervalSec": 1}]`, `error: [0]: looks like a gateway flow rule (it has intervalSec), not a degrade rule; fix: move it to a file named …gw-flow-rules`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, ps := Load([]File{{"degrade-rules.json", []byte(tt.data)}}, Options{})
			if got := said(ps, ""); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	_, ps := Load([]File{
		{"degrade-rules.json", []byte(`[{"id": "x", "resource": "a", ` + rest + `}]`)},
		{"gw-flow-rules.json", []byte(`[{"id": "x", "resource": "a", "count": 1}]`)},
	}, Options{})
	if want := `error: [0].id: the rule at degrade-rules.json:1:2 has this id; fix: give one of the two another id`; said(ps, "") != want {
		t.Errorf("over kinds: got\n%s\nwant\n%s", said(ps, ""), want)
	}
}

func TestDegradeMeaning(t *testing.T) {
	t.Parallel()
	base := DegradeRule{
		ID: "x", Resource: "a", Grade: GradeErrorCount, Count: "5", Errors: 5,
		MinRequestAmount: 5, StatInterval: time.Second, SampleCount: 10,
		TimeWindow: 10 * time.Second, HalfOpenRequests: 1, HalfOpenTimeout: time.Minute, Lease: time.Minute,
	}
	with := func(change func(r *DegradeRule)) DegradeRule {
		r := base
		change(&r)
		return r
	}
	tests := []struct {
		name, fields string
		options      Options
		want         DegradeRule
	}{
		{"defaults", `"grade": 2, "count": 5`, Options{}, base},
		{"api", `"grade": 2, "count": 5, "resourceMode": 1`, Options{}, with(func(r *DegradeRule) { r.Mode = ModeAPI })},
		{"slow ratio", `"count": 200, "slowRatioThreshold": 0.60`, Options{}, with(func(r *DegradeRule) {
			r.Grade, r.Count, r.Errors, r.RTLimit, r.Ratio = GradeSlowRatio, "200", 0, 200*time.Millisecond, Ratio{3, 5}
		})},
		{"slow ratio by default", `"count": 0.000001`, Options{}, with(func(r *DegradeRule) {
			r.Grade, r.Count, r.Errors, r.RTLimit, r.Ratio = GradeSlowRatio, "0.000001", 0, 1, Ratio{1, 1}
		})},
		{"error ratio", `"grade": 1, "count": 5E-1`, Options{}, with(func(r *DegradeRule) {
			r.Grade, r.Count, r.Errors, r.Ratio = GradeErrorRatio, "5E-1", 0, Ratio{1, 2}
		})},
		{"error ratio of none", `"grade": 1, "count": 0`, Options{}, with(func(r *DegradeRule) {
			r.Grade, r.Count, r.Errors, r.Ratio = GradeErrorRatio, "0", 0, Ratio{0, 1}
		})},
		{"average", `"grade": "avg_rt", "count": 12.5, "openAt": "reached"`, Options{}, with(func(r *DegradeRule) {
			r.Grade, r.Count, r.Errors, r.RTLimit, r.OpenAt = GradeAverageRT, "12.5", 0, 12500*time.Microsecond, OpenReached
		})},
		{"last calls", `"grade": 2, "count": 5, "slidingWindow": {"type": "count", "size": 50, "maxWaitMs": 3000}, "minRequestAmount": 20`, Options{}, with(func(r *DegradeRule) {
			r.StatInterval, r.SampleCount, r.Size, r.MaxWait, r.MinRequestAmount = 0, 0, 50, 3*time.Second, 20
		})},
		{"few last calls", `"grade": 2, "count": 2, "slidingWindow": {"type": "count", "size": 3}`, Options{}, with(func(r *DegradeRule) {
			r.Count, r.Errors, r.StatInterval, r.SampleCount, r.Size, r.MinRequestAmount = "2", 2, 0, 0, 3, 3
		})},
		{"last calls by default", `"grade": 2, "count": 5, "slidingWindow": {"type": "count"}`, Options{}, with(func(r *DegradeRule) {
			r.StatInterval, r.SampleCount, r.Size = 0, 0, 100
		})},
		{"interval", `"grade": 2, "count": 5, "statIntervalMs": 20000, "sampleCount": 40`, Options{}, with(func(r *DegradeRule) {
			r.StatInterval, r.SampleCount = 20*time.Second, 40
		})},
		{"interval that ten do not divide", `"grade": 2, "count": 5, "statIntervalMs": 1008`, Options{}, with(func(r *DegradeRule) {
			r.StatInterval, r.SampleCount = 1008*time.Millisecond, 9
		})},
		{"prime interval", `"grade": 2, "count": 5, "statIntervalMs": 1009`, Options{}, with(func(r *DegradeRule) {
			r.StatInterval, r.SampleCount = 1009*time.Millisecond, 1
		})},
		{"probes", `"grade": 2, "count": 5, "halfOpenRequests": 3, "halfOpenTimeoutMs": 500, "leaseMs": 2000`, Options{}, with(func(r *DegradeRule) {
			r.HalfOpenRequests, r.HalfOpenTimeout, r.Lease = 3, 500*time.Millisecond, 2*time.Second
		})},
		{"lease", `"grade": 2, "count": 5, "leaseMs": 120000`, Options{}, with(func(r *DegradeRule) {
			r.HalfOpenTimeout, r.Lease = 2*time.Minute, 2*time.Minute
		})},
		{"response", `"grade": 2, "count": 5, "blockResponse": {"body": "no"}`, Options{}, with(func(r *DegradeRule) {
			r.Response = &BlockResponse{ContentType: defaultContentType, Body: "no"}
		})},
		{"shadow", `"grade": 2, "count": 5, "shadow": true`, Options{}, with(func(r *DegradeRule) { r.Shadow = true })},
		{"shadow for all", `"grade": 2, "count": 5`, Options{Shadow: true}, with(func(r *DegradeRule) { r.Shadow = true })},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, text := bothForms(t, "degrade-rules", `[{"id": "x", "resource": "a", "timeWindow": 10, `+tt.fields+`}]`, tt.options)
			if len(set.Degrade) != 1 {
				t.Fatalf("not loaded: %s", text)
			}
			tt.want.Pos = Position{File: "degrade-rules.json", Line: 1, Column: 2}
			if got := set.Degrade[0]; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, tt.want)
			}
		})
	}
}

func TestDegradeDefaultsAreTheDeclaredOnes(t *testing.T) {
	t.Parallel()
	var def strings.Builder
	for _, fd := range degradeSchema.fields {
		if fd.def != "" {
			def.WriteString(`, "` + fd.name + `": ` + fd.def)
		}
	}
	bare, _ := problems(t, "degrade-rules.json", `[{"resource": "a", "count": 100, "timeWindow": 1}]`, Options{})
	full, text := problems(t, "degrade-rules.json", `[{"resource": "a", "count": 100, "timeWindow": 1`+def.String()+`}]`, Options{})
	if text != "" || len(bare.Degrade) != 1 || !reflect.DeepEqual(bare.Degrade, full.Degrade) {
		t.Errorf("%s: %s\nwithout defaults\n%+v\nwith them\n%+v", def.String(), text, bare.Degrade, full.Degrade)
	}
}
