package rule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// schemaDialect is the version of JSON Schema that JSONSchema writes.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// bundleSchemaName is the name of the schema of bundles, which are no kind.
const bundleSchemaName = "bundle"

// jsonSchema is a schema, or a part of one, with the keywords that we use.
type jsonSchema struct {
	Schema        string        `json:"$schema,omitempty"`
	Ref           string        `json:"$ref,omitempty"`
	Title         string        `json:"title,omitempty"`
	Description   string        `json:"description,omitempty"`
	Deprecated    bool          `json:"deprecated,omitempty"`
	Type          any           `json:"type,omitempty"` // a string, or several
	Enum          []any         `json:"enum,omitempty"`
	Default       rawJSON       `json:"default,omitempty"`
	Minimum       *int64        `json:"minimum,omitempty"`
	Maximum       *int64        `json:"maximum,omitempty"`
	MaxLength     int64         `json:"maxLength,omitempty"`
	MinItems      int           `json:"minItems,omitempty"`
	MaxProperties int           `json:"maxProperties,omitempty"`
	Items         *jsonSchema   `json:"items,omitempty"`
	Properties    properties    `json:"properties,omitempty"`
	Required      []string      `json:"required,omitempty"`
	Additional    any           `json:"additionalProperties,omitempty"` // false, or a schema
	AnyOf         []*jsonSchema `json:"anyOf,omitempty"`
	Defs          properties    `json:"$defs,omitempty"`
}

// rawJSON is text that is JSON already.
type rawJSON string

// MarshalJSON returns the text.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

// property is a schema by the name of what it is for.
type property struct {
	name string
	of   *jsonSchema
}

// properties keep the order in which fields are declared, in which editors offer them.
type properties []property

// MarshalJSON writes them as an object.
func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		of, err := json.Marshal(p.of)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(of)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// SchemaNames returns the names that JSONSchema takes: those of the kinds of rules, by which their files'
// names end, and bundle.
func SchemaNames() []string {
	var names []string
	for k := range numKinds {
		names = append(names, k.stem())
	}
	return append(names, bundleSchemaName)
}

