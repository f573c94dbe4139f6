package rule

import (
	"strings"
	"testing"
	"time"
)

func TestConcurrencyProblems(t *testing.T) {
	t.Parallel()
	const noWindow = `is for rules that count in a window; concurrency has none; fix: remove it, or write grade qps`
	tests := []struct{ name, fields, want string }{
		{"number", `"count": 2, "grade": 0`, ``},
		{"name", `"count": 2, "grade": "concurrency"`, ``},
		{"other name", `"count": 2, "grade": "thread"`, ``},
		{"as Sentinel writes it", `"count": 2.0, "grade": 0, "intervalSec": 1, "controlBehavior": 0, "burst": 0, "maxQueueingTimeoutMs": 500`, ``},
		{"as dashboards write it", `"count": 2, "grade": 0, "interval": 2, "intervalUnit": 2`, ``},
		{"by parameter", `"count": 2, "grade": 0, "paramItem": {"parseStrategy": "host"}, "maxKeys": 5, "overflow": "block", "onMissing": "limit"`, ``},
		{"nothing passes", `"count": 0, "grade": 0`, ``},
		{"unlimited", `"count": 1e12, "grade": 0`, `warning: count: 1e12 is above 2147483647 and means unlimited: the rule never refuses`},
		{"the largest", `"count": 2147483647, "grade": 0`, ``},
		{"a fraction", `"count": 2.5, "grade": 0`, `error: count: 2.5 is no whole number of calls under way; fix: write 2 or 3`},
		{"less than one", `"count": 0.5, "grade": 0`, `error: count: 0.5 is no whole number of calls under way; fix: write 1, or 0 to block everything`},
		{"window", `"count": 2, "grade": 0, "window": "aligned"`, `error: window: ` + noWindow},
		{"token bucket", `"count": 2, "grade": 0, "window": "token-bucket"`, `error: window: ` + noWindow},
		{"slots", `"count": 2, "grade": 0, "sampleCount": 1`, `error: sampleCount: ` + noWindow},
		{"burst", `"count": 2, "grade": 0, "burst": 1`, `error: burst: is not for concurrency, which never admits more than count at a time; fix: write 0, or a larger count`},
		{"queue", `"count": 2, "grade": 0, "controlBehavior": 2`, `error: controlBehavior: queue is not for concurrency, which refuses what is above count; fix: write controlBehavior reject, or grade qps`},
		{"warm-up", `"count": 2, "grade": 0, "controlBehavior": 1`, `error: controlBehavior: warm_up is not for concurrency, which refuses what is above count; fix: write controlBehavior reject, or grade qps`},
		{"broken interval", `"count": 2, "grade": 0, "intervalSec": 0`, `error: intervalSec: is 0; it must be from 1 to 31622400`},
		{"interval of an hour", `"count": 2, "grade": 0, "intervalSec": 3600`, ``},
		{"lease", `"count": 2, "grade": 0, "leaseMs": 1000`, ``},
		{"longest lease", `"count": 2, "grade": 0, "leaseMs": 86400000`, ``},
		{"too short a lease", `"count": 2, "grade": 0, "leaseMs": 999`, `error: leaseMs: is 999; it must be from 1000 to 86400000`},
		{"too long a lease", `"count": 2, "grade": 0, "leaseMs": 86400001`, `error: leaseMs: is 86400001; it must be from 1000 to 86400000`},
		{"lease of a window", `"count": 2, "leaseMs": 5000`, `error: leaseMs: is for rules that count calls under way; fix: remove it, or write grade concurrency`},
		{"lease of a queue", `"count": 2, "controlBehavior": 2, "maxQueueingTimeoutMs": 501, "leaseMs": 5000`, `error: leaseMs: is for rules that count calls under way; fix: remove it, or write grade concurrency`},
		{"lease of an unknown grade", `"count": 2, "grade": 7, "leaseMs": 5000`, `error: grade: unknown number 7; there are 0 concurrency, 1 qps`},
		{"many mistakes", `"count": "two", "grade": 0, "burst": 1, "leaseMs": 1`, strings.Join([]string{
			`error: count: is a string, not a number`, `error: burst: is not for concurrency, which never admits more than count at a time; fix: write 0, or a larger count`,
			`error: leaseMs: is 1; it must be from 1000 to 86400000`}, "\n")},
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

func TestConcurrencyMeaning(t *testing.T) {
	t.Parallel()
	type want struct {
		id        string
		limit     int64
		unlimited bool
		lease     time.Duration
	}
	tests := []struct {
		name, fields string
		want         want
	}{
		{"plain", `"count": 2`, want{"gw-flow/route/a/concurrency/reject", 2, false, time.Minute}},
		{"interval", `"count": 2, "intervalSec": 5`, want{"gw-flow/route/a/concurrency/reject", 2, false, time.Minute}},
		{"group and lease", `"count": 7, "resourceMode": 1, "leaseMs": 5000`, want{"gw-flow/api/a/concurrency/reject", 7, false, 5 * time.Second}},
		{"unlimited", `"count": 1e12`, want{"gw-flow/route/a/concurrency/reject", MaxLimit, true, time.Minute}},
		{"by parameter", `"count": 1, "paramItem": {"parseStrategy": "header", "fieldName": "X-User", "pattern": "v", "matchStrategy": 1}`,
			want{"gw-flow/route/a/concurrency/reject/header:x-user/prefix:v", 1, false, time.Minute}},
	}
	for _, tt := range tests {
		set, text := bothForms(t, "gw-flow-rules", `[{"resource": "a", "grade": 0, `+tt.fields+`}]`, Options{})
		if len(set.Limits) != 1 {
			t.Fatalf("%s: not loaded: %s", tt.name, text)
		}
		r := set.Limits[0]
		if got := (want{r.ID, r.Limit, r.Unlimited, r.Lease}); got != tt.want {
			t.Errorf("%s: got %+v\nwant %+v", tt.name, got, tt.want)
		}
		if r.Grade != GradeConcurrency || r.Window != WindowNone || r.Interval != 0 || r.SampleCount != 0 || r.Burst != 0 || r.Scale != 1 {
			t.Errorf("%s: got %+v", tt.name, r)
		}
	}
	set, _ := bothForms(t, "gw-flow-rules", `[{"resource": "a", "count": 1, "intervalSec": 1}]`, Options{})
	if r := set.Limits[0]; r.Grade != GradeQPS || r.Lease != 0 {
		t.Errorf("a window: grade %v, lease %v", r.Grade, r.Lease)
	}
}
