package rule

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDegradeIDs(t *testing.T) {
	t.Parallel()
	tests := []struct{ fields, want string }{
		{`"count": 200.0, "slowRatioThreshold": 0.50`, "degrade/route/a%2Fb/slow_ratio/200ms/0.5/1000ms"},
		{`"count": 200`, "degrade/route/a%2Fb/slow_ratio/200ms/1/1000ms"},
		{`"grade": 1, "count": 0.30, "resourceMode": 1`, "degrade/api/a%2Fb/error_ratio/0.3/1000ms"},
		{`"grade": 1, "count": 1e-9`, "degrade/route/a%2Fb/error_ratio/0.000000001/1000ms"},
		{`"grade": 2, "count": 20, "statIntervalMs": 60000, "sampleCount": 6`, "degrade/route/a%2Fb/error_count/20/60000ms"},
		{`"grade": 2, "count": 0`, "degrade/route/a%2Fb/error_count/0/1000ms"},
		{`"grade": "avg_rt", "count": 12.5, "openAt": "reached"`, "degrade/route/a%2Fb/avg_rt/12.5ms/1000ms"},
		{`"grade": 1, "count": 0.5, "slidingWindow": {"type": "count", "size": 50}`, "degrade/route/a%2Fb/error_ratio/0.5/last:50"},
	}
	for _, tt := range tests {
		set, text := problems(t, "degrade-rules.json", `[{"resource": "a/b", "timeWindow": 10, `+tt.fields+`}]`, Options{})
		if len(set.Degrade) != 1 {
			t.Fatal(text)
		}
		if r := set.Degrade[0]; r.ID != tt.want || !r.DerivedID {
			t.Errorf("%s: id %s, derived %v, want %s", tt.fields, r.ID, r.DerivedID, tt.want)
		}
	}
	set, text := problems(t, "b.yaml", "domain: shop\ndegradeRules: [{resource: a, grade: 2, count: 5, timeWindow: 1}]\n", Options{})
	if len(set.Degrade) != 1 || set.Degrade[0].ID != "shop/degrade/route/a/error_count/5/1000ms" || set.Degrade[0].Domain != "shop" {
		t.Errorf("%+v\n%s", set.Degrade, text)
	}
}

// TestDegradeStateKey changes one field at a time.
func TestDegradeStateKey(t *testing.T) {
	t.Parallel()
	base := DegradeRule{
		ID: "x", Resource: "a", Grade: GradeSlowRatio, RTLimit: time.Second, Ratio: Ratio{1, 2}, MinRequestAmount: 5,
		StatInterval: time.Second, SampleCount: 10, TimeWindow: time.Second, HalfOpenRequests: 1,
	}
	for i, same := range []func(r *DegradeRule){
		func(r *DegradeRule) { r.RTLimit, r.Count = time.Minute, "60000" },
		func(r *DegradeRule) { r.Ratio, r.Errors = Ratio{1, 3}, 7 },
		func(r *DegradeRule) { r.OpenAt = OpenReached },
		func(r *DegradeRule) { r.MinRequestAmount, r.MaxWait = 9, time.Hour },
		func(r *DegradeRule) { r.TimeWindow, r.HalfOpenRequests, r.HalfOpenTimeout, r.Lease = 2, 3, 4, 5 },
		func(r *DegradeRule) {
			r.Pos, r.Shadow, r.Response = Position{File: "b"}, true, &BlockResponse{Body: "no"}
		},
	} {
		r := base
		if same(&r); r.StateKey() != base.StateKey() {
			t.Errorf("change %d starts anew", i)
		}
	}
	seen := map[string]bool{base.StateKey(): true}
	for i, other := range []func(r *DegradeRule){
		func(r *DegradeRule) { r.ID = "y" },
		func(r *DegradeRule) { r.Domain = "y" },
		func(r *DegradeRule) { r.Resource = "b" },
		func(r *DegradeRule) { r.Mode = ModeAPI },
		func(r *DegradeRule) { r.Grade = GradeAverageRT },
		func(r *DegradeRule) { r.StatInterval = time.Minute },
		func(r *DegradeRule) { r.SampleCount = 5 },
		func(r *DegradeRule) { r.StatInterval, r.SampleCount, r.Size = 0, 0, 10 },
		func(r *DegradeRule) { r.StatInterval, r.SampleCount, r.Size = 0, 0, 11 },
	} {
		r := base
		if other(&r); seen[r.StateKey()] {
			t.Errorf("change %d does not start anew", i)
		}
		seen[r.StateKey()] = true
	}
	g := LimitRule{ID: "x", Resource: "a", Interval: time.Second, SampleCount: 10}
	if seen[g.StateKey()] {
		t.Error("a gateway flow rule has the key of a degrade rule")
	}
}

