package rule

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads the one document of a YAML file into nodes; nil nodes if it has no content. Aliases
// and merge keys are resolved, tags are refused.
func parseYAML(data []byte) (t *tree, err *syntaxError) {
	// The parser is not ours and reads outside bytes: should one make it panic, it costs the file
	// and not the process.
	defer func() {
		if r := recover(); r != nil {
			t, err = nil, &syntaxError{line: 1, column: 1, message: "not readable as YAML", fix: "write the file as JSON"}
		}
	}()
	if err := checkBlankLines(data); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(data))
	empty, err := checkTokens(tokens)
	if err != nil || empty {
		return &tree{}, err
	}
	file, parseErr := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if parseErr != nil {
		return nil, yamlSyntax(parseErr)
	}
	b := yamlBuilder{anchors: make(map[string]*node)}
	for _, doc := range file.Docs {
		if doc.Body == nil || b.tree.root != nil {
			continue
		}
		if b.tree.root, err = b.value(doc.Body, 0); err != nil {
			return nil, err
		}
	}
	if b.tree.root == nil { // the parser loses what follows a document of comments alone
		return nil, &syntaxError{line: 1, column: 1, message: "the content is not in the first document", fix: "remove the --- lines"}
	}
	return &b.tree, b.tree.root.checkSize()
}

func yamlSyntax(parseErr error) *syntaxError {
	var at yaml.Error
	if errors.As(parseErr, &at) {
		err := &syntaxError{line: 1, column: 1, message: at.GetMessage()}
		if tk := at.GetToken(); tk != nil && tk.Position != nil {
			err.line, err.column = tk.Position.Line, max(tk.Position.Column, 1)
		}
		return err
	}
	return &syntaxError{line: 1, column: 1, message: parseErr.Error()}
}

// yamlBuilder turns the parser's tree into nodes.
type yamlBuilder struct {
	tree    tree
	anchors map[string]*node
}

func placed(tk *token.Token) *node {
	n := &node{line: 1, column: 1, size: 1}
	if tk != nil && tk.Position != nil {
		n.line, n.column = max(tk.Position.Line, 1), max(tk.Position.Column, 1)
	}
	return n
}

func unreadable(at *node, message, fix string) *syntaxError {
	return &syntaxError{line: at.line, column: at.column, message: message, fix: fix}
}

func (b *yamlBuilder) value(in ast.Node, depth int) (*node, *syntaxError) {
	n := placed(in.GetToken())
	switch v := in.(type) {
	case *ast.NullNode:
	case *ast.BoolNode:
		n.kind, n.text = boolNode, fmt.Sprint(v.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = numberNode, in.GetToken().Value
	case *ast.StringNode:
		n.kind, n.text = stringNode, v.Value
		if v.Token.Type == token.StringType && isNumber(v.Value) { // such as 1e3, and beyond 64 bits
			n.kind = numberNode
		}
	case *ast.LiteralNode:
		n.kind, n.text = stringNode, v.Value.Value
	case *ast.SequenceNode:
		return n, b.list(n, v, depth)
	case *ast.MappingNode:
		return n, b.mapping(n, v, depth)
	case *ast.AnchorNode:
		to, err := b.value(v.Value, depth)
		if err == nil {
			b.anchors[v.Name.GetToken().Value] = to
		}
		return to, err
	case *ast.AliasNode:
		to := b.anchors[v.Value.GetToken().Value]
		if to == nil {
			return nil, unreadable(n, fmt.Sprintf("no anchor &%s before this alias", v.Value.GetToken().Value), "")
		}
		here := *to // what is wrong with the whole of it is reported at the alias
		here.line, here.column = n.line, n.column
		return &here, nil
	default:
		return nil, unreadable(n, "unexpected YAML: "+in.Type().String(), "")
	}
	return n, nil
}

func (b *yamlBuilder) list(n *node, in *ast.SequenceNode, depth int) *syntaxError {
	if n.kind = listNode; depth == maxDepth {
		return tooDeep(n.line, n.column)
	}
	for _, value := range in.Values {
		item, err := b.value(value, depth+1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		if n.size += item.size; n.size > maxNodes {
			return n.checkSize()
		}
	}
	return nil
}

func (b *yamlBuilder) mapping(n *node, in *ast.MappingNode, depth int) *syntaxError {
	if n.kind = mappingNode; depth == maxDepth {
		return tooDeep(n.line, n.column)
	}
	m := mapping{node: n}
	var merged []*node
	var merge *member // the first merge key
	for i, entry := range in.Values {
		key, err := yamlKey(entry.Key)
		if err != nil {
			return err
		}
		if i == 0 && !in.IsFlowStyle {
			n.line, n.column = key.line, key.column // the parser has the first colon
		}
		if key.value, err = b.value(entry.Value, depth+1); err != nil {
			return err
		}
		if tk := entry.Value.GetToken(); tk == nil || tk.Type == token.ImplicitNullType {
			key.value.line, key.value.column = key.line, key.column
		}
		switch {
		case !entry.Key.IsMergeKey():
			b.tree.add(&m, key)
		case merge != nil:
			b.tree.duplicates = append(b.tree.duplicates, duplicateKey{key.name, key.line, key.column, merge.line, merge.column})
		default:
			merge = &key
			if merged, err = mergeSources(key.value); err != nil {
				return err
			}
		}
		if n.size > maxNodes {
			return n.checkSize()
		}
	}
	return m.merge(merged)
}

// mergeSources returns the mappings that a merge key names.
func mergeSources(value *node) ([]*node, *syntaxError) {
	sources := []*node{value}
	if value.kind == listNode {
		sources = value.items
	}
	for _, source := range sources {
		if source.kind != mappingNode {
			return nil, unreadable(source, "<< takes an alias of a mapping, or a list of such aliases, not "+source.kind.String(), "")
		}
	}
	return sources, nil
}

// merge adds what merge keys bring: a mapping's own keys come first, then those of the first source.
func (m *mapping) merge(sources []*node) *syntaxError {
	for _, source := range sources {
		for _, key := range source.members {
			if _, own := m.find(key.name); own {
				continue
			}
			m.append(key)
			if m.node.size > maxNodes {
				return m.node.checkSize()
			}
		}
	}
	return nil
}

func yamlKey(in ast.MapKeyNode) (member, *syntaxError) {
	var of ast.Node = in
	if explicit, ok := in.(*ast.MappingKeyNode); ok {
		of = explicit.Value
	}
	if of == nil {
		return member{}, unreadable(placed(in.GetToken()), "a key must be a plain name", "")
	}
	at := placed(of.GetToken())
	key := member{line: at.line, column: at.column}
	switch v := of.(type) {
	case *ast.StringNode:
		key.name = v.Value
	case *ast.MergeKeyNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		key.name = of.GetToken().Value
	default:
		return key, unreadable(at, "a key must be a plain name", "")
	}
	return key, nil
}
