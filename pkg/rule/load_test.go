package rule

import (
	"strings"
	"testing"
)

// problems loads one file and returns its problems, one a line.
func problems(t *testing.T, name, data string, o Options) (Set, string) {
	t.Helper()
	set, ps := Load([]File{{Name: name, Data: []byte(data)}}, o)
	var lines []string
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return set, strings.Join(lines, "\n")
}

func TestFileProblems(t *testing.T) {
	t.Parallel()
	const nothing = `, which is not taken for "no rules"; fix: write [] to remove all its rules`
	tests := []struct{ name, file, data, want string }{
		{"empty json", "gw-flow-rules.json", "", `gw-flow-rules.json:1:1: error: the file is empty` + nothing},
		{"blank yaml", "gw-flow-rules.yaml", " \n\n", `gw-flow-rules.yaml:1:1: error: the file is empty` + nothing},
		{"only a comment", "gw-flow-rules.yaml", "# later\n", `gw-flow-rules.yaml:1:1: error: the file holds nothing` + nothing},
		{"null json", "gw-flow-rules.json", "null", `gw-flow-rules.json:1:1: error: the file holds nothing` + nothing},
		{"null yaml", "gw-flow-rules.yaml", "~\n", `gw-flow-rules.yaml:1:1: error: the file holds nothing` + nothing},
		{"null list in a bundle", "b.yaml", "gatewayFlowRules:\n", `b.yaml:1:1: error: gatewayFlowRules: is null` + nothing},
		{"bundle without a list", "b.yaml", "domain: shop\n", `b.yaml:1:1: error: holds no list of rules, which is not taken for "no rules"; fix: write gatewayFlowRules: [] to remove all its rules`},
		{"empty list", "gw-flow-rules.json", "[]", ""},
		{"empty list in a bundle", "b.json", `{"gatewayFlowRules": []}`, ""},
		{"byte order mark", "gw-flow-rules.json", "\ufeff[]", ""},
		{"byte order mark in yaml", "gw-flow-rules.yaml", "\ufeff[]\n", ""},

		{"unknown extension", "gw-flow-rules.toml", "[]", `gw-flow-rules.toml: error: not a rule file by its name; fix: end it in .json, .yaml or .yml`},
		{"utf-16", "gw-flow-rules.json", "\xff\xfe[\x00]\x00", `gw-flow-rules.json:1:1: error: is UTF-16; fix: save it as UTF-8`},
		{"latin-1", "gw-flow-rules.json", "[\n \"\xe9\"]", `gw-flow-rules.json:2:3: error: a byte that is no UTF-8; fix: save it as UTF-8`},
		{"list in a file of no kind", "orders.json", `[{"resource": "a"}]`, `orders.json:1:1: error: is a list, but its name does not say of what; fix: end the file's name in gw-flow-rules or gw-api-definitions, or put the list under a key such as gatewayFlowRules`},
		{"list that tells its kind", "orders.json", `[{"apiName": "a"}]`, `orders.json:1:1: error: is a list, but its name does not say of what; fix: its first entry looks like an API definition: end the file's name in gw-api-definitions, or put the list under the key apiDefinitions`},
		{"single rule in a bundle", "orders.yaml", "resource: a\nintervalSec: 1\n", `orders.yaml:1:1: error: looks like a gateway flow rule by itself (it has intervalSec); fix: put it in a list, in a file whose name ends in gw-flow-rules`},
		{"single rule", "gw-flow-rules.yaml", "resource: a\nintervalSec: 1\n", `gw-flow-rules.yaml:1:1: error: is a mapping, not a list, as the name …gw-flow-rules asks for; fix: put the rule in [ ]`},
		{"bundle under a kind's name", "gw-flow-rules.yaml", "gatewayFlowRules: []\n", `gw-flow-rules.yaml:1:1: error: is a mapping, not a list, as the name …gw-flow-rules asks for; fix: give the file a name that is no kind of rules, such as rules.yaml, to make it a bundle`},
		{"single rule of few fields", "flow-rules.json", `{"resource": "a", "count": 1}`, `flow-rules.json:1:1: error: is a mapping, not a list, as the name …flow-rules asks for; fix: put the rule in [ ]`},
		{"a list as a text", "flow-rules.json", `"[{\"resource\": \"a\"}]"`, `flow-rules.json:1:1: error: is a string, not a list, as the name …flow-rules asks for; fix: write the list itself, without quotes around it`},
		{"Spring configuration", "application.yml", "spring:\n  cloud: {}\n", `application.yml:1:1: error: looks like the configuration of a Spring application; fix: give the rules themselves: the file or the text that its data sources name`},
		{"a number", "gw-flow-rules.yaml", "5\n", `gw-flow-rules.yaml:1:1: error: is a number, not a list, as the name …gw-flow-rules asks for`},
		{"a number for a bundle", "b.yaml", "5\n", `b.yaml:1:1: error: is a number, not a bundle`},
		{"unknown key in a bundle", "b.yaml", "gatewayFlowRule: []\n", "b.yaml:1:1: error: unknown field \"gatewayFlowRule\"; did you mean \"gatewayFlowRules\"?\n" +
			`b.yaml:1:1: error: holds no list of rules, which is not taken for "no rules"; fix: write gatewayFlowRules: [] to remove all its rules`},
		{"list of a bundle is none", "b.yaml", "gatewayFlowRules: {}\n", `b.yaml:1:19: error: gatewayFlowRules: is a mapping, not a list`},
		{"bad param codes", "b.yaml", "paramCodes: url_first\napiDefinitions: []\n", `b.yaml:1:13: error: paramCodes: unknown value "url_first"; did you mean "url-first"?`},
		{"param codes by number", "b.yaml", "paramCodes: 1\napiDefinitions: []\n", `b.yaml:1:13: error: paramCodes: is 1; there are sentinel, url-first`},
		{"blank domain", "b.yaml", "domain: ' '\napiDefinitions: []\n", `b.yaml:1:9: error: domain: is blank`},

		{"envoyproxy/ratelimit", "config.yaml", "domain: shop\ndescriptors:\n- key: a\n  rate_limit: {unit: second, requests_per_unit: 1}\n",
			`config.yaml:1:1: error: looks like an envoyproxy/ratelimit configuration (domain, descriptors), which this version does not support; fix: write gateway flow rules`},
		{"Sentinel's RLS", "config.yaml", "domain: shop\ndescriptors:\n- resources: [{key: a, value: b}]\n  count: 1\n",
			`config.yaml:1:1: error: looks like a rule file of Sentinel's Envoy rate limit server (domain, descriptors with resources), which this version does not support; fix: write gateway flow rules`},
		{"dashboard reply", "gw-flow-rules.json", `{"success": true, "code": 0, "data": []}`, `gw-flow-rules.json:1:1: error: looks like a reply of Sentinel's dashboard; fix: keep only the list under data`},
		{"ConfigMap", "cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n",
			`cm.yaml:1:1: error: looks like a Kubernetes manifest; fix: give the rule file itself: of a ConfigMap, what stands under one key of data`},
		{"Envoy bootstrap", "envoy.yaml", "static_resources: {}\n", `envoy.yaml:1:1: error: looks like an Envoy configuration; fix: give a rule file`},

		{"flow rules", "shop-flow-rules.json", `[]`, ``},
		{"gateway rules in a flow file", "shop-flow-rules.json", `[{"resource": "a", "paramItem": {}}]`,
			`shop-flow-rules.json:1:2: error: [0]: looks like a gateway flow rule (it has paramItem), not a flow rule; fix: move it to a file named …gw-flow-rules`},
		{"an export of gateway rules in a flow file", "shop-flow-rules.json", `[{"resource": "a", "resourceMode": 0, "grade": 1, "count": 10, "intervalSec": 1, "controlBehavior": 0, "burst": 0}]`,
			`shop-flow-rules.json:1:2: error: [0]: looks like a gateway flow rule (it has resourceMode, intervalSec, burst), not a flow rule; fix: move it to a file named …gw-flow-rules, or write resourceMode by name if a flow rule is meant`},
		{"a degrade rule in a flow file", "shop-flow-rules.json", `[{"resource": "a", "count": 10, "timeWindow": 1}]`,
			`shop-flow-rules.json:1:2: error: [0]: looks like a degrade rule (it has timeWindow), not a flow rule; fix: move it to a file named …degrade-rules`},
		{"param-flow rules", "param-flow-rules.json", `[]`, ``},
		{"param rules", "a-param-rules.yaml", "[]\n", ``},
		{"degrade rules", "shop-degrade-rules.json", `[]`, ``},
		{"system rules", "system-rules.json", `[]`, ``},
		{"authority rules", "authority-rules.json", `[]`, ``},
		{"other kinds in a bundle", "b.yaml", "flowRules: []\nparamFlowRules: []\nsystemRules: []\nauthorityRules: []\n", ``},

		{"flow rule in a gateway file", "gw-flow-rules.json", `[{"resource": "a", "count": 1, "limitApp": "default", "strategy": 0}]`,
			`gw-flow-rules.json:1:2: error: [0]: looks like a flow rule (it has limitApp, strategy), not a gateway flow rule; fix: move it to a file named …flow-rules`},
		{"cluster flow rule in a gateway file", "gw-flow-rules.json", `[{"resource": "a", "count": 1, "clusterMode": true}]`,
			`gw-flow-rules.json:1:47: error: [0].clusterMode: cluster mode is not supported: each sidecard counts for itself; fix: write false, and divide count by the number of instances`},
		{"a behaviour by another spelling", "gw-flow-rules.json", `[{"resource": "a", "count": 5, "controlBehavior": "warmUp"}]`,
			`gw-flow-rules.json:1:51: error: [0].controlBehavior: unknown value "warmUp"; did you mean "warm_up"?`},
		{"one name of a flow rule in a gateway rule", "gw-flow-rules.json", `[{"resource": "a", "count": 5, "controlBehavior": 2, "maxQueueingTimeMs": 500}]`,
			`gw-flow-rules.json:1:54: error: [0]: unknown field "maxQueueingTimeMs"; did you mean "maxQueueingTimeoutMs"?`},
		{"one name of a hot-parameter rule in a gateway rule", "gw-flow-rules.json", `[{"resource": "a", "count": 1, "burstCount": 5}]`,
			`gw-flow-rules.json:1:32: error: [0]: unknown field "burstCount"; did you mean "burst"?`},
		{"not in a cluster", "gw-flow-rules.json", `[{"resource": "a", "count": 1, "clusterMode": false}]`,
			`gw-flow-rules.json:1:47: warning: [0].clusterMode: Sentinel's bookkeeping; ignored`},
		{"merge conflict", "gw-flow-rules.json", "[\n<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n]",
			`gw-flow-rules.json:2:1: error: a merge conflict marker; fix: resolve the conflict`},
		{"merge conflict in YAML", "gw-flow-rules.yaml", "<<<<<<< HEAD\n- a: 1\n=======\n- b: 1\n>>>>>>> x\n",
			`gw-flow-rules.yaml:1:1: error: a merge conflict marker; fix: resolve the conflict`},
		{"template", "gw-flow-rules.json", `[{"count": {{ .Values.x }}}]`,
			`gw-flow-rules.json:1:15: error: template text that was not filled in; fix: give the file that the template becomes`},
		{"template in YAML", "gw-flow-rules.yaml", "- count: {{ .Values.x }}\n",
			`gw-flow-rules.yaml:1:11: error: template text that was not filled in; fix: give the file that the template becomes`},
		{"template in quotes is no template", "gw-flow-rules.json", `["{{", 1 2]`,
			`gw-flow-rules.json:1:10: error: invalid character '2' after array element; fix: a comma may be missing before it`},
		{"tab in YAML", "gw-flow-rules.yaml", "- resource: a\n\tcount: 1\n",
			`gw-flow-rules.yaml:2:1: error: a tab in the indentation; fix: indent with spaces`},
		{"no decimal in YAML", "gw-flow-rules.yaml", "- {resource: a, count: 0x10}\n- {resource: b, count: .nan}\n- {resource: c, count: 1_000}\n",
			`gw-flow-rules.yaml:1:24: error: [0].count: 0x10 is not a plain decimal number; fix: write 16
gw-flow-rules.yaml:2:24: error: [1].count: .nan is not a plain decimal number; fix: write a number
gw-flow-rules.yaml:3:24: error: [2].count: 1_000 is not a plain decimal number; fix: write 1000`},
		{"an alias of a rule", "gw-flow-rules.yaml", "- &a {resource: a, count: 1}\n- *a\n",
			`gw-flow-rules.yaml:2:3: error: [1]: limits the same as the rule at gw-flow-rules.yaml:1:6, whose id is gw-flow/route/a/qps/reject/1s/aligned as well; fix: give one of the two an id of its own, or remove one`},
		{"an id that another derives", "gw-flow-rules.json", `[{"id": "gw-flow/route/b/qps/reject/1s/aligned", "resource": "a", "count": 1}, {"resource": "b", "count": 1}]`,
			`gw-flow-rules.json:1:80: error: [1]: its id would be gw-flow/route/b/qps/reject/1s/aligned, which is written at the rule at gw-flow-rules.json:1:2; fix: give one of the two another id`},
		{"authority rule in a gateway file", "gw-flow-rules.json", `[{"resource": "a", "limitApp": "x,y", "strategy": 0}]`,
			`gw-flow-rules.json:1:2: error: [0]: looks like an authority rule (it has limitApp, strategy), not a gateway flow rule; fix: move it to a file named …authority-rules`},
		{"degrade rule in a gateway file", "gw-flow-rules.json", `[{"resource": "a", "count": 1, "timeWindow": 3}]`,
			`gw-flow-rules.json:1:2: error: [0]: looks like a degrade rule (it has timeWindow), not a gateway flow rule; fix: move it to a file named …degrade-rules`},
		{"API definition in a gateway file", "gw-flow-rules.json", `[{"apiName": "a"}]`,
			`gw-flow-rules.json:1:2: error: [0]: looks like an API definition (it has apiName), not a gateway flow rule; fix: move it to a file named …gw-api-definitions`},
		{"gateway rule among definitions", "gw-api-definitions.json", `[{"resource": "a", "intervalSec": 1}]`,
			`gw-api-definitions.json:1:2: error: [0]: looks like a gateway flow rule (it has intervalSec), not an API definition; fix: move it to a file named …gw-flow-rules`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, got := problems(t, tt.file, tt.data, Options{}); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestKindByStem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		stem string
		want kind
		ok   bool
	}{
		{"gw-flow-rules", kindGatewayFlow, true},
		{"shop-gw-flow-rules", kindGatewayFlow, true},
		{"SHOP-GW-FLOW-RULES", kindGatewayFlow, true},
		{"gateway-flow-rules", kindGatewayFlow, true},
		{"shop-flow-rules", kindFlow, true},
		{"shop-param-flow-rules", kindParamFlow, true},
		{"param-rules", kindParamFlow, true},
		{"gw-api-definitions", kindAPIDefinition, true},
		{"gw-api-group-rules", kindAPIDefinition, true},
		{"gateway-api-definitions", kindAPIDefinition, true},
		{"authority-rules", kindAuthority, true},
		{"shop-degrade-rules", kindDegrade, true},
		{"gw-flow-rules-old", 0, false},
		{"rules", 0, false},
	}
	for _, tt := range tests {
		if got, ok := kindOfStem(tt.stem); got != tt.want || ok != tt.ok {
			t.Errorf("kindOfStem(%q) = %d, %v, want %d, %v", tt.stem, got, ok, tt.want, tt.ok)
		}
	}
}

func TestNamesKind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"gw-flow-rules": true, "shop-GW-Flow-Rules.txt": true, "param-rules.json": true,
		"": false, "rules.yaml": false, "gw-flow-rules~": false, "gw-flow-rules.json.bak": false,
	} {
		if got := NamesKind(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}

func TestEveryProblemOfEveryFile(t *testing.T) {
	t.Parallel()
	_, ps := Load([]File{
		{"rules/z.json", []byte(`{"gatewayFlowRules": [{"resource": "a", "count": -1}, {"resource": "b", "count": "x"}]}`)},
		{"rules/a.json", []byte(`[`)},
		{"rules/m-gw-flow-rules.yaml", []byte("- resource: c\n  count: 1\n  grad: 1\n")},
	}, Options{})
	want := []string{
		`rules/a.json:1:2: error: the file ends in the middle of a JSON value`,
		`rules/m-gw-flow-rules.yaml:3:3: error: [0]: unknown field "grad"; did you mean "grade"?`,
		`rules/z.json:1:50: error: gatewayFlowRules[0].count: -1 is negative; fix: write 0 to block everything`,
		`rules/z.json:1:82: error: gatewayFlowRules[1].count: is a string, not a number`,
	}
	if len(ps) != len(want) {
		t.Fatalf("got %d problems, want %d: %v", len(ps), len(want), ps)
	}
	for i := range want {
		if got := ps[i].String(); got != want[i] {
			t.Errorf("problem %d:\ngot  %s\nwant %s", i, got, want[i])
		}
	}
	if got := ps[2].Rule; got != "a" {
		t.Errorf("the problem's rule is %q, want a", got)
	}
	if got, want := ps.Err().Error(), strings.Join(want, "\n"); got != want {
		t.Errorf("Err is\n%s\nwant\n%s", got, want)
	}
}

func TestNoFiles(t *testing.T) {
	t.Parallel()
	if _, ps := Load(nil, Options{}); ps.Err() == nil || ps.Err().Error() != "error: no rule files" {
		t.Errorf("Load(nil) reports %v", ps.Err())
	}
}

func TestSameFileTwice(t *testing.T) {
	t.Parallel()
	_, ps := Load([]File{{"gw-flow-rules.json", []byte("[]")}, {"gw-flow-rules.json", []byte("[]")}}, Options{})
	if ps.Err() == nil || ps.Err().Error() != "gw-flow-rules.json: error: the same file twice" {
		t.Errorf("Load reports %v", ps.Err())
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	_, ps := Load([]File{{"gw-flow-rules.json", []byte("[" + strings.TrimSuffix(strings.Repeat("1,", 5000), ",") + "]")}}, Options{})
	if len(ps) != maxFileProblems {
		t.Errorf("%d problems are kept, want %d", len(ps), maxFileProblems)
	}
	if last := ps[len(ps)-1].Message; last != "too many problems; the rest of the file is not reported" {
		t.Errorf("the last says %q", last)
	}
	text := ps.Err().Error()
	if lines := strings.Count(text, "\n") + 1; lines != maxErrLines+1 || !strings.HasSuffix(text, "and 980 more errors") {
		t.Errorf("Err has %d lines and ends in %q", lines, text[strings.LastIndexByte(text, '\n')+1:])
	}
}

func TestRevision(t *testing.T) {
	t.Parallel()
	a, b := File{"a.json", []byte("1")}, File{"b.json", []byte("2")}
	if Revision([]File{a, b}) != Revision([]File{b, a}) {
		t.Error("the revision depends on the order of files")
	}
	mounted := []File{{"/etc/rules/" + a.Name, a.Data}, {"/etc/rules/" + b.Name, b.Data}}
	if Revision(mounted) != Revision([]File{a, b}) {
		t.Error("the revision depends on where the files lie")
	}
	if got := Revision([]File{a, b}); len(got) != 12 {
		t.Errorf("Revision = %q, want 12 digits", got)
	}
	for _, other := range [][]File{
		{a}, {a, {"b.json", []byte("3")}}, {a, {"c.json", []byte("2")}},
		{{"a.json", []byte("1b.json2")}}, {{"a.json1", nil}, b},
	} {
		if Revision(other) == Revision([]File{a, b}) {
			t.Errorf("%v has the same revision", other)
		}
	}
	set, ps := Load([]File{{"gw-flow-rules.json", []byte("[]")}}, Options{})
	if want := Revision([]File{{"gw-flow-rules.json", []byte("[]")}}); ps.Err() != nil || set.Revision != want {
		t.Errorf("the set's revision is %q, want %q", set.Revision, want)
	}
}

func TestDomains(t *testing.T) {
	t.Parallel()
	bundle := func(domain string) []byte {
		return []byte(`{` + domain + `"gatewayFlowRules": [{"id": "x", "resource": "a", "count": 1}], "apiDefinitions": [{"apiName": "g", "predicateItems": [{"pattern": "/"}]}]}`)
	}
	set, ps := Load([]File{
		{"c.json", bundle(`"domain": "shop", `)}, {"a.json", bundle(``)}, {"b.json", bundle(`"domain": "blog", `)},
		{"d.json", []byte(`{"domain": "shop", "gatewayFlowRules": []}`)},
	}, Options{})
	if len(ps) > 0 {
		t.Fatal(ps)
	}
	var got []string
	for i, r := range set.Limits {
		got = append(got, r.Pos.File+" "+r.Domain+" "+set.APIs[i].Domain)
	}
	if want := "a.json  |b.json blog blog|c.json shop shop"; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
	if got := strings.Join(set.Claimed, " "); got != "blog shop" {
		t.Errorf("claimed %s", got)
	}

	_, ps = Load([]File{{"a.json", bundle(`"domain": "shop", `)}, {"b.json", bundle(`"domain": "shop", `)}}, Options{})
	want := `b.json:1:48: error: gatewayFlowRules[0].id: the rule at a.json:1:41 has this id; fix: give one of the two another id` + "\n" +
		`b.json:1:115: error: apiDefinitions[0].apiName: the API "g" is defined at a.json:1:103 already; fix: put all items into one definition, or rename one`
	if ps.Err() == nil || ps.Err().Error() != want {
		t.Errorf("got\n%v\nwant\n%s", ps.Err(), want)
	}
}
