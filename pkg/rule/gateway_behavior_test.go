package rule

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestGatewayBehaviorProblems(t *testing.T) {
	t.Parallel()
	const (
		noWindow = `is for rules that count in a window; queueing has none; fix: remove it, or write controlBehavior reject`
		tooFine  = ` is too fine a fraction to be kept exactly; fix: write `
	)
	together := func(field, ms, cost string) string {
		return "warning: " + field + ": a maxQueueingTimeoutMs of " + ms + " is not above the " + cost + " between two requests: of those that come together only one passes; fix: write "
	}
	tests := []struct{ name, fields, want string }{
		{"queue", `"count": 10, "controlBehavior": 2`, ``},
		{"queue, as dashboards write it", `"count": 10, "controlBehavior": 2, "burst": 0, "maxQueueingTimeoutMs": 500`, ``},
		{"queue by name", `"count": 10, "controlBehavior": "queue"`, ``},
		{"queue by its other name", `"count": 10, "controlBehavior": "uniform_queueing"`, ``},
		{"queue with window", `"count": 10, "controlBehavior": 2, "window": "aligned"`, `error: window: ` + noWindow},
		{"queue with token bucket", `"count": 10, "controlBehavior": 2, "window": "token-bucket"`, `error: window: ` + noWindow},
		{"queue with slots", `"count": 10, "controlBehavior": 2, "sampleCount": 10`, `error: sampleCount: ` + noWindow},
		{"queue with burst", `"count": 10, "controlBehavior": 2, "burst": 1`, `error: burst: is not for queueing, which lets requests through one by one; fix: write 0, or write controlBehavior reject`},
		{"no time to queue", `"count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 0`, together("maxQueueingTimeoutMs", "0", "100ms") + `maxQueueingTimeoutMs 101 or more`},
		{"as long as a request takes", `"count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 100`, together("maxQueueingTimeoutMs", "100", "100ms") + `maxQueueingTimeoutMs 101 or more`},
		{"longer than a request takes", `"count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 101`, ``},
		{"a third of a second", `"count": 3, "controlBehavior": 2, "maxQueueingTimeoutMs": 333`, together("maxQueueingTimeoutMs", "333", "333.333333ms") + `maxQueueingTimeoutMs 334 or more`},
		{"the default is too short", `"count": 2, "controlBehavior": 2`, together("controlBehavior", "500", "500ms") + `maxQueueingTimeoutMs 501 or more`},
		{"a queue of a day", `"count": 1, "intervalSec": 86400, "controlBehavior": 2`, together("controlBehavior", "500", "24h0m0s") + `controlBehavior reject`},
		{"a queue that blocks", `"count": 0, "controlBehavior": 2, "maxQueueingTimeoutMs": 0`, ``},
		{"longest queue", `"count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 3600000`, ``},
		{"too long a queue", `"count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 3600001`, `error: maxQueueingTimeoutMs: is 3600001; with queueing it must be from 0 to 3600000, an hour`},
		{"no queue", `"count": 10, "maxQueueingTimeoutMs": 3600001`, ``},
		{"unlimited queue", `"count": 1e12, "controlBehavior": 2, "maxQueueingTimeoutMs": 0`, `warning: count: 1e12 is above 2147483647 and means unlimited: the rule never refuses`},
		{"queue of a fine fraction", `"count": 7.654321, "controlBehavior": 2`, ``},
		{"queue of a slow fraction", `"count": 0.333, "controlBehavior": 2, "maxQueueingTimeoutMs": 10000`, ``},
		{"queue of too fine a fraction", `"count": 0.0000001, "controlBehavior": 2`, `error: count: 0.0000001 per 1 s` + tooFine + `count 1 with intervalSec 10000000`},
		{"queue of too many years", `"count": 100.001, "intervalSec": 31622400, "controlBehavior": 2`, `error: count: 100.001 per 31622400 s` + tooFine + `count 100 with intervalSec 31622400, or count 101 with intervalSec 31622400`},
		{"queue above the largest", `"count": 2147483646.5, "controlBehavior": 2`, `error: count: 2147483646.5 per 1 s` + tooFine + `count 2147483646 with intervalSec 1, or count 2147483647 with intervalSec 1`},
		{"queue and more mistakes", `"count": "ten", "intervalSec": 0, "controlBehavior": 2, "maxQueueingTimeoutMs": -1`, strings.Join([]string{
			`error: count: is a string, not a number`, `error: intervalSec: is 0; it must be from 1 to 31622400`, `error: maxQueueingTimeoutMs: is -1; it must be from 0 to 2147483647`}, "\n")},

		{"token bucket", `"count": 10, "window": "token-bucket"`, ``},
		{"token bucket of one", `"count": 1, "window": "token-bucket"`, ``},
		{"token bucket with slots", `"count": 10, "window": "token-bucket", "sampleCount": 10`, `error: sampleCount: is for windows with slots; a token bucket has none; fix: remove it`},
		{"token bucket of a fraction", `"count": 1.001, "window": "token-bucket"`, ``},
		{"token bucket of less than one", `"count": 0.5, "window": "token-bucket"`, `error: count: 0.5 makes a token bucket that never holds one request: nothing would pass; fix: write count 1 with intervalSec 2, or add a burst`},
		{"token bucket of a little", `"count": 0.333, "intervalSec": 10, "window": "token-bucket"`, `error: count: 0.333 makes a token bucket that never holds one request: nothing would pass; fix: write count 19 with intervalSec 580, or count 1 with intervalSec 30, or add a burst`},
		{"token bucket of a little and a burst", `"count": 0.333, "burst": 1, "window": "token-bucket"`, ``},
		{"token bucket that blocks", `"count": 0, "window": "token-bucket"`, ``},

		{"burst", `"count": 10, "burst": 5`, ``},
		{"burst in a strict window", `"count": 10, "burst": 5, "window": "strict", "sampleCount": 20`, ``},
		{"largest burst", `"count": 10, "burst": 2147483637`, ``},
		{"too large a burst", `"count": 10, "burst": 2147483638`, `error: burst: count and burst are 2147483648 together; at most 2147483647 are allowed`},
		{"too large a burst of a fraction", `"count": 2.5, "burst": 2147483643`, `warning: count: 2.5 per 1 s is enforced as 5 per 2 s` + "\n" + `error: burst: count and burst are 2147483648 together; at most 2147483647 are allowed`},
		{"burst of nothing", `"count": 0, "burst": 5`, `warning: burst: means nothing: a count of 0 blocks everything`},
		{"burst without limit", `"count": 1e12, "burst": 5`, `warning: count: 1e12 is above 2147483647 and means unlimited: the rule never refuses`},

		{"sketch", `"count": 10, "overflow": "sketch", "paramItem": {"parseStrategy": "host"}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "a", ` + tt.fields + `}]`
			bothForms(t, "gw-flow-rules", data, Options{})
			_, ps := Load([]File{{"gw-flow-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// said returns problems without their places, one a line, their fields as seen from root.
func said(ps Problems, root string) string {
	var lines []string
	for _, p := range ps {
		p.Pos, p.Field = Position{}, strings.TrimPrefix(strings.TrimPrefix(p.Field, root), ".")
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

func TestGatewayBehaviorMeaning(t *testing.T) {
	t.Parallel()
	type want struct {
		limit, burst, scale int64
		interval            time.Duration
		behavior            ControlBehavior
		maxQueueing         time.Duration
		window              WindowMode
		samples             int
	}
	tests := []struct {
		name, fields string
		want         want
	}{
		{"queue", `"count": 10, "controlBehavior": 2`, want{10, 0, 1, time.Second, BehaviorQueue, 500 * time.Millisecond, WindowNone, 0}},
		{"queue with a time", `"count": 10, "intervalSec": 60, "controlBehavior": 2, "maxQueueingTimeoutMs": 8000`, want{10, 0, 1, time.Minute, BehaviorQueue, 8 * time.Second, WindowNone, 0}},
		{"queue of a fraction", `"count": 2.50, "controlBehavior": 2`, want{5, 0, 2, 2 * time.Second, BehaviorQueue, 500 * time.Millisecond, WindowNone, 0}},
		{"queue of many digits", `"count": 7.654321, "controlBehavior": 2`, want{7654321, 0, 1e6, 1e6 * time.Second, BehaviorQueue, 500 * time.Millisecond, WindowNone, 0}},
		{"queue of nothing", `"count": 0.0, "controlBehavior": 2`, want{0, 0, 1, time.Second, BehaviorQueue, 500 * time.Millisecond, WindowNone, 0}},
		{"unlimited queue", `"count": 1e12, "controlBehavior": 2`, want{MaxLimit, 0, 1, time.Second, BehaviorQueue, 500 * time.Millisecond, WindowNone, 0}},
		{"time without queue", `"count": 10, "maxQueueingTimeoutMs": 8000`, want{10, 0, 1, time.Second, BehaviorReject, 0, WindowAligned, 10}},
		{"token bucket", `"count": 10, "window": "token-bucket", "burst": 3`, want{10, 3, 1, time.Second, BehaviorReject, 0, WindowTokenBucket, 0}},
		{"token bucket of a fraction", `"count": 0.125, "intervalSec": 5, "window": "token-bucket", "burst": 1`, want{1, 1, 8, 40 * time.Second, BehaviorReject, 0, WindowTokenBucket, 0}},
		{"burst", `"count": 10, "burst": 5`, want{10, 5, 1, time.Second, BehaviorReject, 0, WindowAligned, 10}},
		{"burst of a fraction", `"count": 2.5, "burst": 3`, want{5, 3, 2, 2 * time.Second, BehaviorReject, 0, WindowAligned, 10}},
		{"burst of nothing", `"count": 0, "burst": 3`, want{0, 0, 1, time.Second, BehaviorReject, 0, WindowAligned, 10}},
		{"burst of no limit", `"count": 1e12, "burst": 3`, want{MaxLimit, 0, 1, time.Second, BehaviorReject, 0, WindowAligned, 10}},
	}
	for _, tt := range tests {
		for _, param := range []string{``, `, "paramItem": {"parseStrategy": "client_ip"}`} {
			t.Run(tt.name+param, func(t *testing.T) {
				t.Parallel()
				set, text := bothForms(t, "gw-flow-rules", `[{"resource": "a", `+tt.fields+param+`}]`, Options{})
				if len(set.Limits) != 1 {
					t.Fatalf("not loaded: %s", text)
				}
				r, w := set.Limits[0], tt.want
				if param != "" && w.samples > 0 {
					w.samples = keyedSampleCount
				}
				if got := (want{r.Limit, r.Burst, r.Scale, r.Interval, r.Behavior, r.MaxQueueing, r.Window, r.SampleCount}); got != w {
					t.Errorf("got %+v\nwant %+v", got, w)
				}
				if r.Overflow != OverflowSketch {
					t.Errorf("overflow %d by default", r.Overflow)
				}
			})
		}
	}
}

func TestBehaviorIDs(t *testing.T) {
	t.Parallel()
	tests := []struct{ fields, want string }{
		{`"count": 10`, "gw-flow/route/a/qps/reject/1s/aligned"},
		{`"count": 10, "burst": 5`, "gw-flow/route/a/qps/reject/1s/aligned"},
		{`"count": 10, "window": "strict"`, "gw-flow/route/a/qps/reject/1s/strict"},
		{`"count": 2.5, "window": "token-bucket"`, "gw-flow/route/a/qps/reject/1s/token-bucket"},
		{`"count": 2.5, "controlBehavior": 2, "maxQueueingTimeoutMs": 900`, "gw-flow/route/a/qps/queue/1s/none"},
		{`"count": 10, "controlBehavior": 2, "paramItem": {"parseStrategy": "host"}`, "gw-flow/route/a/qps/queue/1s/none/host"},
	}
	for _, tt := range tests {
		set, text := problems(t, "gw-flow-rules.json", `[{"resource": "a", `+tt.fields+`}]`, Options{})
		if len(set.Limits) != 1 {
			t.Fatal(text)
		}
		if got := set.Limits[0].ID; got != tt.want {
			t.Errorf("%s: id %s, want %s", tt.fields, got, tt.want)
		}
	}
}

// TestStateOutlivesANewLimit reloads a rule with another value of what acts at once, and of what
// gives the state another meaning.
func TestStateOutlivesANewLimit(t *testing.T) {
	t.Parallel()
	key := func(format string, value any) string {
		set, text := problems(t, "gw-flow-rules.json", fmt.Sprintf(`[{"id": "x", "resource": "a", `+format+`}]`, value), Options{})
		if len(set.Limits) != 1 {
			t.Fatal(text)
		}
		return set.Limits[0].StateKey()
	}
	tests := []struct {
		name, format string
		a, b         any
		same         bool
	}{
		{"count of a queue", `"controlBehavior": 2, "count": %v`, 10, 20, true},
		{"time of a queue", `"controlBehavior": 2, "count": 10, "maxQueueingTimeoutMs": %v`, 500, 900, true},
		{"interval of a queue", `"controlBehavior": 2, "count": 10, "intervalSec": %v`, 1, 2, false},
		{"count of a bucket", `"window": "token-bucket", "count": %v`, 10, 20, true},
		{"burst of a bucket", `"window": "token-bucket", "count": 10, "burst": %v`, 1, 2, true},
		{"fraction of a bucket", `"window": "token-bucket", "burst": 1, %v`, `"count": 0.5, "intervalSec": 2`, `"count": 1, "intervalSec": 4`, false},
		{"fraction of a window", `%v`, `"count": 0.5, "intervalSec": 2`, `"count": 1, "intervalSec": 4`, true},
		{"behaviour", `"count": 10, "controlBehavior": %v`, 0, 2, false},
		{"grade", `"count": 10, "grade": %v`, 0, 1, false},
		{"count of concurrency", `"grade": 0, "count": %v`, 10, 20, true},
		{"lease of concurrency", `"grade": 0, "count": 10, "leaseMs": %v`, 1000, 2000, true},
		{"interval of concurrency", `"grade": 0, "count": 10, "intervalSec": %v`, 1, 2, true},
		{"window", `"count": 10, "window": %q`, "aligned", "token-bucket", false},
	}
	for _, tt := range tests {
		if same := reflect.DeepEqual(key(tt.format, tt.a), key(tt.format, tt.b)); same != tt.same {
			t.Errorf("%s: %v and %v have one state: %v", tt.name, tt.a, tt.b, same)
		}
	}
}
