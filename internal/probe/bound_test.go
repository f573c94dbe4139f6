package probe

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/internal/ruleview"
	"github.com/sidecard/sidecard/pkg/rule"
)

// mostWithin is what counting every stretch of time gives that begins when a call was sent.
func TestMostWithin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var shots []shot
		times := rapid.Int64Range(0, 40)
		for range rapid.IntRange(0, 40).Draw(t, "calls") {
			sent := times.Draw(t, "sent")
			shots = append(shots, shot{time.Duration(sent), time.Duration(sent + rapid.Int64Range(0, 8).Draw(t, "took"))})
		}
		length := time.Duration(rapid.Int64Range(0, 50).Draw(t, "length"))
		want := 0
		for _, first := range shots {
			n := 0
			for _, s := range shots {
				if s.sent >= first.sent && s.answered <= first.sent+length {
					n++
				}
			}
			want = max(want, n)
		}
		if got := mostWithin(shots, length); got != want {
			t.Fatalf("got %d, want %d within %d of %v", got, want, length, shots)
		}
	})
}

// definition returns what the admin API has of a rule.
func definition(t *testing.T, text string) json.RawMessage {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte("[" + text + "]")}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(ruleview.OfLimit(&set.Limits[0]))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRuleOf(t *testing.T) {
	t.Parallel()
	exceptions := `{"resource": "r", "count": 5, "paramItem": {"parseStrategy": "client_ip"}}`
	for _, tc := range []struct {
		name, text string
		rule       explain.Rule
		want       Rule
		ok         bool
	}{
		{"a window", `{"resource": "r", "count": 5, "intervalSec": 2}`, explain.Rule{ID: "a", Kind: "limit"},
			Rule{id: "a", limit: 5, interval: 2 * time.Second, bound: ruleview.Bound{Most: 10, IntervalSec: 2}, within: 2 * time.Second}, true},
		{"a strict one", `{"resource": "r", "count": 5, "window": "strict"}`, explain.Rule{ID: "a", Kind: "limit"},
			Rule{id: "a", limit: 5, interval: time.Second, bound: ruleview.Bound{Most: 5, IntervalSec: 1}, within: time.Second}, true},
		{"calls under way", `{"resource": "r", "count": 5, "grade": 0, "leaseMs": 7000}`, explain.Rule{ID: "a", Kind: "limit"},
			Rule{id: "a", limit: 5, bound: ruleview.Bound{Most: 5}, within: 7 * time.Second}, true},
		{"calls under way of a value", `{"resource": "r", "count": 5, "grade": 0, "leaseMs": 7000, "paramItem": {"parseStrategy": "client_ip"}}`, explain.Rule{ID: "a", Kind: "limit"},
			Rule{id: "a", limit: 5, bound: ruleview.Bound{Most: 5}, within: 7 * time.Second, once: true}, true},
		{"in shadow", `{"resource": "r", "count": 5}`, explain.Rule{Kind: "limit", Shadow: true}, Rule{}, false},
		{"skipped", `{"resource": "r", "count": 5}`, explain.Rule{Kind: "limit", Skipped: "pattern"}, Rule{}, false},
		{"a breaker", `{"resource": "r", "count": 5}`, explain.Rule{Kind: "breaker"}, Rule{}, false},
		{"unlimited", `{"resource": "r", "count": 3000000000}`, explain.Rule{Kind: "limit"}, Rule{}, false},
		{"a value whose own limit has gone", exceptions, explain.Rule{Kind: "limit", Param: &explain.Param{Value: "x", Special: true}}, Rule{}, false},
	} {
		got, ok := RuleOf(&tc.rule, definition(t, tc.text))
		if got != tc.want || ok != tc.ok {
			t.Errorf("%s: got %+v, %v, want %+v", tc.name, got, ok, tc.want)
		}
	}
	limit := int64(2)
	text, err := json.Marshal(ruleview.Limit{Limit: &limit, IntervalSec: 1, Bound: &ruleview.Bound{Most: 4, IntervalSec: 1},
		Exceptions: []ruleview.Exception{{Value: "x", Limit: &limit, Bound: &ruleview.Bound{Most: 40, IntervalSec: 1}}, {Value: "free"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := RuleOf(&explain.Rule{Kind: "limit", Param: &explain.Param{Value: "x", Special: true}}, text); !ok || got.bound.Most != 40 {
		t.Errorf("a value of its own limit: got %+v, %v", got, ok)
	}
	if got, ok := RuleOf(&explain.Rule{Kind: "limit", Param: &explain.Param{Value: "free", Special: true}}, text); ok {
		t.Errorf("a value without a limit: got %+v", got)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	r := Rule{bound: ruleview.Bound{Most: 4, IntervalSec: 1}, within: time.Second}
	shots := []shot{{0, 1}, {0, 2}, {5, 1e9}}
	for hits, held := range map[int64]bool{1: true, 2: false, 1<<31 - 1: false} {
		if got := r.judge(shots, hits); got.Held != held || got.Passed < 3 {
			t.Errorf("%d hits: got %+v", hits, got)
		}
	}
	r.once = true
	if got := r.judge(shots, 5); !got.Held || got.Passed != 3 {
		t.Errorf("calls that take one each: got %+v", got)
	}
}
