package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseJSON reads one JSON value into nodes.
func parseJSON(data []byte) (*tree, *syntaxError) {
	p := &jsonParser{data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	p.dec.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.end(); p.at < len(p.data) {
		if strings.IndexByte(",:]}", p.data[p.at]) >= 0 {
			return nil, p.failure(fmt.Sprintf("%q after the end of the JSON value", p.data[p.at:p.at+1]), "remove it")
		}
		return nil, p.failure("more text after the end of the JSON value", "keep one value in a file, all rules in one [ ] with commas between them")
	}
	p.tree.root = root
	return &p.tree, root.checkSize()
}

// jsonParser walks the tokens of encoding/json. The decoder tells where a token ends; where the next
// one begins is found by skipping what may lie between two tokens.
type jsonParser struct {
	data []byte
	dec  *json.Decoder
	tree tree

	at           int // bytes of data that line and column have taken in
	line, column int // of data[at]
}

// advance moves the place to an offset further on.
func (p *jsonParser) advance(to int) {
	for p.at < to {
		if p.data[p.at] == '\n' {
			p.line, p.column = p.line+1, 1
			p.at++
			continue
		}
		_, size := utf8.DecodeRune(p.data[p.at:])
		p.column++
		p.at += size
	}
}

// skip moves the place to the beginning of the next token.
func (p *jsonParser) skip() {
	to := max(p.at, int(p.dec.InputOffset()))
	for to < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[to]) >= 0 {
		to++
	}
	p.advance(to)
}

// end moves the place behind the value just read and the blanks that follow it.
func (p *jsonParser) end() {
	rest := bytes.TrimLeft(p.data[p.dec.InputOffset():], " \t\r\n")
	p.advance(len(p.data) - len(rest))
}

func (p *jsonParser) failure(message, fix string) *syntaxError {
	return &syntaxError{line: p.line, column: p.column, message: message, fix: fix}
}

// token returns the next token; the place is that of its first byte.
func (p *jsonParser) token() (json.Token, *syntaxError) {
	before := *p
	p.skip()
	tok, err := p.dec.Token()
	if err != nil {
		*p = before
		return nil, p.explain(err)
	}
	if s, ok := tok.(string); ok {
		raw := p.data[p.at:p.dec.InputOffset()]
		if bytes.IndexByte(raw, '\\') >= 0 && strings.Count(s, "\uFFFD") != bytes.Count(raw, []byte("\uFFFD")) {
			return nil, p.failure(`a \u escape that is no character`, "write the character itself, in UTF-8")
		}
	}
	return tok, nil
}

// value reads the value that comes next.
func (p *jsonParser) value(depth int) (*node, *syntaxError) {
	tok, err := p.token()
	if err != nil {
		return nil, err
	}
	return p.valueOf(tok, depth)
}

func (p *jsonParser) valueOf(tok json.Token, depth int) (*node, *syntaxError) {
	n := &node{line: p.line, column: p.column, size: 1}
	switch v := tok.(type) {
	case nil:
		n.kind = nullNode
	case bool:
		n.kind, n.text = boolNode, "false"
		if v {
			n.text = "true"
		}
	case json.Number:
		n.kind, n.text = numberNode, v.String()
	case string:
		n.kind, n.text = stringNode, v
	case json.Delim:
		if depth == maxDepth {
			return nil, tooDeep(p.line, p.column)
		}
		if v == '[' {
			return n, p.list(n, depth+1)
		}
		return n, p.mapping(n, depth+1)
	}
	return n, nil
}

func (p *jsonParser) list(n *node, depth int) *syntaxError {
	n.kind = listNode
	for p.dec.More() {
		item, err := p.value(depth)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		n.size += item.size
	}
	_, err := p.token()
	return err
}

func (p *jsonParser) mapping(n *node, depth int) *syntaxError {
	n.kind = mappingNode
	m := mapping{node: n}
	for p.dec.More() {
		tok, err := p.token()
		if err != nil {
			return err
		}
		key := member{line: p.line, column: p.column}
		key.name, _ = tok.(string) // the decoder takes nothing else for a key
		if key.value, err = p.value(depth); err != nil {
			return err
		}
		p.tree.add(&m, key)
	}
	_, err := p.token()
	return err
}

// explain turns an error of the decoder, which has stopped somewhere after the current place, into one
// with the exact place.
func (p *jsonParser) explain(err error) *syntaxError {
	stopped := max(p.at, int(p.dec.InputOffset()))
	rest := bytes.TrimLeft(p.data[stopped:], " \t\r\n")
	p.advance(len(p.data) - len(rest))
	if len(rest) > 0 && strings.IndexByte("]}:,", rest[0]) >= 0 {
		return p.unexpected(err)
	}
	// The offset in the decoder's error leaves out the punctuation between tokens. Decoding the value
	// at hand anew finds the byte; if the value is whole, it stands where none may stand.
	var syntax *json.SyntaxError
	var whole json.RawMessage
	again := json.NewDecoder(bytes.NewReader(rest)).Decode(&whole)
	switch {
	case errors.As(again, &syntax):
		err = again
		p.advance(p.at + int(max(syntax.Offset, 1)) - 1)
	case again != nil:
		p.advance(len(p.data))
	}
	if p.at == len(p.data) {
		return p.failure("the file ends in the middle of a JSON value", "")
	}
	return p.unexpected(err)
}

// unexpected explains an error of the decoder by the character at the current place.
func (p *jsonParser) unexpected(err error) *syntaxError {
	before := bytes.TrimRight(p.data[:p.at], " \t\r\n")
	after := byte(0)
	if len(before) > 0 {
		after = before[len(before)-1]
	}
	fix := wordFix(p.data[p.at:])
	switch c := p.data[p.at]; {
	case fix != "":
	case c >= utf8.RuneSelf:
		r, _ := utf8.DecodeRune(p.data[p.at:])
		return p.failure(fmt.Sprintf("%s where JSON has none", oddRune(r)), oddRuneFix(r))
	case c == '+' || c == '.' && !isDigit(after):
		return p.failure("a number that does not begin with a digit", "write it without +, and with a digit before the point")
	case c == '_' && isDigit(after):
		return p.failure("a number with _", "write its digits alone")
	case after == '-' && (c == ' ' || c == '\n' || c == '\r'):
		return p.failure("a list as YAML writes it, in a file named .json", "let its name end in .yaml")
	case after == '0' && (c == 'x' || c == 'X' || isDigit(c)):
		return p.failure("a number that is not in decimal, or begins with 0", "write it in decimal, without a leading 0")
	case c == '/' || c == '#':
		return p.failure("JSON has no comments", "remove it, or make the file .yaml")
	case (c == ']' || c == '}') && after == ',':
		return p.failure("a comma before "+string(rune(c)), "remove the comma")
	case c == '\'':
		return p.failure("a string in single quotes", "use double quotes")
	case after == '{':
		fix = "keys are written in double quotes"
	case strings.Contains(err.Error(), "after array element") || strings.Contains(err.Error(), "after object key:value pair"):
		fix = "a comma may be missing before it"
	}
	return p.failure(strings.TrimPrefix(err.Error(), "json: "), fix)
}
