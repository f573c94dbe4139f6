package rule

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// The YAML parser takes time quadratic in the blank lines of a block scalar and in the keys of one
// mapping. Files that have more of them than any rule file needs do not reach it.
const (
	maxBlankLines = 64 // in a row
	maxYAMLKeys   = 256
)

// checkBlankLines refuses a file with too many blank lines in a row. A line ends as the parser has it
// end: in \n, \r\n or \r.
func checkBlankLines(data []byte) *syntaxError {
	line, blank := 0, 0
	for {
		end := bytes.IndexAny(data, "\r\n")
		if end < 0 {
			return nil
		}
		line++
		if blank++; len(bytes.TrimSpace(data[:end])) > 0 {
			blank = 0
		}
		if blank > maxBlankLines {
			return &syntaxError{line: line, column: 1, message: fmt.Sprintf("more than %d blank lines in a row", maxBlankLines), fix: "remove them"}
		}
		next := data[end+1:]
		if data[end] == '\r' {
			next = bytes.TrimPrefix(next, []byte("\n"))
		}
		data = next
	}
}

// checkTokens refuses what must not reach the parser: nesting that would exhaust its stack, mappings
// that would take it too long, and a second document, which it would drop in silence. It reports
// whether the file has no content.
func checkTokens(tokens token.Tokens) (empty bool, err *syntaxError) {
	g := yamlGuard{empty: true}
	for _, tk := range tokens {
		if err := g.token(tk); err != nil {
			return false, err
		}
	}
	return g.empty, nil
}

// yamlGuard follows the structure of a file over its tokens.
type yamlGuard struct {
	empty  bool
	second *token.Token // the line that ends the first document with content
	run    int          // indicators in a row, each of which may open a level
	line   int          // of the last token
	open   []openLevel
}

// openLevel is a mapping or list that is not known to have ended: in brackets, or the lines that begin
// at one column, within the lines that begin further left.
type openLevel struct {
	bracket bool
	list    bool
	column  int
	entries int
}

func (g *yamlGuard) token(tk *token.Token) *syntaxError {
	at := placed(tk)
	switch tk.Type {
	case token.DocumentHeaderType:
		if !g.empty && g.second == nil {
			g.second = tk
		}
		return nil
	case token.DocumentEndType, token.CommentType:
		return nil
	case token.DirectiveType:
		return unreadable(at, "YAML directives are not supported", "remove the line")
	case token.TagType:
		return unreadable(at, "YAML tags are not supported", `write strings as "…" and numbers plain`)
	case token.SequenceEntryType, token.MappingKeyType, token.AnchorType:
		g.run++
	case token.StringType, token.SingleQuoteType, token.DoubleQuoteType:
		g.run = 0
	}
	if g.empty = false; g.second != nil {
		return unreadable(placed(g.second), "a second YAML document begins here", "keep one document in a file")
	}
	if g.follow(tk, at); len(g.open) > maxDepth || g.run > 2*maxDepth {
		return tooDeep(at.line, at.column)
	}
	if n := len(g.open); n > 0 && !g.open[n-1].list && g.open[n-1].entries > maxYAMLKeys {
		return unreadable(at, fmt.Sprintf("a mapping of more than %d keys", maxYAMLKeys), "")
	}
	return nil
}

// follow opens and closes levels and counts their entries.
func (g *yamlGuard) follow(tk *token.Token, at *node) {
	top := len(g.open) - 1
	bracket := top >= 0 && g.open[top].bracket
	newLine := at.line != g.line && !bracket && !continues(tk)
	g.line = at.line
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		g.open = append(g.open, openLevel{bracket: true, list: tk.Type == token.SequenceStartType, entries: 1})
	case token.SequenceEndType, token.MappingEndType:
		if bracket {
			g.open = g.open[:top]
		}
	case token.CollectEntryType:
		if bracket {
			g.open[top].entries++
		}
	default:
		if newLine {
			g.begin(at.column, tk.Type == token.SequenceEntryType)
		}
	}
}

// begin takes in a line outside brackets.
func (g *yamlGuard) begin(column int, list bool) {
	for n := len(g.open); n > 0 && g.open[n-1].column > column; n-- {
		g.open = g.open[:n-1]
	}
	// A list may stand at the column of the key that it is the value of.
	if n := len(g.open); n > 1 && !list && g.open[n-1].list && g.open[n-2].column == column {
		g.open = g.open[:n-1]
	}
	if n := len(g.open); n == 0 || g.open[n-1].column < column || g.open[n-1].list != list {
		g.open = append(g.open, openLevel{list: list, column: column})
	}
	g.open[len(g.open)-1].entries++
}

// continues tells the text of a block scalar, which has no column of its own.
func continues(tk *token.Token) bool {
	return tk.Prev != nil && (tk.Prev.Type == token.LiteralType || tk.Prev.Type == token.FoldedType)
}
