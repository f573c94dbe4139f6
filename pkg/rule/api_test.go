package rule

import (
	"reflect"
	"strings"
	"testing"
)

func TestAPIDefinitionProblems(t *testing.T) {
	t.Parallel()
	item := func(fields string) string { return "[{\"apiName\": \"a\", \"predicateItems\": [\n{" + fields + "}]}]" }
	tests := []struct{ name, data, want string }{
		{"no name", `[{"predicateItems": [{"pattern": "/a"}]}]`, `1:2: error: [0].apiName: is missing: the name that rules give as resource`},
		{"no items", `[{"apiName": "a"}]`, `1:2: error: [0].predicateItems: is missing: the alternatives, any of which makes a request enter the group`},
		{"empty items", `[{"apiName": "a", "predicateItems": []}]`, `1:37: error: [0].predicateItems: no items: no request would ever enter the group; fix: add an item, or remove the definition`},
		{"items are no list", `[{"apiName": "a", "predicateItems": {"pattern": "/a"}}]`, `1:37: error: [0].predicateItems: is a mapping, not a list of predicate items`},
		{"item is no mapping", `[{"apiName": "a", "predicateItems": ["/a"]}]`, `1:38: error: [0].predicateItems[0]: is a string, not a predicate item`},
		{"blank name", `[{"apiName": "", "predicateItems": [{"pattern": "/a"}]}]`, `1:14: error: [0].apiName: is blank`},
		{"defined twice", `[{"apiName": "a", "predicateItems": [{"pattern": "/a"}]}, {"apiName": "a", "predicateItems": [{"pattern": "/b"}]}]`,
			`1:71: error: [1].apiName: the API "a" is defined at gw-api-definitions.json:1:2 already; fix: put all items into one definition, or rename one`},
		{"dashboard fields", `[{"id": 3, "app": "x", "apiName": "a", "predicateItems": [{"pattern": "/a"}]}]`,
			"1:9: warning: [0].id: Sentinel's bookkeeping; ignored\n1:19: warning: [0].app: Sentinel's bookkeeping; ignored"},
		{"unknown field", `[{"apiName": "a", "predicateitems": []}]`, `1:2: error: [0].predicateItems: is missing: the alternatives, any of which makes a request enter the group` + "\n" + `1:19: error: [0]: unknown field "predicateitems"; did you mean "predicateItems"?`},

		{"nothing", item(``), `2:1: error: asks for nothing; fix: add a pattern, host, methods or other`},
		{"blank pattern", item(`"pattern": "", "matchStrategy": 0`), `2:13: error: pattern: is blank, and nothing else is asked for; fix: write /** for any path`},
		{"other: false", item(`"other": false`), `2:1: error: asks for nothing; fix: add a pattern, host, methods or other`},
		{"other", item(`"other": true`), ``},
		{"other and more", item(`"other": true, "pattern": "/a"`), `2:11: error: other: other stands alone in its item: it matches when no item of any other group does; fix: remove the other fields`},
		{"nested group", item(`"items": [{"pattern": "/a"}]`), `2:11: error: items: a group of items within an item is not supported: Sentinel reads such groups and never matches them; fix: write each as an item of its own`},
		{"unknown field of an item", item(`"patern": "/a"`), `2:2: error: unknown field "patern"; did you mean "pattern"?`},
		{"match without pattern", item(`"host": "a", "matchStrategy": 2`), `2:32: warning: matchStrategy: matchStrategy without a pattern means nothing`},
		{"unknown match", item(`"pattern": "/a", "matchStrategy": 3`), `2:36: error: matchStrategy: unknown number 3; there are 0 exact, 1 prefix, 2 regex`},
		{"match by name", item(`"pattern": "/a", "matchStrategy": "Prefix"`), `2:36: error: matchStrategy: unknown value "Prefix"; did you mean "prefix"?`},

		{"exact", item(`"pattern": "/a/b.c/%2F~x"`), ``},
		{"no slash", item(`"pattern": "a"`), `2:13: error: pattern: "a" does not begin with /, as every path does; fix: write "/a"`},
		{"exact with a star", item(`"pattern": "/a/*"`), `2:13: warning: pattern: "/a/*" is compared as it is: matchStrategy exact has no wildcards; fix: write matchStrategy prefix`},
		{"exact with a variable", item(`"pattern": "/a/{id}"`), `2:13: error: pattern: "/a/{id}" never matches: matchStrategy exact has no wildcards, and paths are compared without query; fix: write matchStrategy prefix, or the path alone`},
		{"exact with a query", item(`"pattern": "/a?x=1"`), `2:13: error: pattern: "/a?x=1" never matches: matchStrategy exact has no wildcards, and paths are compared without query; fix: write matchStrategy prefix, or the path alone`},
		{"double slash", item(`"pattern": "/a//b"`), `2:13: error: pattern: "/a//b" never matches: paths are compared in the spelling "/a/b"; fix: write "/a/b"`},
		{"dot segments", item(`"pattern": "/a/./b/../c/.."`), `2:13: error: pattern: "/a/./b/../c/.." never matches: paths are compared in the spelling "/a/"; fix: write "/a/"`},
		{"path parameter", item(`"pattern": "/a;v=1/b"`), `2:13: error: pattern: "/a;v=1/b" never matches: paths are compared in the spelling "/a/b"; fix: write "/a/b"`},
		{"needless escape", item(`"pattern": "/%61%2f"`), `2:13: error: pattern: "/%61%2f" never matches: paths are compared in the spelling "/a%2F"; fix: write "/a%2F"`},
		{"missing escape", item(`"pattern": "/é", "matchStrategy": 1`), `2:13: error: pattern: "/é" never matches: paths are compared in the spelling "/%C3%A9"; fix: write "/%C3%A9"`},
		{"no escape", item(`"pattern": "/%6\u0011"`), `2:13: error: pattern: "/%6\x11" never matches: paths are compared in the spelling "/%256%11"; fix: write "/%256%11"`},
		{"fragment", item(`"pattern": "/a#b", "matchStrategy": 1`), `2:13: error: pattern: "/a#b" never matches: paths are compared in the spelling "/a%23b"; fix: write "/a%23b"`},

		{"Ant", item(`"pattern": "/a/**/b?/*.html/{id}/{n:[0-9]{1,3}}-{m:a/b}/", "matchStrategy": "prefix"`), ``},
		{"Ant without slash", item(`"pattern": "a/**", "matchStrategy": 1`), `2:13: error: pattern: "a/**" does not begin with /, as every path does; fix: write "/a/**"`},
		{"Ant, literal not normal", item(`"pattern": "/é/%61*", "matchStrategy": 1`), `2:13: error: pattern: "/é/%61*" never matches: paths are compared in the spelling "/%C3%A9/a*"; fix: write "/%C3%A9/a*"`},
		{"Ant, empty segment", item(`"pattern": "/a//**", "matchStrategy": 1`), `2:13: error: pattern: "/a//**" never matches: no path has a segment "" when it is compared; fix: remove that segment`},
		{"Ant, dot segment", item(`"pattern": "/../*", "matchStrategy": 1`), `2:13: error: pattern: "/../*" never matches: no path has a segment ".." when it is compared; fix: remove that segment`},
		{"Ant, open variable", item(`"pattern": "/*/{id", "matchStrategy": 1`), `2:13: error: pattern: "/*/{id" has a { or } without its counterpart`},
		{"Ant, closed twice", item(`"pattern": "/{a}}", "matchStrategy": 1`), `2:13: error: pattern: "/{a}}" has a { or } without its counterpart`},
		{"Ant, bad expression", item(`"pattern": "/{a:[0-9}", "matchStrategy": 1`), `2:13: error: pattern: "[0-9" is no regular expression: missing closing ]: [0-9`},
		{"regex", item(`"pattern": "/a/[0-9]+", "matchStrategy": 2`), ``},
		{"bad regex", item(`"pattern": "/a(", "matchStrategy": 2`), `2:13: error: pattern: "/a(" is no regular expression: missing closing ): /a(`},
		{"Ant as regex", item(`"pattern": "/a/**", "matchStrategy": 2`), `2:13: error: pattern: "/a/**" is no regular expression: invalid nested repetition operator: **; fix: it looks like a glob: write .* for any characters`},
		{"glob as regex", item(`"pattern": "/a/*", "matchStrategy": 2`), `2:13: warning: pattern: "/a/*" looks like a glob: as a regular expression, * repeats the "/" before it; fix: write .* for any characters`},

		{"hosts", `[{"apiName": "a", "predicateItems": [{"host": "a-1.b_c"}, {"host": "*.A.com."}, {"host": "10.0.0.1"}, {"host": "[2001:DB8::1]"}]}]`, ``},
		{"port", item(`"host": "a.com:80"`), `2:10: error: host: "a.com:80" has a port; hosts are compared without; fix: write "a.com"`},
		{"port behind IPv6", item(`"host": "[2001:0DB8::1]:80"`), `2:10: error: host: "[2001:0DB8::1]:80" has a port; hosts are compared without; fix: write "[2001:db8::1]"`},
		{"open bracket", item(`"host": "[2001:db8::1"`), `2:10: error: host: "[2001:db8::1" is no host`},
		{"URL", item(`"host": "https://a.com"`), `2:10: error: host: "https://a.com" is a URL, not a host; fix: write "a.com"`},
		{"star", item(`"host": "*"`), `2:10: error: host: "*" is no host; fix: leave host out to match any`},
		{"star inside", item(`"host": "a.*.com"`), `2:10: error: host: "a.*.com" is no host: * may only stand for the first labels, as in *.example.com`},
		{"empty label", item(`"host": "a..com"`), `2:10: error: host: "a..com" is no host`},
		{"leading dot", item(`"host": ".com"`), `2:10: error: host: ".com" is no host`},
		{"port and path in host", item(`"host": "A.com:80/x"`), `2:10: error: host: "A.com:80/x" has a port; hosts are compared without; fix: write "a.com"`},
		{"URL with port", item(`"host": "http://a.com:80/x"`), `2:10: error: host: "http://a.com:80/x" is a URL, not a host; fix: write "a.com"`},
		{"path in host", item(`"host": "a.com/x"`), `2:10: error: host: "a.com/x" has a path, a host has none; fix: write "a.com"`},
		{"beyond ASCII", item(`"host": "é.com"`), `2:10: error: host: "é.com" is not ASCII, as hosts are on the wire; fix: write it in its xn-- form`},
		{"blank host", item(`"host": "", "pattern": "/a"`), `2:10: error: host: "" is no host; fix: leave host out to match any`},

		{"one method", item(`"methods": "get"`), `2:13: error: methods: is a string, not a list of methods; fix: write ["GET"]`},
		{"methods by number", item(`"methods": 5`), `2:13: error: methods: is a number, not a list of methods`},
		{"no methods", item(`"methods": []`), `2:13: error: methods: is empty: no request would ever match; fix: leave it out to match any method`},
		{"bad methods", item(`"methods": ["G T", 5]`), `2:14: error: methods[0]: "G T" is no request method` + "\n" + `2:21: error: methods[1]: is a number, not a string; fix: write "5"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got := bothForms(t, "gw-api-definitions", tt.data, Options{})
			got = strings.NewReplacer("[0].predicateItems[0].", "", "[0].predicateItems[0]: asks", "asks", "[0].predicateItems[0]: unknown", "unknown").Replace(got)
			want := strings.ReplaceAll(tt.want, "gw-api-definitions.json:", "")
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestAPIDefinitionMeaning(t *testing.T) {
	t.Parallel()
	set, text := problems(t, "b.yaml", `
domain: shop
apiDefinitions:
- apiName: orders
  predicateItems:
  - {pattern: /orders/**, matchStrategy: prefix, host: '*.Example.com.', methods: [get, POST, GET]}
  - {pattern: /o, host: '2001:0DB8:0::1'}
- apiName: rest
  predicateItems:
  - other: true
`, Options{})
	at := func(line, column int) Position { return Position{File: "b.yaml", Line: line, Column: column} }
	want := []APIDefinition{
		{Pos: at(4, 3), Domain: "shop", Name: "orders", Items: []PredicateItem{
			{Pos: at(6, 5), Pattern: "/orders/**", Match: PathPrefix, Host: "*.example.com", Methods: []string{"GET", "POST"}},
			{Pos: at(7, 5), Pattern: "/o", Host: "[2001:db8::1]"},
		}},
		{Pos: at(8, 3), Domain: "shop", Name: "rest", Items: []PredicateItem{{Pos: at(10, 5), Other: true}}},
	}
	if !reflect.DeepEqual(set.APIs, want) {
		t.Errorf("got\n%+v\nwant\n%+v\n%s", set.APIs, want, text)
	}
	if !reflect.DeepEqual(set.Claimed, []string{"shop"}) {
		t.Errorf("claimed %q", set.Claimed)
	}
}

func TestGroupReferences(t *testing.T) {
	t.Parallel()
	set, ps := Load([]File{
		{"gw-api-definitions.json", []byte(`[{"apiName": "orders", "predicateItems": [{"pattern": "/o"}]}, {"apiName": "unused", "predicateItems": [{"pattern": "/u"}]}]`)},
		{"gw-flow-rules.json", []byte("[{\"resource\": \"orders\", \"resourceMode\": 1, \"count\": 1},\n{\"resource\": \"order\", \"resourceMode\": 1, \"count\": 1},\n{\"resource\": \"orders\", \"count\": 1}]")},
		{"shop.yaml", []byte("domain: shop\ngatewayFlowRules:\n- {resource: orders, resourceMode: 1, count: 1}\n")},
	}, Options{})
	want := []string{
		`gw-flow-rules.json:2:14: warning: [1].resource: no API group "order" is defined: the rule never applies; fix: write "orders", or define it in a file named …gw-api-definitions`,
		`gw-flow-rules.json:3:14: warning: [2].resource: "orders" is an API group as well, but resourceMode is route: the rule is for the route of that name; fix: write "resourceMode": "api" if the group is meant`,
		`shop.yaml:3:14: warning: gatewayFlowRules[0].resource: no API group "orders" is defined: the rule never applies; fix: define it in a file named …gw-api-definitions`,
	}
	var got []string
	for _, p := range ps {
		got = append(got, p.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(set.Limits) != 4 || len(set.APIs) != 2 || ps.Err() != nil {
		t.Errorf("warnings kept rules from being loaded: %d rules, %d groups, %v", len(set.Limits), len(set.APIs), ps.Err())
	}
	if len(ps.Warnings()) != len(want) || len(ps.Errors()) != 0 {
		t.Errorf("%d warnings and %d errors, want %d and 0", len(ps.Warnings()), len(ps.Errors()), len(want))
	}
}
