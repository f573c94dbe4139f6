package rule

import (
	"reflect"
	"testing"
)

func TestAuthorityProblems(t *testing.T) {
	t.Parallel()
	const open = `warning: requests without an origin pass this white list, as in Sentinel; fix: write onMissing "block" to refuse them`
	tests := []struct{ name, fields, want string }{
		{"white by default", `"limitApp": "a"`, open},
		{"white by number", `"limitApp": "a", "strategy": 0`, open},
		{"white that asks for an origin", `"limitApp": "a", "strategy": "white", "onMissing": "block"`, ``},
		{"black", `"limitApp": "a,b", "strategy": 1`, ``},
		{"black by name", `"limitApp": "a,b", "strategy": "black", "onMissing": "block"`, ``},
		{"unknown strategy, which Sentinel takes and never refuses by", `"limitApp": "a", "strategy": 2`, `error: strategy: unknown number 2; there are 0 white, 1 black`},
		{"as Sentinel's dashboard writes it", `"limitApp": "a", "strategy": 1, "id": 7, "app": "x", "ip": "1.1.1.1", "port": 8719, "gmtCreate": 1, "gmtModified": 2, "regex": false`,
			"warning: id: Sentinel's bookkeeping; ignored\nwarning: app: Sentinel's bookkeeping; ignored\nwarning: ip: Sentinel's bookkeeping; ignored\nwarning: port: Sentinel's bookkeeping; ignored\nwarning: gmtCreate: Sentinel's bookkeeping; ignored\nwarning: gmtModified: Sentinel's bookkeeping; ignored\nwarning: regex: Sentinel's bookkeeping; ignored"},
		{"no origins", `"strategy": 1`, `error: limitApp: is missing: the origins, with commas between them`},
		{"a blank list", `"limitApp": " ", "strategy": 1`, `error: limitApp: " " holds an empty name; fix: write names with commas between them`},
		{"an empty name", `"limitApp": "a,,b", "strategy": 1`, `error: limitApp: "a,,b" holds an empty name; fix: write names with commas between them`},
		{"spaces", `"limitApp": "a, b", "strategy": 1`, `warning: limitApp: the spaces around "b" are left out; Sentinel would take them for part of the name`},
		{"a control character", `"limitApp": "a\u0001", "strategy": 1`, `error: limitApp: holds a control character`},
		{"a value for what is missing", `"limitApp": "a", "strategy": 1, "onMissing": "limit"`, `error: onMissing: limit is for parameters; fix: write skip or block`},
		{"by expression", `"limitApp": "a", "strategy": 1, "regex": true`, `error: regex: a resource by regular expression is not supported by this version; fix: write a rule for each resource, or for an API group`},
		{"a record of the dashboard", `"app": "shop", "rule": {"resource": "a", "limitApp": "a", "strategy": 1}`, `error: rule: the rule is inside the record that Sentinel's dashboard keeps of it; fix: write what stands under rule in the record's place`},
		{"no record", `"limitApp": "a", "strategy": 1, "rule": 7`, `error: rule: is a number, not a rule; fix: remove it`},
		{"unknown field", `"origins": "a"`, `error: limitApp: is missing: the origins, with commas between them` + "\n" + `error: unknown field "origins"; did you mean "limitApp"?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "r", ` + tt.fields + `}]`
			bothForms(t, "authority-rules", data, Options{})
			_, ps := Load([]File{{"authority-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0]"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestAuthorityRules(t *testing.T) {
	t.Parallel()
	set, ps := Load([]File{
		{"authority-rules.json", []byte(`[{"resource": "r/1", "limitApp": "b,a, b"},
			{"id": "mine", "resource": "g", "resourceMode": "api", "limitApp": "x", "strategy": "black", "onMissing": "block", "shadow": true}]`)},
		{"b.yaml", []byte("domain: shop\nauthorityRules: [{resource: r, limitApp: a, strategy: 1}]\n")},
	}, Options{})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	want := []AuthorityRule{
		{Pos: Position{"authority-rules.json", 1, 2}, ID: "authority/route/r%2F1", DerivedID: true, Resource: "r/1", Origins: []string{"a", "b"}},
		{Pos: Position{"authority-rules.json", 2, 4}, ID: "mine", Resource: "g", Mode: ModeAPI, Strategy: AuthorityBlack, Origins: []string{"x"}, OnMissing: MissingBlock, Shadow: true},
		{Pos: Position{"b.yaml", 2, 18}, Domain: "shop", ID: "shop/authority/route/r", DerivedID: true, Resource: "r", Strategy: AuthorityBlack, Origins: []string{"a"}},
	}
	if !reflect.DeepEqual(set.Authority, want) {
		t.Errorf("got\n%+v\nwant\n%+v", set.Authority, want)
	}
}

// Sentinel keeps the first of two rules for a resource, and says nothing.
func TestOneAuthorityRuleForAResource(t *testing.T) {
	t.Parallel()
	_, got := problems(t, "authority-rules.json", `[{"resource": "r", "limitApp": "a", "strategy": 1}, {"resource": "r", "limitApp": "b", "strategy": 1}]`, Options{})
	if want := `authority-rules.json:1:53: error: [1]: says who may use the same as the rule at authority-rules.json:1:2, whose id is authority/route/r as well; fix: give one of the two an id of its own, or remove one`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
