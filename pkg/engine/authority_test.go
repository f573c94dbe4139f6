package engine_test

import (
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// load reads rule files, by name, that hold no mistakes.
func load(t testing.TB, files map[string]string) rule.Set {
	t.Helper()
	var in []rule.File
	for name, data := range files {
		in = append(in, rule.File{Name: name, Data: []byte(data)})
	}
	set, problems := rule.Load(in, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

// TestAuthority decides by origin, the last of which are Sentinel's answers but where the case says otherwise.
func TestAuthority(t *testing.T) {
	t.Parallel()
	const white, black = `"limitApp": "appA, appB"`, `"limitApp": "appB,appA", "strategy": 1`
	const block = `, "onMissing": "block"`
	none, refused, missing := engine.ReasonNone, engine.ReasonAuthority, engine.ReasonMissingParam
	for _, tt := range []struct {
		name, rule string
		want       map[string]engine.Reason
	}{
		{"white", white, map[string]engine.Reason{"appA": none, "appB": none, "appC": refused, "app": refused, "appa": refused, "": none, " ": none, " appB": refused, "appA,appB": refused}},
		{"white, for those with an origin", white + block, map[string]engine.Reason{"appA": none, "appC": refused, "": missing, " \t": missing}},
		{"black", black, map[string]engine.Reason{"appA": refused, "appB": refused, "appC": none, "": none, " appB\t": refused, "appBappB": none}},
		{"black, for those with an origin", black + block, map[string]engine.Reason{"appA": refused, "appC": none, "": missing}},
	} {
		e := newEngine(t, load(t, map[string]string{"authority-rules.json": `[{"id": "a", "resource": "R", ` + tt.rule + `}]`}))
		for origin, want := range tt.want {
			var c engine.Call
			code := decide(e, start, &c, from(origin, "R"))
			v := &c.Verdicts[0]
			if v.Reason != want || (code == engine.Block) != (want != none) || !v.Matched || v.Limit != 0 || v.Reset != 0 {
				t.Errorf("%s: origin %q: %v by %v, limit %d, retry after %v; want %v", tt.name, origin, code, v.Reason, v.Limit, v.Reset, want)
			}
			if named := v.Rule != nil && v.Rule.ID == "a"; named != (want != none) {
				t.Errorf("%s: origin %q: decided by %v", tt.name, origin, v.Rule)
			}
		}
	}
}

// TestAuthorityComesFirst: it is named before rules that would refuse too, and then these charge nothing.
func TestAuthorityComesFirst(t *testing.T) {
	t.Parallel()
	e := newEngine(t, load(t, map[string]string{
		"gw-flow-rules.json":   `[{"id": "none", "resource": "R", "count": 0}, {"id": "two", "resource": "S", "count": 2}]`,
		"authority-rules.json": `[{"id": "a", "resource": "R", "limitApp": "x", "strategy": 1}, {"id": "b", "resource": "S", "limitApp": "x", "strategy": 1}]`,
	}))
	var c engine.Call
	if decide(e, start, &c, from("x", "R")); c.Verdicts[0].Rule.ID != "a" {
		t.Errorf("decided by %s", c.Verdicts[0].Rule.ID)
	}
	if got := passes(e, start, 5, from("x", "S")) + passes(e, start, 5, from("y", "S")); got != 2 {
		t.Errorf("%d passed, want 2", got)
	}
	var ids []string
	for _, r := range e.Rules() {
		ids = append(ids, r.Rule.ID)
	}
	if got := strings.Join(ids, " "); got != "a b none two" {
		t.Errorf("rules are in the order %s", got)
	}
}

// TestAuthorityOfGroups: where nobody can say whether a request is one of the group's, only those who may use it pass.
func TestAuthorityOfGroups(t *testing.T) {
	t.Parallel()
	e := newEngine(t, load(t, map[string]string{
		"authority-rules.json":    `[{"resource": "g", "resourceMode": "api", "limitApp": "a"}]`,
		"gw-api-definitions.json": `[{"apiName": "g", "predicateItems": [{"pattern": "/g"}]}]`,
	}))
	for _, tt := range []struct {
		origin, path string
		large        bool
		want         engine.Reason
	}{
		{"b", "/g", false, engine.ReasonAuthority},
		{"b", "/h", false, engine.ReasonNone},
		{"a", "/g", false, engine.ReasonNone},
		{"b", "", true, engine.ReasonInputTooLarge},
		{"a", "", true, engine.ReasonNone},
	} {
		q := from(tt.origin, "r")
		q.Path, q.PathTooLarge = tt.path, tt.large
		var c engine.Call
		if decide(e, start, &c, q); c.Verdicts[0].Reason != tt.want {
			t.Errorf("%+v: %v", tt, c.Verdicts[0].Reason)
		}
	}
}

// TestAuthorityCounts: in shadow, peeking and giving back too.
func TestAuthorityCounts(t *testing.T) {
	t.Parallel()
	e := newEngine(t, load(t, map[string]string{"authority-rules.json": `[{"resource": "R", "limitApp": "x", "strategy": 1, "onMissing": "block"},
		{"id": "shadow", "resource": "S", "limitApp": "x", "strategy": 1, "shadow": true}]`}))
	var c engine.Call
	decide(e, start, &c, from("x", "R"))
	decide(e, start, &c, from("y", "R"))
	decide(e, start, &c, from("", "R"))
	decide(e, start, &c, from("x", "S"))
	if c.Overall != engine.Pass || c.Verdicts[0].ShadowRule == nil {
		t.Error("a rule in shadow refused, or was not named")
	}
	for _, kind := range []engine.Kind{engine.Peek, engine.Refund} {
		q := from("x", "R")
		q.Kind = kind
		if code := decide(e, start, &c, q); (code == engine.Block) != (kind == engine.Peek) {
			t.Errorf("kind %d: %v", kind, code)
		}
	}
	r, s := e.Rules()[0].Rule, e.Rules()[1].Rule
	if r.Passed.Load() != 1 || r.Blocked.Load() != 2 || r.Missing.Load() != 1 || s.ShadowBlock.Load() != 1 {
		t.Errorf("passed %d blocked %d missing %d, shadow %d", r.Passed.Load(), r.Blocked.Load(), r.Missing.Load(), s.ShadowBlock.Load())
	}
}
