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

// ruleFields generates a gateway flow rule as a mapping from field to JSON text, most of them valid.
func ruleFields() *rapid.Generator[map[string]json.RawMessage] {
	oneOf := func(values ...string) *rapid.Generator[string] { return rapid.SampledFrom(values) }
	text := rapid.Custom(func(t *rapid.T) string {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z/*.{}:é -]{1,12}`), oneOf("on", "null", "1", "1e3", "~", "- a", "a: b", "#", "'", "", "<<")).Draw(t, "text")
		out, _ := json.Marshal(strings.ToValidUTF8(s, "?"))
		return string(out)
	})
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,2})?(e[0-2])?`)
	choices := map[string]*rapid.Generator[string]{
		"id":                   rapid.OneOf(text, number),
		"resource":             text,
		"resourceMode":         oneOf("0", "1", `"route"`, `"api"`, "2", "null"),
		"grade":                oneOf("1", `"qps"`, "0"),
		"count":                rapid.OneOf(number, oneOf("10", "2.5", "1e15", "0.333", `"5"`)),
		"intervalSec":          oneOf("1", "60", "3600", "0", "1.5", `"1"`),
		"interval":             oneOf("1", "5"),
		"intervalUnit":         oneOf("0", "1", `"minute"`, "4"),
		"controlBehavior":      oneOf("0", `"reject"`, "2", `"queue"`, "1"),
		"burst":                oneOf("0", "5", "2147483647"),
		"maxQueueingTimeoutMs": oneOf("0", "500", "10000", "3600001", "-1"),
		"window":               oneOf(`"aligned"`, `"strict"`, `"token-bucket"`, `"Strict"`),
		"sampleCount":          oneOf("1", "2", "7", "10", "61"),
		"leaseMs":              oneOf("1000", "60000", "999"),
		"overflow":             oneOf(`"sketch"`, `"block"`, `"allow"`),
		"shadow":               oneOf("true", "false", "1"),
		"blockResponse": rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"contentType": %s, "body": %s, "headers": {%s: %s, "X-Reason": %s}}`,
				oneOf(`"application/json"`, `"text/html"`, `"html"`, "null").Draw(t, "type"), rapid.OneOf(text, oneOf(`"{rule} {retry_after}"`, `"{rul}"`)).Draw(t, "body"),
				oneOf(`"x-a"`, `"x-reason"`, `":status"`, `"Content-Length"`).Draw(t, "name"), text.Draw(t, "value"), oneOf(`"{reason}"`, `"a\nb"`, "1").Draw(t, "reason"))
		}),
		"app":   text,
		"bogus": text,
		"paramItem": rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"parseStrategy": %s, "template": %s, "fieldName": %s, "pattern": %s, "matchStrategy": %s}`,
				oneOf("0", "2", "3", "4", `"header"`, `"cookie"`, `"path_param"`, "9").Draw(t, "strategy"),
				oneOf("null", "null", `"/{x-user-id}/**"`, `"/{id}-{x}"`).Draw(t, "template"), rapid.OneOf(text, oneOf(`"x-user-id"`, "null")).Draw(t, "field"),
				text.Draw(t, "pattern"), oneOf("0", "1", "2", "3", `"regex"`).Draw(t, "match"))
		}),
	}
	choices["paramFlowItemList"] = rapid.Custom(func(t *rapid.T) string {
		item := rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"object": %s, "count": %s, "classType": %s}`, rapid.OneOf(text, oneOf(`"7"`, `"7.0"`, `"true"`, "7")).Draw(t, "object"),
				rapid.OneOf(number, oneOf("1e15", "2147483647")).Draw(t, "own"), oneOf("null", `"int"`, `"double"`, `"java.lang.Boolean"`, `"Int"`).Draw(t, "class"))
		})
		return "[" + strings.Join(rapid.SliceOfN(item, 0, 3).Draw(t, "items"), ", ") + "]"
	})
	valid := map[string]string{"resource": `"orders"`, "count": "10"}
	return rapid.Custom(func(t *rapid.T) map[string]json.RawMessage {
		fields := make(map[string]json.RawMessage)
		for name, value := range valid {
			fields[name] = json.RawMessage(value)
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(choices))), 0, 6, rapid.ID[string]).Draw(t, "fields") {
			fields[name] = json.RawMessage(choices[name].Draw(t, name))
		}
		return fields
	})
}

// blockYAML writes rules in block style. Scalars are JSON's, which YAML reads alike.
func blockYAML(t *rapid.T, rules []map[string]json.RawMessage) []byte {
	var b strings.Builder
	for _, rule := range rules {
		indent := "- "
		for _, name := range slices.Sorted(maps.Keys(rule)) {
			b.WriteString(indent + name + ":")
			indent = "  "
			var nested map[string]json.RawMessage
			if rule[name][0] != '{' {
				b.WriteString(" " + string(rule[name]) + "\n")
				continue
			}
			if err := json.Unmarshal(rule[name], &nested); err != nil {
				t.Fatal(err)
			}
			b.WriteByte('\n')
			for _, key := range slices.Sorted(maps.Keys(nested)) {
				b.WriteString("    " + key + ": " + string(nested[key]) + "\n")
			}
		}
	}
	return []byte(b.String())
}

// messages drops the places, which differ between the two forms, and sorts by field.
func messages(ps Problems) map[string]int {
	out := make(map[string]int)
	for _, p := range ps {
		message, _, _ := strings.Cut(p.Message, " at gw-flow-rules")
		message, _, _ = strings.Cut(message, " has an exception at ")
		out[fmt.Sprint(p.Severity, p.Field, p.Rule, message, p.Fix)]++
	}
	return out
}

// TestJSONAndYAMLDecodeEqual writes generated rules as JSON and as block YAML and
// requires the same rules and the same problems.
func TestJSONAndYAMLDecodeEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(ruleFields(), 1, 3).Draw(t, "rules")
		asJSON, err := json.MarshalIndent(rules, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		asYAML := blockYAML(t, rules)
		fromJSON, problemsJSON := Load([]File{{"gw-flow-rules.json", asJSON}}, Options{})
		fromYAML, problemsYAML := Load([]File{{"gw-flow-rules.yaml", asYAML}}, Options{})
		for _, set := range []*Set{&fromJSON, &fromYAML} {
			set.Revision = ""
			for i := range set.Limits {
				set.Limits[i].Pos = Position{}
			}
		}
		if !reflect.DeepEqual(messages(problemsJSON), messages(problemsYAML)) {
			t.Fatalf("JSON\n%s\n%v\nYAML\n%s\n%v", asJSON, problemsJSON, asYAML, problemsYAML)
		}
		if !reflect.DeepEqual(fromJSON, fromYAML) {
			t.Fatalf("JSON\n%s\n%+v\nYAML\n%s\n%+v", asJSON, fromJSON, asYAML, fromYAML)
		}
	})
}

// TestIDsAndStateKeys holds what every accepted rule must satisfy.
func TestIDsAndStateKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(ruleFields(), 1, 4).Draw(t, "rules")
		data, err := json.Marshal(rules)
		if err != nil {
			t.Fatal(err)
		}
		set, ps := Load([]File{{"gw-flow-rules.json", data}}, Options{})
		if ps.Err() != nil && len(set.Limits) > 0 {
			t.Fatal("a set with errors holds rules")
		}
		keys := make(map[string]bool)
		for i := range set.Limits {
			r := &set.Limits[i]
			for _, c := range []byte(r.ID) {
				if c < ' ' || c > '~' || c == '"' || c == '\\' {
					t.Fatalf("id %q holds %q", r.ID, c)
				}
			}
			if r.ID == "" || len(r.ID) > maxDerivedIDBytes {
				t.Fatalf("id of %d bytes", len(r.ID))
			}
			if key := r.StateKey(); keys[key] {
				t.Fatalf("state key %q twice", key)
			} else {
				keys[key] = true
			}
			if reason := broken(r); reason != "" {
				t.Fatalf("%s: %+v", reason, r)
			}
		}
	})
}

// broken says which promise of the model an accepted rule breaks.
func broken(r *LimitRule) string {
	slots := r.Window == WindowAligned || r.Window == WindowStrict
	calls := r.Grade == GradeConcurrency
	switch {
	case r.Limit < 0 || r.Burst < 0 || !r.Unlimited && r.Limit+r.Burst > MaxLimit:
		return "limit"
	case brokenExceptions(r):
		return "exceptions"
	case r.Param != nil && r.Param.Source == SourcePathParam && r.Param.Template == "" && r.Mode != ModeAPI:
		return "template"
	case calls != (r.Lease > 0) || calls && (r.Interval != 0 || r.Scale != 1 || r.Burst != 0 || r.Behavior != BehaviorReject || r.Window != WindowNone || r.SampleCount != 0):
		return "concurrency"
	case calls && r.Response != nil:
		return brokenResponse(r.Response)
	case calls:
		return ""
	case r.Scale < 1 || r.Interval < time.Second || r.Interval%(time.Duration(r.Scale)*time.Second) != 0:
		return "interval"
	case r.Scale > 1 && (r.Unlimited || r.Limit%r.Scale == 0):
		return "scale"
	case (r.Behavior == BehaviorQueue) != (r.Window == WindowNone):
		return "window"
	case r.Behavior == BehaviorQueue && r.Burst > 0, r.Behavior != BehaviorQueue && r.MaxQueueing != 0:
		return "queueing"
	case r.Window == WindowTokenBucket && r.Limit > 0 && r.Limit+r.Burst*r.Scale < r.Scale:
		return "bucket"
	case slots != (r.SampleCount > 0) || slots && r.Interval.Milliseconds()%int64(r.SampleCount) != 0:
		return "slots"
	case r.Response != nil:
		return brokenResponse(r.Response)
	}
	return ""
}

// brokenExceptions says whether the exceptions of a rule break a promise of the model.
func brokenExceptions(r *LimitRule) bool {
	seen := make(map[string]bool)
	for _, e := range r.Exceptions {
		if seen[e.Value] || e.Limit < 0 || !e.Unlimited && e.Limit+r.Burst > MaxLimit {
			return true
		}
		if r.Window == WindowTokenBucket && e.Limit > 0 && e.Limit+r.Burst*r.Scale < r.Scale {
			return true
		}
		seen[e.Value] = true
	}
	return len(seen) > 0 && r.Param == nil
}

// brokenResponse says which promise of the model an accepted block response breaks.
func brokenResponse(r *BlockResponse) string {
	if len(r.Body) > 64<<10 || len(r.Headers) > 16 {
		return "size"
	}
	unfit := func(value string) bool {
		return len(value) > 4<<10 || strings.Trim(value, " \t") != value || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	}
	if r.ContentType == "" && r.Body != "" || unfit(r.ContentType) {
		return "content type"
	}
	seen := map[string]bool{"content-type": true, "content-length": true, "transfer-encoding": true}
	for _, h := range r.Headers {
		if seen[h.Name] || h.Name != strings.ToLower(h.Name) || h.Name == "" || strings.ContainsAny(h.Name, ": \r\n\x00") {
			return "header name"
		}
		if seen[h.Name] = true; unfit(h.Value) {
			return "header value"
		}
	}
	return ""
}

// TestStateKeyHoldsWhatGivesStateItsMeaning changes one field at a time.
func TestStateKeyHoldsWhatGivesStateItsMeaning(t *testing.T) {
	t.Parallel()
	load := func(fields string) *LimitRule {
		set, text := problems(t, "gw-flow-rules.json", `[{"id": "x", "resource": "a", "count": 10, "paramItem": {"parseStrategy": 2, "fieldName": "X-A", "pattern": "p"}`+fields+`}]`, Options{})
		if len(set.Limits) != 1 {
			t.Fatal(text)
		}
		return &set.Limits[0]
	}
	base := load("").StateKey()
	for _, same := range []func(r *LimitRule){
		func(r *LimitRule) { r.Limit, r.Count = 20, "20" },
		func(r *LimitRule) { r.Pos = Position{File: "b"} },
		func(r *LimitRule) { r.Shadow = true },
		func(r *LimitRule) { r.Param.FieldName = "x-a" },
		func(r *LimitRule) { r.MaxKeys = 5 },
		func(r *LimitRule) { r.Lease = time.Hour },
		func(r *LimitRule) { r.Scale = 2 },
		func(r *LimitRule) { r.Response = &BlockResponse{Body: "no"} },
	} {
		r := load("")
		if same(r); r.StateKey() != base {
			t.Errorf("the key of %+v differs", r)
		}
	}
	seen := map[string]bool{base: true}
	for _, other := range []func(r *LimitRule){
		func(r *LimitRule) { r.ID = "y" },
		func(r *LimitRule) { r.Domain = "y" },
		func(r *LimitRule) { r.Resource = "b" },
		func(r *LimitRule) { r.Mode = ModeAPI },
		func(r *LimitRule) { r.Grade = GradeConcurrency },
		func(r *LimitRule) { r.Interval *= 2 },
		func(r *LimitRule) { r.Window = WindowStrict },
		func(r *LimitRule) { r.Window = WindowTokenBucket },
		func(r *LimitRule) { r.Window, r.Scale = WindowTokenBucket, 2 },
		func(r *LimitRule) { r.Window = WindowNone },
		func(r *LimitRule) { r.Behavior = BehaviorQueue },
		func(r *LimitRule) { r.SampleCount = 5 },
		func(r *LimitRule) { r.Param = nil },
		func(r *LimitRule) { r.Param.Source = SourceCookie },
		func(r *LimitRule) { r.Param.FieldName = "X-B" },
		func(r *LimitRule) { r.Param.Pattern = "q" },
		func(r *LimitRule) { r.Param.Match = MatchPrefix },
	} {
		r := load("")
		if other(r); seen[r.StateKey()] {
			t.Errorf("the key of %+v is not its own", r)
		}
		seen[r.StateKey()] = true
	}
}

func TestLongDerivedIDs(t *testing.T) {
	t.Parallel()
	long := func(last string) string {
		return `{"resource": "a", "count": 1, "paramItem": {"parseStrategy": 0, "pattern": "` + strings.Repeat("é", 200) + last + `"}}`
	}
	set, text := problems(t, "gw-flow-rules.json", "["+long("a")+","+long("b")+"]", Options{})
	if len(set.Limits) != 2 {
		t.Fatal(text)
	}
	for _, r := range set.Limits {
		if len(r.ID) != maxDerivedIDBytes {
			t.Errorf("id of %d bytes: %s", len(r.ID), r.ID)
		}
	}
}
