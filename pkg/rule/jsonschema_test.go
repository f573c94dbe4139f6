package rule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled returns a schema as a validator reads it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := JSONSchema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name) // against the meta-schema that it names
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

func TestJSONSchemaNames(t *testing.T) {
	t.Parallel()
	if got, want := strings.Join(SchemaNames(), " "), "gw-flow-rules gw-api-definitions flow-rules param-flow-rules degrade-rules system-rules authority-rules bundle"; got != want {
		t.Errorf("got %s", got)
	}
	usual, err := JSONSchema("gw-flow-rules")
	other, err2 := JSONSchema("gateway-flow-rules")
	if err != nil || err2 != nil || !bytes.Equal(usual, other) {
		t.Errorf("the other name of a kind: %v, %v", err, err2)
	}
	if _, err := JSONSchema("gw-flow-rule"); err == nil || !strings.HasSuffix(err.Error(), `; did you mean "gw-flow-rules"?`) {
		t.Errorf("got %v", err)
	}
	if _, err := JSONSchema("x"); err == nil || !strings.HasSuffix(err.Error(), "; there are "+strings.Join(SchemaNames(), ", ")) {
		t.Errorf("got %v", err)
	}
}

// docs/schema has the schemas for those who have no sidecard at hand. -update writes it.
func TestPublishedSchemas(t *testing.T) {
	t.Parallel()
	var want []string
	for _, name := range SchemaNames() {
		compiled(t, name)
		text, err := JSONSchema(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../../docs/schema", name+".json")
		want = append(want, path)
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s is not what the declarations say (%v); `make docs` writes it", path, err)
		}
	}
	got, err := filepath.Glob("../../docs/schema/*")
	if slices.Sort(want); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// What is known only to be refused is offered by no schema.
func TestSchemasOfferWhatIsTaken(t *testing.T) {
	t.Parallel()
	known := 0
	for _, o := range tableObjects() {
		for _, d := range o.fields {
			if d.enum == nil {
				continue
			}
			for _, m := range d.enum.members {
				if m.known {
					known++
				}
				if slices.Contains(d.enum.values(), any(m.name)) == m.known || m.known && slices.Contains(d.enum.values(), any(m.number)) {
					t.Errorf("%s of %s: %v", d.name, o.what, d.enum.values())
				}
			}
		}
	}
	if known == 0 {
		t.Error("nothing is known only to be refused")
	}
}

// plain turns nodes into what a validator takes.
func (n *node) plain() any {
	switch n.kind {
	case boolNode:
		return n.text == "true"
	case numberNode:
		return json.Number(n.text)
	case stringNode:
		return n.text
	case listNode:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	case mappingNode:
		out := make(map[string]any, len(n.members))
		for i := range n.members {
			out[n.members[i].name] = n.members[i].value.plain()
		}
		return out
	}
	return nil
}

// schemaOf is the schema for a file of that name.
func schemaOf(name string) string {
	stem, _ := splitName(name)
	if k, ok := kindOfStem(stem); ok {
		return k.stem()
	}
	return bundleSchemaName
}

// Every rule file of the repository that loads is right by its schema.
func TestGoodFilesAreRightByTheirSchema(t *testing.T) {
	t.Parallel()
	schemas := make(map[string]*jsonschema.Schema)
	for _, name := range SchemaNames() {
		schemas[name] = compiled(t, name)
	}
	seen := make(map[string]int)
	for _, root := range []string{"../../examples", "../../deploy", "../../cmd", "../../test", "testdata"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			_, ext := splitName(path)
			if err != nil || entry.IsDir() || ext != ".json" && ext != ".yaml" {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, codes := range []ParamCodes{ParamCodesSentinel, ParamCodesURLFirst} {
				if _, ps := Load([]File{{path, data}}, Options{ParamCodes: codes}); ps.Err() != nil {
					continue
				}
				parse := parseJSON
				if ext == ".yaml" {
					parse = parseYAML
				}
				tree, syntax := parse(data)
				if syntax != nil {
					t.Fatal(syntax)
				}
				name := schemaOf(path)
				if err := schemas[name].Validate(tree.root.plain()); err != nil {
					t.Errorf("%s loads, but %v", path, err)
				}
				seen[name]++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range SchemaNames() {
		if seen[name] == 0 {
			t.Errorf("no file of %s was looked at", name)
		}
	}
}

// whole has rules of each kind with everything that has fields of its own.
var whole = map[string]string{
	"gw-flow-rules": `[{"id": "a", "resource": "orders", "count": 10, "intervalSec": 1, "grade": 1, "controlBehavior": "reject",
		"paramItem": {"parseStrategy": 2, "fieldName": "x-user-id", "pattern": "a", "matchStrategy": "exact"},
		"paramFlowItemList": [{"object": "a", "count": 1, "classType": "String"}],
		"blockResponse": {"contentType": "text/plain", "body": "no", "headers": {"x-a": "b"}}}]`,
	"gw-api-definitions": `[{"apiName": "a", "predicateItems": [{"pattern": "/a", "matchStrategy": 0, "host": "a", "methods": ["GET"]}, {"other": true}]}]`,
	"flow-rules":         `[{"resource": "orders", "count": 10, "strategy": 0, "clusterMode": false, "limitApp": "a", "onMissing": "skip", "blockResponse": {"body": "no"}}]`,
	"param-flow-rules":   `[{"resource": "orders", "count": 10, "paramIdx": 0, "clusterMode": false, "paramFlowItemList": [{"object": "1", "count": 1, "classType": "int"}]}]`,
	"degrade-rules":      `[{"resource": "orders", "count": 10, "timeWindow": 1, "slowRatioThreshold": 0.5, "slidingWindow": {"type": "count", "size": 10}, "limitApp": "default"}]`,
	"system-rules":       `[{"qps": 10, "avgRt": -1, "maxThread": 5, "highestSystemLoad": -1.0}]`,
	"authority-rules":    `[{"resource": "orders", "limitApp": "a,b", "strategy": 1, "onMissing": "block"}]`,
	"bundle":             `{"domain": "shop", "paramCodes": "sentinel", "gatewayFlowRules": [{"resource": "a", "count": 1}], "flowRules": [{"resource": "a", "count": 1}], "systemRules": []}`,
}

// fieldFault tells the messages about a single value from those about what fields mean together.
var fieldFault = regexp.MustCompile(`^is (null|an? .*), not |^unknown (field|value|number) |^is -?\d+; it must be from|bytes long; at most|^is missing|is negative$|is not a whole number$|is out of range$|not supported|^is \S+; there are`)

// together tells what looks like such a message and is about several fields.
var together = regexp.MustCompile(`which parameter is limited$|allowed in a name$`)

// place is a mapping somewhere in a document, with what is declared of it.
type place struct {
	of object
	in map[string]any
}

// places finds all mappings of a document that have declared fields.
func places(o object, v any, out []place) []place {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = places(o, item, out)
		}
	case map[string]any:
		out = append(out, place{o, v})
		for i := range o.fields {
			if d := &o.fields[i]; d.nested != nil {
				out = places(d.nested(), v[d.name], out)
			}
		}
	}
	return out
}

// oddValues are of every type, within bounds and beyond.
func oddValues(d *declaration) []any {
	number := func(n int64) any { return json.Number(fmt.Sprint(n)) }
	values := []any{
		nil, true, false, "", "a", "1", json.Number("0"), json.Number("1"), json.Number("1.0"), json.Number("2"), json.Number("0.5"), json.Number("-1"), json.Number("1e3"), json.Number("99999999999999999999"),
		[]any{}, []any{nil}, []any{"a"}, []any{map[string]any{}}, map[string]any{}, map[string]any{"bogus": "a"}, map[string]any{"x-b": json.Number("1")},
	}
	switch d.typ {
	case typeText:
		values = append(values, strings.Repeat("a", int(d.max)), strings.Repeat("a", int(d.max)+1))
	case typeInteger:
		values = append(values, number(d.min), number(d.min-1), number(d.max), number(d.max+1))
	case typeWhole:
		values = append(values, number(d.max), number(d.max+1))
	case typeTexts:
		values = append(values, []any{strings.Repeat("A", int(d.max))}, []any{strings.Repeat("A", int(d.max)+1)})
	case typeHeaders:
		values = append(values, map[string]any{"x-b": strings.Repeat("a", int(d.max)+1)})
	}
	if d.enum != nil {
		for _, m := range d.enum.members {
			values = append(values, m.name, number(m.number))
			if m.alias != "" {
				values = append(values, m.alias)
			}
		}
	}
	return values
}

// TestSchemaAgreesWithLoad changes one field of a good document, every field in every way. What the schema refuses Load must refuse;
// of what it accepts Load must not complain about that field alone.
func TestSchemaAgreesWithLoad(t *testing.T) {
	t.Parallel()
	for _, name := range SchemaNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, object := compiled(t, name), bundleSchema.object()
			if k, ok := kindNamed(name); ok {
				object = k.object()
			}
			load := func(doc any) Problems {
				data, err := json.Marshal(doc)
				if err != nil {
					t.Fatal(err)
				}
				_, ps := Load([]File{{name + ".json", data}}, Options{})
				return ps.Errors()
			}
			base, syntax := parseJSON([]byte(whole[name]))
			if syntax != nil {
				t.Fatal(syntax)
			}
			if ps := load(base.root.plain()); len(ps) > 0 {
				t.Fatal(ps)
			}
			accepted, refused := 0, 0
			try := func(change func(at place) string, i int) {
				doc := base.root.plain()
				changed := change(places(object, doc, nil)[i])
				err, problems := schema.Validate(doc), load(doc)
				if err != nil {
					if refused++; len(problems) == 0 {
						t.Errorf("%s loads, but %v", changed, err)
					}
					return
				}
				accepted++
				for _, p := range problems {
					if fieldFault.MatchString(p.Message) && !together.MatchString(p.Message) {
						t.Errorf("%s is right by the schema, but %v", changed, p)
					}
				}
			}
			for i, at := range places(object, base.root.plain(), nil) {
				for _, d := range append(at.of.fields, declaration{name: "bogus"}) {
					try(func(at place) string { delete(at.in, d.name); return "without " + d.name }, i)
					for _, v := range oddValues(&d) {
						try(func(at place) string {
							at.in[d.name] = v
							return fmt.Sprintf("%s %.80v in %s", d.name, v, at.of.what)
						}, i)
					}
				}
			}
			if accepted == 0 || refused == 0 {
				t.Errorf("%d accepted, %d refused: the test shows nothing", accepted, refused)
			}
		})
	}
}
