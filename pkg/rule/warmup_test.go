package rule

import (
	"reflect"
	"testing"
	"time"
)

func TestWarmUpProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, fields, want string }{
		{"plain", `"count": 10, "controlBehavior": 1`, ``},
		{"by name", `"count": 10, "controlBehavior": "warm_up", "warmUpPeriodSec": 5, "coldFactor": 4`, ``},
		{"in a minute", `"count": 600, "controlBehavior": 1, "intervalSec": 60, "warmUpPeriodSec": 300, "window": "strict", "sampleCount": 6`, ``},
		{"not used", `"count": 10, "warmUpPeriodSec": 5, "coldFactor": 4`, ``},
		{"queue", `"count": 10, "controlBehavior": 3`, ``},
		{"nothing passes", `"count": 0, "controlBehavior": 1`, ``},
		{"unlimited", `"count": 1e12, "controlBehavior": 1`, `warning: count: 1e12 is above 2147483647 and means unlimited: the rule never refuses`},
		{"no period", `"count": 10, "controlBehavior": 1, "warmUpPeriodSec": 0`, `error: warmUpPeriodSec: is 0; it must be from 1 to 31622400`},
		{"no factor", `"count": 10, "controlBehavior": 1, "coldFactor": 1`, `error: coldFactor: is 1; it must be from 2 to 100`},
		{"another spelling", `"count": 10, "warmUpColdFactor": 3`, `error: unknown field "warmUpColdFactor"; did you mean "coldFactor"?`},
		{"below the cold factor", `"count": 2, "controlBehavior": 1`, `warning: count: 2 per 1 s divided by a coldFactor of 3 is less than one request: one passes all the same, where Sentinel would never let any through; fix: write a count of 3 or more, or a smaller coldFactor`},
		{"below a written cold factor", `"count": 9, "controlBehavior": 1, "coldFactor": 10`, `warning: coldFactor: 9 per 1 s divided by a coldFactor of 10 is less than one request: one passes all the same, where Sentinel would never let any through; fix: write a count of 10 or more, or a smaller coldFactor`},
		{"below the cold factor in a queue", `"count": 2.5, "controlBehavior": 3`, `warning: count: 2.5 per 1 s is enforced as 5 per 2 s`},
		{"too short", `"count": 10, "controlBehavior": 3, "warmUpPeriodSec": 1, "coldFactor": 12`, `warning: warmUpPeriodSec: fewer than 11 requests pass in 1 s, so there is no warm-up: count is allowed from the beginning; fix: write warmUpPeriodSec 2 or more, or another controlBehavior`},
		{"too short an interval's part", `"count": 3, "controlBehavior": 1, "intervalSec": 60`, `warning: controlBehavior: fewer than 2 requests pass in 10 s, so there is no warm-up: count is allowed from the beginning; fix: write warmUpPeriodSec 40 or more, or another controlBehavior`},
		{"too fine a fraction", `"count": 0.333, "controlBehavior": 3`, `error: count: 0.333 per 1 s is no whole number of requests in up to 60 intervals, so it cannot be counted exactly; fix: write count 19 with intervalSec 58, or count 1 with intervalSec 3`},
		{"too slow when cold", `"count": 1000000000, "controlBehavior": 3, "intervalSec": 31622400, "coldFactor": 100`, `error: coldFactor: 100 times an interval of 31622400 s is beyond 36 years; fix: write a shorter interval`},
		{"burst", `"count": 10, "controlBehavior": 1, "burst": 5`, `error: burst: is not for warm-up, in which no more may pass at once than is allowed then; fix: write 0`},
		{"token bucket", `"count": 10, "controlBehavior": 1, "window": "token-bucket"`, `error: window: token-bucket is not for warm-up, whose limit climbs in a window; fix: write aligned or strict`},
		{"window of a queue", `"count": 10, "controlBehavior": 3, "window": "aligned"`, `error: window: is for rules that count in a window; queueing has none; fix: remove it, or write controlBehavior reject`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, file := range []string{"flow-rules", "gw-flow-rules"} {
				data := `[{"resource": "a", ` + tt.fields + `}]`
				bothForms(t, file, data, Options{})
				_, ps := Load([]File{{file + ".json", []byte(data)}}, Options{})
				if got := said(ps, "[0]"); got != tt.want {
					t.Errorf("%s: got\n%s\nwant\n%s", file, got, tt.want)
				}
			}
		})
	}
	_, text := problems(t, "gw-flow-rules.json", `[{"resource": "a", "count": 10, "controlBehavior": 1, "paramItem": {"parseStrategy": "host"}}]`, Options{})
	if want := `gw-flow-rules.json:1:52: error: [0].controlBehavior: warm_up is for whole resources; values of a parameter do not warm up; fix: remove paramItem, or write controlBehavior reject or queue`; text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestWarmUpMeaning(t *testing.T) {
	t.Parallel()
	set, text := problems(t, "gw-flow-rules.json", `[
		{"resource": "a", "count": 2.5, "controlBehavior": 1, "warmUpPeriodSec": 20, "coldFactor": 5},
		{"resource": "a", "count": 10, "controlBehavior": 3, "maxQueueingTimeoutMs": 900},
		{"resource": "b", "count": 10, "warmUpPeriodSec": 20}]`, Options{})
	if len(set.Limits) != 3 {
		t.Fatal(text)
	}
	for i, want := range []LimitRule{
		{ID: "gw-flow/route/a/qps/warm_up/1s/aligned", Limit: 5, Interval: 2 * time.Second, Scale: 2, Behavior: BehaviorWarmUp, WarmUp: 20 * time.Second, ColdFactor: 5, SampleCount: 10},
		{ID: "gw-flow/route/a/qps/warm_up_queue/1s/none", Limit: 10, Interval: time.Second, Scale: 1, Behavior: BehaviorWarmUpQueue, WarmUp: 10 * time.Second, ColdFactor: 3, MaxQueueing: 900 * time.Millisecond, Window: WindowNone},
		{ID: "gw-flow/route/b/qps/reject/1s/aligned", Limit: 10, Interval: time.Second, Scale: 1, SampleCount: 10},
	} {
		got := set.Limits[i]
		want.Pos, want.Resource, want.Count, want.DerivedID, want.MaxKeys = got.Pos, got.Resource, got.Count, true, got.MaxKeys
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
	}
	changed, _ := problems(t, "gw-flow-rules.json", `[{"resource": "a", "count": 7.5, "controlBehavior": 1, "warmUpPeriodSec": 30, "coldFactor": 3}]`, Options{})
	if changed.Limits[0].StateKey() != set.Limits[0].StateKey() {
		t.Error("other terms of a warm-up make another state")
	}
}