// JSONSchema returns a JSON Schema (draft 2020-12) of the files of a kind, indented, with a newline at its end.
// It is made from the declarations that Load reads by, so that editors complete fields and values and mark what
// Load would refuse in a single field. What it accepts Load may still refuse: fields that do not go together,
// patterns that never match, ids that are taken. Lengths are counted in characters by JSON Schema and in bytes
// by Load. The name is one of SchemaNames, or another that ends the name of such a file.
func JSONSchema(name string) ([]byte, error) {
	w := schemaWriter{made: make(map[string]bool)}
	var root *jsonSchema
	if k, ok := kindNamed(name); ok {
		root = &jsonSchema{Title: k.stem(), Description: "A list of which each entry is " + k.info().item + " of sidecard.", Type: "array", Items: w.ref(k.object())}
	} else if name == bundleSchemaName {
		root = w.bundle()
	} else {
		return nil, fmt.Errorf("no kind of rule files is called %q%s", clip(name), DidYouMean(name, SchemaNames()))
	}
	root.Schema, root.Defs = schemaDialect, w.defs
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// kindNamed finds a kind by one of the names that end its files' names.
func kindNamed(name string) (kind, bool) {
	for k := range numKinds {
		for _, stem := range k.info().stems {
			if stem == name {
				return k, true
			}
		}
	}
	return 0, false
}

// schemaWriter collects the mappings that a schema refers to.
type schemaWriter struct {
	defs properties
	made map[string]bool
}

// bundle describes a mapping that has at least one list.
func (w *schemaWriter) bundle() *jsonSchema {
	s := w.mapping(bundleSchema.object())
	s.Title, s.Description = bundleSchemaName, "Rules of several kinds for sidecard, each under its key."
	for _, key := range bundleKeys() {
		s.AnyOf = append(s.AnyOf, &jsonSchema{Required: []string{key}})
	}
	return s
}

// ref describes a mapping once, under $defs.
func (w *schemaWriter) ref(o object) *jsonSchema {
	name := defName(o.what)
	if !w.made[name] {
		w.made[name] = true
		w.defs = append(w.defs, property{name, nil})
		at := len(w.defs) - 1
		w.defs[at].of = w.mapping(o)
	}
	return &jsonSchema{Ref: "#/$defs/" + name}
}

// defName makes a name of what a mapping is called: a gateway flow rule is gateway-flow-rule.
func defName(what string) string {
	_, rest, _ := strings.Cut(what, " ")
	return strings.ReplaceAll(rest, " ", "-")
}

func (w *schemaWriter) mapping(o object) *jsonSchema {
	s := &jsonSchema{Type: "object", Additional: false}
	for i := range o.fields {
		d := &o.fields[i]
		s.Properties = append(s.Properties, property{d.name, w.field(d)})
		if d.required {
			s.Required = append(s.Required, d.name)
		}
	}
	return s
}

// field describes the values of a field. A null stands for its absence, unless it is required, or a list of a
// bundle, which is left empty only on purpose.
func (w *schemaWriter) field(d *declaration) *jsonSchema {
	s := &jsonSchema{Description: d.describe(), Default: rawJSON(d.def)}
	switch {
	case d.ignored:
		s.Deprecated = true
		return s
	case d.refused != "":
		s.Description, s.Deprecated, s.Type = d.refused+" is not supported", true, "null"
		return s
	case d.enum != nil:
		s.Enum = d.enum.values()
		if !d.required {
			s.Enum = append(s.Enum, nil)
		}
		return s
	}
	typ := ""
	switch d.typ {
	case typeText:
		typ, s.MaxLength = "string", d.max
	case typeInteger:
		typ, s.Minimum, s.Maximum = "integer", &d.min, &d.max
	case typeAmount:
		typ, s.Minimum = "number", new(int64)
	case typeFigure:
		typ = "number"
	case typeWhole:
		typ, s.Maximum = "integer", &d.max
	case typeBoolean:
		typ = "boolean"
	case typeFalse:
		s.Enum = []any{false, nil}
		return s
	case typeMapping:
		return w.orNull(s, d.nested())
	case typeMappings:
		typ, s.Items, s.MinItems = "array", w.ref(d.nested()), d.fewest
	case typeTexts:
		typ, s.Items, s.MinItems = "array", &jsonSchema{Type: "string", MaxLength: d.max}, d.fewest
	case typeHeaders:
		typ, s.Additional, s.MaxProperties = "object", &jsonSchema{Type: "string", MaxLength: d.max}, d.most
	}
	types := []string{typ}
	if d.numberID {
		types = append(types, "number")
	}
	if !d.required && !d.notNull {
		types = append(types, "null")
	}
	if s.Type = types; len(types) == 1 {
		s.Type = typ
	}
	return s
}

// orNull describes a mapping that may be left out by null.
func (w *schemaWriter) orNull(s *jsonSchema, o object) *jsonSchema {
	s.AnyOf = []*jsonSchema{w.ref(o), {Type: "null"}}
	return s
}

// describe is what an editor shows of a field.
func (d *declaration) describe() string {
	text := d.doc
	if d.unit != "" {
		text += " (" + d.unit + ")"
	}
	if d.upstream != "" {
		text += ". Sentinel: " + d.upstream
	}
	if d.differs != "" {
		text += ". Here: " + d.differs
	}
	return withoutTicks(text) + "."
}

// values are those that users write, names first.
func (e *enumeration) values() []any {
	var names, others []any
	for _, m := range e.members {
		if m.known {
			continue
		}
		names = append(names, m.name)
		if m.alias != "" {
			others = append(others, m.alias)
		}
	}
	for _, m := range e.members {
		if !m.known && !e.byName && m.number != noNumber {
			others = append(others, m.number)
		}
	}
	return append(names, others...)
}