// degradeFields generates a degrade rule as a mapping from field to JSON text, most of them valid.
func degradeFields() *rapid.Generator[map[string]json.RawMessage] {
	choices := map[string][]string{
		"id":                 {`"x"`, `"y"`, "7"},
		"resource":           {`"a"`, `"b"`, `"*"`, `""`},
		"resourceMode":       {"0", "1", `"api"`, "2"},
		"grade":              {"0", "1", "2", `"avg_rt"`, `"error_ratio"`, "3"},
		"count":              {"0", "0.5", "1", "3", "200", "0.123456789012", "1e15", "-1", `"5"`},
		"slowRatioThreshold": {"0", "0.25", "1", "1.5", "null"},
		"openAt":             {`"above"`, `"reached"`, "1"},
		"minRequestAmount":   {"1", "5", "1000", "0"},
		"statIntervalMs":     {"1", "1000", "1009", "3600000", "0"},
		"sampleCount":        {"1", "7", "10", "61"},
		"slidingWindow":      {`{"type": "count"}`, `{"type": "count", "size": 3, "maxWaitMs": 10}`, `{"type": "time"}`, `{"type": "time", "size": 3}`, `{"size": 3}`},
		"timeWindow":         {"1", "60", "0"},
		"halfOpenRequests":   {"1", "10", "0"},
		"halfOpenTimeoutMs":  {"1", "5000", "100000"},
		"leaseMs":            {"1000", "60000", "90000000"},
		"blockResponse":      {`{"body": "no"}`, `{"body": ""}`},
		"shadow":             {"true", "1"},
		"limitApp":           {`"default"`, `"shop"`},
		"bogus":              {"1"},
	}
	return rapid.Custom(func(t *rapid.T) map[string]json.RawMessage {
		fields := map[string]json.RawMessage{"resource": json.RawMessage(`"orders"`), "count": json.RawMessage("0.5"), "grade": json.RawMessage("1"), "timeWindow": json.RawMessage("10")}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(choices))), 0, 6, rapid.ID[string]).Draw(t, "fields") {
			fields[name] = json.RawMessage(rapid.SampledFrom(choices[name]).Draw(t, name))
		}
		return fields
	})
}

// TestDegradeRulesKeepTheirPromises loads generated rules as JSON and as block YAML, requires the
// same rules and problems, and holds what the model promises.
func TestDegradeRulesKeepTheirPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(degradeFields(), 1, 3).Draw(t, "rules")
		asJSON, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		asYAML := blockYAML(t, rules)
		fromJSON, problemsJSON := Load([]File{{"degrade-rules.json", asJSON}}, Options{})
		fromYAML, problemsYAML := Load([]File{{"degrade-rules.yaml", asYAML}}, Options{})
		if a, b := withoutPlaces(problemsJSON), withoutPlaces(problemsYAML); !reflect.DeepEqual(a, b) {
			t.Fatalf("JSON\n%s\n%v\nYAML\n%s\n%v", asJSON, problemsJSON, asYAML, problemsYAML)
		}
		keys := make(map[string]bool)
		for i := range fromJSON.Degrade {
			r := &fromJSON.Degrade[i]
			if reason := brokenDegrade(r); reason != "" || keys[r.StateKey()] {
				t.Fatalf("%s: %+v", reason, r)
			}
			keys[r.StateKey()] = true
			r.Pos, fromYAML.Degrade[i].Pos = Position{}, Position{}
		}
		if !reflect.DeepEqual(fromJSON.Degrade, fromYAML.Degrade) {
			t.Fatalf("JSON\n%s\n%+v\nYAML\n%s\n%+v", asJSON, fromJSON.Degrade, asYAML, fromYAML.Degrade)
		}
	})
}

// withoutPlaces counts problems, which are not in the same order in both forms.
func withoutPlaces(ps Problems) map[string]int {
	out := make(map[string]int)
	for _, p := range ps {
		p.Pos = Position{}
		if i := strings.Index(p.Message, "the rule at "); i >= 0 {
			p.Message = p.Message[:i] // the place of the other rule follows
		}
		out[p.String()]++
	}
	return out
}

// brokenDegrade says which promise of the model an accepted rule breaks.
func brokenDegrade(r *DegradeRule) string {
	share := r.Ratio.Den >= 1 && r.Ratio.Den <= 1e9 && r.Ratio.Num >= 0 && r.Ratio.Num <= r.Ratio.Den
	times := r.Grade == GradeSlowRatio || r.Grade == GradeAverageRT
	switch {
	case r.Grade > GradeAverageRT || r.OpenAt > OpenReached:
		return "grade"
	case (r.Grade == GradeSlowRatio || r.Grade == GradeErrorRatio) != share:
		return "ratio"
	case r.RTLimit < 0 || r.RTLimit > time.Hour || !times && r.RTLimit != 0:
		return "rt limit"
	case r.Errors < 0 || r.Errors > MaxLimit || r.Grade != GradeErrorCount && r.Errors != 0:
		return "errors"
	case r.MinRequestAmount < 1 || r.Size > 0 && r.MinRequestAmount > int64(r.Size):
		return "amount"
	case (r.StatInterval > 0) == (r.Size > 0), (r.SampleCount > 0) == (r.Size > 0), r.Size < 0, r.Size == 0 && r.MaxWait != 0:
		return "window"
	case r.Size == 0 && (r.SampleCount > 60 || r.StatInterval.Milliseconds()%int64(r.SampleCount) != 0):
		return "slots"
	case r.TimeWindow < time.Second || r.HalfOpenRequests < 1 || r.HalfOpenRequests > MaxHalfOpenRequests || r.HalfOpenTimeout < 1 || r.Lease < time.Second:
		return "waits"
	case r.Response != nil:
		return brokenResponse(r.Response)
	}
	return ""
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"0": "0", "100": "100", "1e3": "1000", "0.50": "0.5", "12.0": "12", "0.000000001": "0.000000001", "1.25": "1.25"} {
		exact, reason := parseNumber(text)
		if reason != "" {
			t.Fatal(reason)
		}
		if got := decimal(exact); got != want {
			t.Errorf("decimal(%s) = %s, want %s", text, got, want)
		}
	}
	if got := fmt.Sprint(degradeSchema.names()); got == "" || slices.Contains(degradeSchema.names(), "rtSlowRequestAmount") {
		t.Errorf("fields worth suggesting: %s", got)
	}
}
