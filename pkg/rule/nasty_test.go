package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What editors, scripts and merges leave behind is told as what it is, at its place.
func TestNastyFiles(t *testing.T) {
	t.Parallel()
	deep := func(n int, open string) string { return strings.Repeat(open, n) }
	for _, tt := range []struct{ name, file, data, want string }{
		{"nested JSON", "gw-flow-rules.json", deep(100_000, "["), "1:33: error: nested more than 32 levels deep"},
		{"nested mappings", "gw-flow-rules.json", deep(100_000, `{"a":`), "1:161: error: nested more than 32 levels deep"},
		{"nested YAML", "gw-flow-rules.yaml", deep(100_000, "["), "1:33: error: nested more than 32 levels deep"},
		{"nested dashes", "gw-flow-rules.yaml", deep(100_000, "- "), "1:129: error: nested more than 32 levels deep"},
		{"aliases of aliases", "gw-flow-rules.yaml", "- &a [x,x,x,x,x,x,x,x,x,x]\n" + laughs(9), "6:6: error: holds more than 1048576 values; fix: split the file"},
		{"an alias of itself", "gw-flow-rules.yaml", "- &a\n  resource: a\n  count: 1\n  paramItem: *a\n", "4:14: error: no anchor &a before this alias"},
		{"an alias twice", "gw-flow-rules.yaml", "- &a {resource: a, count: 1}\n- {<<: *a, resource: b}\n- *a\n",
			"3:3: error: [2]: limits the same as the rule at gw-flow-rules.yaml:1:6, whose id is gw-flow/route/a/qps/reject/1s/aligned as well; fix: give one of the two an id of its own, or remove one"},
		{"what an alias brings is wrong", "gw-flow-rules.yaml", "- &a {resource: a, count: x}\n- {<<: *a, resource: b}\n",
			"1:27: error: [0].count: is a string, not a number\n1:27: error: [1].count: is a string, not a number"},
		{"merged twice", "gw-flow-rules.yaml", "- &a {resource: a, count: 1}\n- {<<: *a, <<: *a, id: x}\n", `2:12: error: duplicate key "<<"; it is at 2:4 already`},

		{"digits", "gw-flow-rules.json", `[{"resource":"a","count":` + strings.Repeat("9", 400) + `}]`, "1:26: error: [0].count: " + strings.Repeat("9", 80) + "… has more than 64 characters"},
		{"exponent", "gw-flow-rules.json", `[{"resource":"a","count":1e999999999}]`, "1:26: error: [0].count: 1e999999999 has an exponent beyond 400"},
		{"beyond an integer", "gw-flow-rules.json", `[{"resource":"a","count":1,"burst":1e300}]`, "1:36: error: [0].burst: is 1e300; it must be from 0 to 2147483647"},
		{"minus nothing", "gw-flow-rules.json", `[{"resource":"a","count":-0}]`, ""},
		{"YAML's numbers", "gw-flow-rules.yaml", "- {resource: a, count: 0o17}\n- {resource: b, count: 1_000}\n- {resource: c, count: .5}\n- {resource: d, count: 1e3}\n- {resource: e, count: 5.}\n- {resource: f, count: 017}\n- {resource: g, count: 1:30}",
			"1:24: error: [0].count: 0o17 is not a plain decimal number; fix: write 15\n" +
				"2:24: error: [1].count: 1_000 is not a plain decimal number; fix: write 1000\n" +
				"3:24: error: [2].count: .5 is not a plain decimal number; fix: write 0.5\n" +
				"5:24: error: [4].count: 5. is not a plain decimal number; fix: write 5.0\n" +
				"6:24: error: [5].count: 017 is not a plain decimal number; fix: write it in decimal, without a leading 0\n" +
				"7:24: error: [6].count: is a string, not a number"},
		{"YAML's booleans", "gw-flow-rules.yaml", "- {resource: no, count: 1, shadow: yes}\n- {resource: b, count: 1, shadow: True}\n- {resource: true, count: 1}",
			"1:36: error: [0].shadow: is a string, not a boolean; fix: write true or false\n3:14: error: [2].resource: is a boolean, not a string; fix: write \"true\""},

		{"a byte order mark", "gw-flow-rules.json", "\ufeff[{\"resource\":\"a\",\"count\":\"x\"}]", "1:26: error: [0].count: is a string, not a number"},
		{"two byte order marks", "gw-flow-rules.yaml", "\ufeff\ufeff- resource: a\n  count: x\n", "2:10: error: [0].count: is a string, not a number"},
		{"UTF-16 without a mark", "gw-flow-rules.json", "[\x00{\x00", "1:1: error: is UTF-16; fix: save it as UTF-8"},
		{"Latin-1", "gw-flow-rules.yaml", "- resource: a\n  id: caf\xe9\n", "2:10: error: a byte that is no UTF-8; fix: save it as UTF-8"},
		{"lines of Windows", "gw-flow-rules.yaml", "- resource: a\r\n  count: x\r\n", "2:10: error: [0].count: is a string, not a number"},
		{"lines of old", "gw-flow-rules.yaml", "- resource: a\r  count: x\r", "2:10: error: [0].count: is a string, not a number"},
		{"a NUL", "gw-flow-rules.json", "[{\"resource\":\"a\x00b\",\"count\":1}]", `1:16: error: invalid character '\x00' in string literal`},
		{"an escaped NUL", "gw-flow-rules.json", `[{"resource":"a\u0000b","count":1}]`, "1:14: error: [0].resource: holds a control character"},
		{"words for a terminal", "gw-flow-rules.yaml", "- *\x1b[2J\n", `1:3: error: no anchor &\x1b[2J before this alias`},
		{"a text turned around", "gw-flow-rules.yaml", "- *a\u202eb\n", `1:3: error: no anchor &a\u202eb before this alias`},
		{"a tab for a blank", "gw-flow-rules.yaml", "-\tresource: a\n  count: 1\n", "1:10: error: a tab where a key begins; fix: indent with spaces"},
		{"a no-break space", "gw-flow-rules.yaml", "-\u00a0resource: a\n  count: 1\n", "1:13: error: the invisible character U+00A0, which YAML takes for a part of the text beside it; fix: write a plain space"},
		{"no space behind colons", "gw-flow-rules.yaml", "- resource:a\n  count:1\n", "1:3: error: [0]: is a string, not a gateway flow rule; fix: write a space behind each colon"},
		{"a colon in a value", "gw-flow-rules.yaml", "- resource: a: b\n  count: 1\n", `1:13: error: mapping value is not allowed in this context; fix: a value that holds ": " stands in quotes, and a key further left than what belongs to it`},
		{"invisible characters", "gw-flow-rules.json", `[{"resource":"a\u200b","count":1},{"resource":"\u202eb","count":1},{"resource":"c\u00e9","count":1}]`,
			"1:14: warning: [0].resource: holds U+200B, which nobody sees and which counts as part of the name; fix: remove it\n1:47: warning: [1].resource: holds U+202E, which nobody sees and which counts as part of the name; fix: remove it"},

		{"a megabyte of name", "gw-flow-rules.json", `[{"resource":"` + strings.Repeat("a", 1<<20) + `","count":1}]`, "1:14: error: [0].resource: is 1048576 bytes long; at most 256 are allowed"},
		{"a megabyte of key", "degrade-rules.json", `[{"` + strings.Repeat("k", 1<<20) + `":1,"resource":"a","count":1,"timeWindow":1,"slowRatioThreshold":1}]`,
			`1:3: error: [0]: unknown field "` + strings.Repeat("k", 80) + `…"; there are ` + strings.Join(degradeSchema.names(), ", ")},
		{"a megabyte of value", "gw-flow-rules.json", `[{"resource":"a","count":1,"grade":"` + strings.Repeat("g", 1<<20) + `"}]`,
			`1:36: error: [0].grade: unknown value "` + strings.Repeat("g", 80) + `…"; there are 0 concurrency, 1 qps`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, ps := Load([]File{{tt.file, []byte(tt.data)}}, Options{})
			var lines []string
			for _, p := range ps {
				lines = append(lines, strings.TrimPrefix(p.String(), tt.file+":"))
			}
			if got := strings.Join(lines, "\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// laughs are lists of ten aliases each of the list before, the first of which is &a.
func laughs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- &%c [%s]\n", 'b'+i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", 'a'+i), 10), ","))
	}
	return b.String()
}

