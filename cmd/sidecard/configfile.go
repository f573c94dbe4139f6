package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// The keys of the config file that hold more than plain values.
const (
	mappingKey       = "mapping"
	blockResponseKey = "blockResponse"
)

// configFile reads one config file into a config.
type configFile struct {
	name  string
	table []setting
	into  *config
	errs  []error
}

// loadConfigFile applies the file of that name to c and returns all that is wrong with it, each
// with its line and column.
func loadConfigFile(name string, table []setting, c *config) []error {
	data, err := os.ReadFile(name)
	if err != nil {
		return []error{fmt.Errorf("config file: %w", err)}
	}
	return parseConfigFile(name, data, table, c)
}

func parseConfigFile(name string, data []byte, table []setting, c *config) []error {
	f := configFile{name: name, table: table, into: c}
	doc, err := parser.ParseBytes(data, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			p := at.GetToken().Position
			return []error{fmt.Errorf("%s: %s", rule.Position{File: name, Line: p.Line, Column: p.Column}, at.GetMessage())}
		}
		return []error{fmt.Errorf("%s: %w", name, err)}
	}
	for i, d := range doc.Docs {
		switch body := d.Body.(type) {
		case nil, *ast.NullNode, *ast.CommentGroupNode: // an empty file sets nothing
		case ast.MapNode:
			if i > 0 {
				f.fail(d.Body, "", "a second document; a config file is one document")
				break
			}
			f.section("", body)
		default:
			f.fail(d.Body, "", "a config file is a mapping of keys to values")
		}
	}
	return f.errs
}

// section applies the keys of one mapping; prefix is empty or ends in a dot.
func (f *configFile) section(prefix string, m ast.MapNode) {
	for it := m.MapRange(); it.Next(); {
		node, value := it.Key(), it.Value()
		key := prefix + node.GetToken().Value
		s, plain := f.setting(key)
		switch {
		case plain:
			f.apply(s, node, value)
		case key == mappingKey:
			f.mapping(value)
		case key == blockResponseKey:
			f.blockResponse(node, value)
		case f.isSection(key):
			switch sub := value.(type) {
			case ast.MapNode:
				f.section(key+".", sub)
			case *ast.NullNode: // every line below it commented out
			default:
				f.fail(value, key, "holds further keys, not a value")
			}
		default:
			f.fail(node, key, "unknown key"+didYouMean(node.GetToken().Value, "", f.names(prefix)))
		}
	}
}

// apply sets one plain setting from a scalar or, where the setting takes several, a sequence.
func (f *configFile) apply(s setting, key, value ast.Node) {
	var values []string
	switch v := value.(type) {
	case *ast.SequenceNode:
		if !s.list {
			f.fail(value, s.key, "takes one value, not a list")
			return
		}
		for _, item := range v.Values {
			text, ok := scalar(item)
			if !ok {
				f.fail(item, s.key, "each item must be one plain value")
				return
			}
			values = append(values, text)
		}
	case *ast.NullNode:
		f.fail(key, s.key, "has no value")
		return
	default:
		text, ok := scalar(value)
		if !ok {
			f.fail(value, s.key, "takes a plain value")
			return
		}
		values = []string{text}
	}
	if err := s.set(f.into, values); err != nil {
		if item := (itemError{}); errors.As(err, &item) {
			if list, ok := value.(*ast.SequenceNode); ok {
				value = list.Values[item.index]
			}
		}
		f.fail(value, s.key, err.Error())
	}
	f.into.note(s.key, f.position(value).String()+": "+s.key)
}

// mapping reads {domain: {descriptorKey: attribute}}.
func (f *configFile) mapping(value ast.Node) {
	domains, ok := value.(ast.MapNode)
	if !ok {
		f.fail(value, mappingKey, "must be a mapping of domains to {descriptorKey: attribute}")
		return
	}
	f.into.Mapping = make(map[string]map[string]string)
	for d := domains.MapRange(); d.Next(); {
		domain := d.Key().GetToken().Value
		keys, ok := d.Value().(ast.MapNode)
		if !ok || domain == "" {
			f.fail(d.Value(), mappingKey+"."+domain, "must be a mapping of descriptor keys to attributes")
			continue
		}
		renames := make(map[string]string)
		for k := keys.MapRange(); k.Next(); {
			from := k.Key().GetToken().Value
			to, ok := scalar(k.Value())
			if !ok || to == "" || from == "" {
				f.fail(k.Value(), mappingKey+"."+domain+"."+from, "must name an attribute, such as header.x-user-id")
				continue
			}
			if err := attr.Known(to); err != nil {
				f.fail(k.Value(), mappingKey+"."+domain+"."+from, err.Error()+didYouMean(to, "", attr.Like(to)))
				continue
			}
			renames[from] = to
		}
		f.into.Mapping[domain] = renames
	}
}

// blockResponse reads what rules have under the same key, with the same checks.
func (f *configFile) blockResponse(key, value ast.Node) {
	if _, none := value.(*ast.NullNode); none {
		f.fail(key, blockResponseKey, "has no value")
		return
	}
	block, problems := rule.ParseBlockResponse(f.name, value)
	f.into.Block = block
	f.into.Warnings = append(f.into.Warnings, problems.Warnings()...)
	for _, p := range problems.Errors() {
		f.errs = append(f.errs, errors.New(strings.Replace(p.String(), rule.Error.String()+": ", "", 1))) // as those of other keys
	}
}

// scalar returns the text of a plain value as it was written, so that 0660 stays 0660.
func scalar(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func (f *configFile) setting(key string) (setting, bool) {
	for _, s := range f.table {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

func (f *configFile) isSection(key string) bool {
	for _, s := range f.table {
		if strings.HasPrefix(s.key, key+".") {
			return true
		}
	}
	return false
}

// names returns the keys that may stand in the section of that prefix.
func (f *configFile) names(prefix string) []string {
	var out []string
	if prefix == "" {
		out = append(out, mappingKey, blockResponseKey)
	}
	for _, s := range f.table {
		if rest, in := strings.CutPrefix(s.key, prefix); in {
			name, _, _ := strings.Cut(rest, ".")
			out = append(out, name)
		}
	}
	return out
}

func (f *configFile) fail(at ast.Node, key, message string) {
	if key != "" {
		key += ": "
	}
	f.errs = append(f.errs, fmt.Errorf("%s: %s%s", f.position(at), key, message))
}

func (f *configFile) position(at ast.Node) rule.Position {
	pos := rule.Position{File: f.name}
	if m, ok := at.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		at = m.Values[0].Key // the token of the mapping itself is its first colon
	}
	if tk := at.GetToken(); tk != nil && tk.Position != nil {
		pos.Line, pos.Column = tk.Position.Line, tk.Position.Column
	}
	return pos
}
