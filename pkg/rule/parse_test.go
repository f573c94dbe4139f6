package rule

import (
	"fmt"
	"strings"
	"testing"
)

// dump writes a tree on one line, each value as kind@line:column.
func dump(n *node) string {
	if n == nil {
		return "nothing"
	}
	at := fmt.Sprintf("@%d:%d", n.line, n.column)
	switch n.kind {
	case listNode:
		var items []string
		for _, item := range n.items {
			items = append(items, dump(item))
		}
		return "[" + strings.Join(items, " ") + "]" + at
	case mappingNode:
		var members []string
		for _, m := range n.members {
			members = append(members, fmt.Sprintf("%s@%d:%d=%s", m.name, m.line, m.column, dump(m.value)))
		}
		return "{" + strings.Join(members, " ") + "}" + at
	case nullNode:
		return "null" + at
	case stringNode:
		return fmt.Sprintf("%q%s", n.text, at)
	}
	return n.text + at
}

// outcome is the dump of a tree with its duplicate keys, or the syntax error.
func outcome(t *tree, err *syntaxError) string {
	if err != nil {
		if err.fix != "" {
			return err.Error() + "; fix: " + err.fix
		}
		return err.Error()
	}
	out := dump(t.root)
	for _, d := range t.duplicates {
		out += fmt.Sprintf(" duplicate %s@%d:%d of %d:%d", d.name, d.line, d.column, d.firstLine, d.firstColumn)
	}
	return out
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct{ name, data, want string }{
		{"scalars", `[null, true, false, -1.50e+2, "é\u00e9\n"]`, `[null@1:2 true@1:8 false@1:14 -1.50e+2@1:21 "éé\n"@1:31]@1:1`},
		{"places", "\n {\"a\" :\r\n  {\"é\": 1,\t\"b\":[ ]}}\n", `{a@2:3={é@3:4=1@3:9 b@3:12=[]@3:16}@3:3}@2:2`},
		{"large number", `100000000000000000000.10`, `100000000000000000000.10@1:1`},
		{"surrogate pair", `"\ud83d\ude00"`, `"😀"@1:1`},
		{"half a pair", `["a", "\ud83d"]`, `1:7: a \u escape that is no character; fix: write the character itself, in UTF-8`},
		{"replacement character", `"�\t"`, `"�\t"@1:1`},
		{"duplicates", "{\"a\":1,\n\"a\":2,\"a\":3}", `{a@1:2=1@1:6}@1:1 duplicate a@2:1 of 1:2 duplicate a@2:7 of 1:2`},
		{"deepest", nested(maxDepth), strings.Repeat("[", maxDepth)},
		{"too deep", nested(maxDepth + 1), `1:33: nested more than 32 levels deep`},
		{"end in a list", "[1,\n", `2:1: the file ends in the middle of a JSON value`},
		{"end in a string", `["a`, `1:4: the file ends in the middle of a JSON value`},
		{"end in a literal", `[tru`, `1:5: the file ends in the middle of a JSON value`},
		{"end after a colon", `{"a":`, `1:6: the file ends in the middle of a JSON value`},
		{"trailing comma", "[1,\n]", `2:1: a comma before ]; fix: remove the comma`},
		{"trailing comma in a mapping", `{"a":1, }`, `1:9: a comma before }; fix: remove the comma`},
		{"missing comma", "{\"a\":1\n\"b\":2}", `2:1: invalid character '"' after object key:value pair; fix: a comma may be missing before it`},
		{"two commas", `[1,,2]`, `1:4: invalid character ',' looking for beginning of value`},
		{"two colons", `{"a"::2}`, `1:6: invalid character ':' looking for beginning of value`},
		{"wrong bracket", `[1}`, `1:3: invalid character '}' after array element; fix: a comma may be missing before it`},
		{"comment", "[1, // one\n2]", `1:5: JSON has no comments; fix: remove it, or make the file .yaml`},
		{"single quotes", `['a']`, `1:2: a string in single quotes; fix: use double quotes`},
		{"bare key", `{a: 1}`, `1:2: invalid character 'a' looking for beginning of value; fix: keys are written in double quotes`},
		{"number as key", `{"a": 1, 2: 3}`, `1:10: invalid character '2' looking for beginning of object key string`},
		{"line break in a string", "[\"a\nb\"]", `1:4: invalid character '\n' in string literal`},
		{"bad escape", `["a\x41"]`, `1:5: invalid character 'x' in string escape code`},
		{"leading zero", `[01]`, `1:3: a number that is not in decimal, or begins with 0; fix: write it in decimal, without a leading 0`},
		{"bad literal", `[nil]`, `1:3: invalid character 'i' in literal null (expecting 'u')`},
		{"two values", "[]\n[]", `2:1: more text after the end of the JSON value; fix: keep one value in a file, all rules in one [ ] with commas between them`},
		{"comma after the end", `[],`, `1:3: "," after the end of the JSON value; fix: remove it`},
		{"commas after the end", "[] ,\n,", `1:4: "," after the end of the JSON value; fix: remove it`},
		{"colon after the end", "{}\n:\n", `2:1: ":" after the end of the JSON value; fix: remove it`},
		{"bracket after the end", `[]]`, `1:3: "]" after the end of the JSON value; fix: remove it`},
		{"comma after a scalar", `5,`, `1:2: "," after the end of the JSON value; fix: remove it`},
		{"not a number", `[NaN]`, `1:2: invalid character 'N' looking for beginning of value; fix: write a number`},
		{"hexadecimal", `[0x10]`, `1:3: a number that is not in decimal, or begins with 0; fix: write it in decimal, without a leading 0`},
		{"Python", `[True]`, `1:2: invalid character 'T' looking for beginning of value; fix: write true`},
		{"yaml", "- a: 1\n", `1:2: a list as YAML writes it, in a file named .json; fix: let its name end in .yaml`},
		{"a full-width comma", "[1，2]", `1:3: the character '，' where JSON has none; fix: write ,`},
		{"a full-width brace", "[｛]", `1:2: the character '｛' where JSON has none; fix: write {`},
		{"typographic quotes", "[{“a”: 1}]", `1:3: the character '“' where JSON has none; fix: write plain quotes, "`},
		{"no-break space", "[\u00a01]", `1:2: the invisible character U+00A0 where JSON has none; fix: write a plain space`},
		{"zero-width space", "[\u200b1]", `1:2: the invisible character U+200B where JSON has none; fix: remove it`},
		{"letter", "[é]", `1:2: the character 'é' where JSON has none`},
		{"plus", `[+5]`, `1:2: a number that does not begin with a digit; fix: write it without +, and with a digit before the point`},
		{"point", `[.5]`, `1:2: a number that does not begin with a digit; fix: write it without +, and with a digit before the point`},
		{"underscore", `[1_000]`, `1:3: a number with _; fix: write its digits alone`},
		{"negative word", `[-a]`, `1:3: invalid character 'a' in numeric literal`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := outcome(parseJSON([]byte(tt.data)))
			if tt.name == "deepest" {
				got = got[:min(maxDepth, len(got))]
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestParseYAML(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, data, want string }{
		{"block", "a: 1\nb:\n- x: é\n  y: [2, 'q']\n-\n  - z\n", `{a@1:1=1@1:4 b@2:1=[{x@3:3="é"@3:6 y@4:3=[2@4:7 "q"@4:10]@4:6}@3:3 ["z"@6:5]@6:3]@3:1}@1:1`},
		{"nulls", "a:\nb: ~\nc: null\n", `{a@1:1=null@1:1 b@2:1=null@2:4 c@3:1=null@3:4}@1:1`},
		{"numbers", "[1e3, 0.50, -7, 99999999999999999999999, 0x10, 1_000, .5, 010, +5, .inf, .nan]",
			`[1e3@1:2 0.50@1:7 -7@1:13 99999999999999999999999@1:17 0x10@1:42 1_000@1:48 .5@1:55 010@1:59 +5@1:64 .inf@1:68 .nan@1:74]@1:1`},
		{"strings", "[yes, no, on, \"1\", '2', 1.2.3, 1s]", `["yes"@1:2 "no"@1:7 "on"@1:11 "1"@1:15 "2"@1:20 "1.2.3"@1:25 "1s"@1:32]@1:1`},
		{"booleans", "[true, false, True]", `[true@1:2 false@1:8 true@1:15]@1:1`},
		{"literal", "a: |\n  x\n  y\nb: >-\n  x\n  y\n", `{a@1:1="x\ny\n"@1:4 b@4:1="x y"@4:4}@1:1`},
		{"escapes", `"\ud83d\ude00\/\u00e9"`, `"😀/é"@1:1`},
		{"explicit key", "? a\n: 1\n", `{a@1:3=1@2:3}@1:3`},
		{"line ends of Windows", "a: 1\r\nb: x\r\n", `{a@1:1=1@1:4 b@2:1="x"@2:4}@1:1`},
		{"start and end of the document", "--- \n# c\na: 1\n...\n", `{a@3:1=1@3:4}@3:1`},
		{"end without a second document", "a: 1\n---\n", `{a@1:1=1@1:4}@1:1`},
		{"comments alone", "# a\n# b\n", `nothing`},
		{"anchor", "a: &x {b: 1}\nc: *x\nd: [*x]\n", `{a@1:1={b@1:8=1@1:11}@1:7 c@2:1={b@1:8=1@1:11}@2:4 d@3:1=[{b@1:8=1@1:11}@3:5]@3:4}@1:1`},
		{"merge", "a: &x {p: 1, q: 2}\nb: &y {q: 3, r: 4}\nc:\n  <<: [*x, *y]\n  p: 5\n",
			`{a@1:1={p@1:8=1@1:11 q@1:14=2@1:17}@1:7 b@2:1={q@2:8=3@2:11 r@2:14=4@2:17}@2:7 c@3:1={p@5:3=5@5:6 q@1:14=2@1:17 r@2:14=4@2:17}@4:3}@1:1`},
		{"merge alone", "a: &x {p: 1}\nb: {<<: *x}\n", `{a@1:1={p@1:8=1@1:11}@1:7 b@2:1={p@1:8=1@1:11}@2:4}@1:1`},
		{"duplicates", "a: 1\nb: 2\na: 3\nc: {x: 1, x: 2}\n", `{a@1:1=1@1:4 b@2:1=2@2:4 c@4:1={x@4:5=1@4:8}@4:4}@1:1 duplicate a@3:1 of 1:1 duplicate x@4:11 of 4:5`},

		{"merge twice", "a: &x {p: 1}\nb:\n  <<: *x\n  <<: *x\n", `{a@1:1={p@1:8=1@1:11}@1:7 b@2:1={p@1:8=1@1:11}@3:3}@1:1 duplicate <<@4:3 of 3:3`},
		{"merge of a scalar", "a: {<<: 5}\n", `1:9: << takes an alias of a mapping, or a list of such aliases, not a number`},
		{"unknown alias", "a: *x\n", `1:4: no anchor &x before this alias`},
		{"alias within its anchor", "a: &x [*x]\n", `1:8: no anchor &x before this alias`},
		{"second document", "a: 1\n---\nb: 2\n", `2:1: a second YAML document begins here; fix: keep one document in a file`},
		{"second document after comments", "# a\n---\na: 1\n---\n# c\n---\nb: 1\n", `4:1: a second YAML document begins here; fix: keep one document in a file`},
		{"tag", "a: !!str 5\n", "1:4: YAML tags are not supported; fix: write strings as \"…\" and numbers plain"},
		{"directive", "%YAML 1.2\n---\na: 1\n", `1:1: YAML directives are not supported; fix: remove the line`},
		{"tab", "a:\n\t- b\n", `2:1: found character '	' that cannot start any token`},
		{"open bracket", "a: [1, 2\n", `1:4: sequence end token ']' not found`},
		{"two colons", "a: b: c\n", `1:4: mapping value is not allowed in this context`},
		{"list as key", "? [a]\n: 1\n", `2:1: found an invalid key for this map`},
		{"deepest", strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth)},
		{"deepest in a line of dashes", strings.Repeat("- ", maxDepth) + "a", strings.Repeat("[", maxDepth)},
		{"too deep in a line of dashes", strings.Repeat("- ", maxDepth+1) + "a", `1:65: nested more than 32 levels deep`},
		{"brackets", strings.Repeat("[", 100_000), `1:33: nested more than 32 levels deep`},
		{"dashes", strings.Repeat("- ", 100_000), `1:129: nested more than 32 levels deep`},
		{"question marks", strings.Repeat("? ", 100_000), `1:129: nested more than 32 levels deep`},
		{"closing brackets", strings.Repeat("]", 10_000), `1:1: could not find '[' character corresponding to ']'`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := outcome(parseYAML([]byte(tt.data)))
			if strings.HasPrefix(tt.name, "deepest") {
				got = got[:min(maxDepth, len(got))]
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), i-1)
	}
	_, err := parseYAML([]byte(b.String()))
	if err == nil || err.Error() != "6:9: holds more than 1048576 values" {
		t.Errorf("got %v", err)
	}
}

func TestDeepIndentation(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	_, err := parseYAML([]byte(b.String()))
	if err == nil || err.Error() != "33:33: nested more than 32 levels deep" {
		t.Errorf("got %v", err)
	}
}

func TestFileSizeBounds(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"gw-flow-rules.json": maxJSONBytes, "gw-flow-rules.yaml": maxYAMLBytes} {
		data := make([]byte, most+1)
		for i := range data {
			data[i] = ' '
		}
		copy(data, "[]")
		if _, ps := Load([]File{{name, data}}, Options{}); ps.Err() == nil || !strings.Contains(ps.Err().Error(), "at most") {
			t.Errorf("%s of %d bytes: %v", name, len(data), ps.Err())
		}
		if _, ps := Load([]File{{name, data[:most]}}, Options{}); ps.Err() != nil {
			t.Errorf("%s of %d bytes: %v", name, most, ps.Err())
		}
	}
}

func TestLargeMappingsStayLinear(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	var b strings.Builder
	b.WriteString("{")
	for i := range keys {
		fmt.Fprintf(&b, "\"k%d\": 1, ", i)
	}
	b.WriteString("\"k7\": 2}")
	tree, err := parseJSON([]byte(b.String()))
	if err != nil || len(tree.root.members) != keys || len(tree.duplicates) != 1 || tree.duplicates[0].name != "k7" {
		t.Fatalf("err %v", err)
	}
}

// TestYAMLGuard gives the YAML parser what it would take too long over, and what looks similar.
func TestYAMLGuard(t *testing.T) {
	t.Parallel()
	keys := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	tests := []struct{ name, data, want string }{
		{"blank lines", "a: |\n" + strings.Repeat(" \n", 65), `66:1: more than 64 blank lines in a row; fix: remove them`},
		{"blank lines of Windows", "a: |\r\n" + strings.Repeat("\r\n", 65), `66:1: more than 64 blank lines in a row; fix: remove them`},
		{"blank lines of old", "a: |\r" + strings.Repeat("\r", 65), `66:1: more than 64 blank lines in a row; fix: remove them`},
		{"few blank lines", "a: |" + strings.Repeat("\n", 64), ``},
		{"blank lines apart", strings.Repeat("- x\n\n", 1000), ``},
		{"keys", keys(300, "k%d: 1\n"), `257:1: a mapping of more than 256 keys`},
		{"keys without values", keys(300, "k%d:\n"), `257:1: a mapping of more than 256 keys`},
		{"keys with nested values", keys(300, "k%d:\n  a: 1\n  b: [1,\n2]\n"), `1025:1: a mapping of more than 256 keys`},
		{"keys with literals", keys(300, "k%d: |\n  a\n"), `513:1: a mapping of more than 256 keys`},
		{"keys with lists at their own column", keys(300, "k%d:\n- a\n"), `513:1: a mapping of more than 256 keys`},
		{"nested keys", "a:\n  b:\n" + keys(300, "    k%d: 1\n"), `259:5: a mapping of more than 256 keys`},
		{"keys in braces", "{" + keys(300, "k%d: 1, ") + "}", `1:2194: a mapping of more than 256 keys`},
		{"as many keys as may be", keys(256, "k%d: 1\n"), ``},
		{"long list of mappings", keys(3000, "- a: %d\n  b: 1\n"), ``},
		{"long list in a mapping", "l:\n" + keys(3000, "- a: %d\n  b: 1\n"), ``},
		{"long list in brackets", "[" + keys(3000, "{\"a\": %d},\n") + "]", ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := outcome(parseYAML([]byte(tt.data)))
			if tt.want == "" && (strings.HasPrefix(got, "[") || strings.HasPrefix(got, "{")) {
				return
			}
			if got != tt.want {
				t.Errorf("got\n%.300s\nwant\n%s", got, tt.want)
			}
		})
	}
}