// A file is given up after as many problems as are reported, so that a hundred thousand wrong rules cost no
// more than a thousand. What it would have defined is unknown, and nothing is said about it.
func TestFileFullOfProblems(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"gatewayFlowRules": [{"resource": "late", "resourceMode": "api", "count": 1}`)
	for i := range 2 * maxFileProblems {
		fmt.Fprintf(&b, ",\n{\"resource\": \"r%d\", \"count\": \"x\", \"burst\": \"y\"}", i)
	}
	b.WriteString("],\n\"apiDefinitions\": [{\"apiName\": \"late\", \"predicateItems\": [{\"pattern\": \"/a\"}]}]}")
	_, ps := Load([]File{{"rules.json", []byte(b.String())}}, Options{})
	full := slices.ContainsFunc(ps, func(p Problem) bool { return p.Message == TooManyProblems })
	if len(ps) != maxFileProblems || !full || len(ps.Warnings()) > 0 {
		t.Errorf("%d problems, said to be too many: %t; %d warnings", len(ps), full, len(ps.Warnings()))
	}
	for name, data := range map[string]string{
		"rules":  b.String(),
		"fields": `{"flowRules": [{` + strings.TrimSuffix(numbered(`"f%d":1,`, 2*maxFileProblems), ",") + `}]}`,
	} {
		l := &loader{ids: make(map[idKey]claim), apis: make(map[idKey]Position)}
		f := &fileLoad{loader: l, name: "rules.json"}
		if f.load([]byte(data)); f.reported < maxFileProblems || f.reported > maxFileProblems+50 {
			t.Errorf("%s: %d problems were looked for", name, f.reported)
		}
	}
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Files may be named as their contents may be written.
func TestNastyFileNames(t *testing.T) {
	t.Parallel()
	_, ps := Load([]File{{"a\n\x1b[31m-gw-flow-rules.json", []byte("[{}]")}}, Options{})
	const want = `a\n\x1b[31m-gw-flow-rules.json:1:2: error: [0].resource: is missing: the route id, or the name of an API group`
	if len(ps) != 2 || ps[0].String() != want {
		t.Errorf("got %q", ps)
	}
}
