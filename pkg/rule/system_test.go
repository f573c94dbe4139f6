package rule

import (
	"reflect"
	"testing"
	"time"
)

func TestSystemProblems(t *testing.T) {
	t.Parallel()
	const (
		nothing  = `error: looks at nothing; fix: write qps, maxThread, avgRt, highestSystemLoad or highestCpuUsage, or remove the rule: in Sentinel one like it at the end of the list switches all others off`
		needLoad = `warning: highestSystemLoad: needs the load average, which the daemon is told only with systemStat.load: true in its configuration; without it it refuses the rule`
		needCPU  = `warning: highestCpuUsage: needs the use of the processors, which the daemon is told only with systemStat.cgroup in its configuration; without it it refuses the rule`
	)
	tests := []struct{ name, fields, want string }{
		{"qps", `"qps": 10`, ``},
		{"half a call a second", `"qps": 0.5`, ``},
		{"none", `"qps": 0`, ``},
		{"threads", `"maxThread": 10.0`, ``},
		{"average", `"avgRt": 100`, ``},
		{"load", `"highestSystemLoad": 2.5`, needLoad},
		{"cpu", `"highestCpuUsage": 0.8`, needCPU},
		{"all", `"qps": 10, "maxThread": 10, "avgRt": 100, "highestSystemLoad": 2.5, "highestCpuUsage": 1`, needLoad + "\n" + needCPU},
		{"empty", ``, nothing},
		{"all off, as the dashboard writes it", `"highestSystemLoad": -1.0, "highestCpuUsage": -1.0, "qps": -1.0, "avgRt": -1, "maxThread": -1`, nothing},
		{"one on, as the dashboard writes it", `"id": 7, "resource": null, "limitApp": "default", "highestSystemLoad": -1.0, "highestCpuUsage": -1.0, "qps": 20.0, "avgRt": -1, "maxThread": -1`,
			"warning: id: Sentinel's bookkeeping; ignored\nwarning: limitApp: Sentinel's bookkeeping; ignored"},
		{"percent", `"highestCpuUsage": 80`, `error: highestCpuUsage: 80 is above 1, which means all processors, all the time; fix: write 0.8 for 80 %`},
		{"part of a call", `"maxThread": 2.5`, `error: maxThread: 2.5 is not a whole number`},
		{"part of a call, off", `"qps": 1, "maxThread": -0.5`, `error: maxThread: -0.5 is not a whole number`},
		{"part of a millisecond", `"avgRt": 0.5`, `error: avgRt: 0.5 is not a whole number`},
		{"too many", `"maxThread": 1e300`, `error: maxThread: is 1e300; it must be at most 2147483647`},
		{"unlimited", `"qps": 1e10`, `warning: qps: is above 2147483647, so unlimited`},
		{"no rate of whole calls", `"qps": 0.123`, `error: qps: 0.123 calls a second cannot be counted in an interval of at most 60 s; fix: write a fraction with a denominator up to 60, such as 0.5`},
		{"no number", `"qps": "10"`, `error: qps: is a string, not a number; fix: write 10 without quotes`},
		{"misspelt", `"maxThreads": 10`, `error: unknown field "maxThreads"; did you mean "maxThread"?`},
		{"a list", `"qps": [10]`, `error: qps: is a list, not a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{` + tt.fields + `}]`
			bothForms(t, "system-rules", data, Options{})
			_, ps := Load([]File{{"system-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A daemon knows what it is told, and takes no rule that needs more.
func TestSystemInputs(t *testing.T) {
	t.Parallel()
	const both = `[{"highestSystemLoad": 2.5, "highestCpuUsage": 0.8}]`
	for _, tt := range []struct {
		name string
		in   SystemInputs
		want string
	}{
		{"all", SystemInputs{Known: true, Load: true, CPU: true}, ``},
		{"none", SystemInputs{Known: true}, `system-rules.json:1:24: error: [0].highestSystemLoad: needs the load average, which the daemon is not told; fix: write systemStat.load: true in its configuration, or remove the field
system-rules.json:1:48: error: [0].highestCpuUsage: needs the use of the processors, which the daemon is not told; fix: write systemStat.cgroup in its configuration, or remove the field`},
	} {
		if _, got := problems(t, "system-rules.json", both, Options{System: tt.in}); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestSystemRules(t *testing.T) {
	t.Parallel()
	set, ps := Load([]File{{"system-rules.json", []byte(`[{"qps": 2.5, "leaseMs": 5000}, {"id": "mine", "maxThread": 0, "avgRt": 100, "highestSystemLoad": 2.5, "highestCpuUsage": 0.8, "qps": -1, "shadow": true}]`)}}, Options{})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	want := []SystemRule{
		{Pos: Position{"system-rules.json", 1, 2}, ID: "system/qps", DerivedID: true, QPS: "2.5", Limit: 5, Interval: 2 * time.Second,
			MaxThread: Unchecked, AvgRT: Unchecked, Load: Unchecked, CPU: Unchecked, Lease: 5 * time.Second},
		{Pos: Position{"system-rules.json", 1, 33}, ID: "mine", Limit: Unchecked, MaxThread: 0, AvgRT: 100 * time.Millisecond, Load: 2.5, CPU: 0.8,
			Lease: time.Minute, Shadow: true},
	}
	if !reflect.DeepEqual(set.System, want) {
		t.Errorf("got\n%+v\nwant\n%+v", set.System, want)
	}
	if set.System[0].NeedsOutcomes() || !set.System[1].NeedsOutcomes() {
		t.Error("who needs to know how calls end")
	}
}

// System rules are for all calls, so no domain has its own.
func TestSystemRulesClaimNoDomain(t *testing.T) {
	t.Parallel()
	_, got := problems(t, "b.yaml", "domain: shop\nsystemRules: [{qps: 1}]\n", Options{})
	if want := `b.yaml:2:15: error: systemRules[0]: is for the calls of every domain, but its file claims the domain "shop"; fix: move it to a file without domain`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
