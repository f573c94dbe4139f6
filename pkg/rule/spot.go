package rule

import (
	"strconv"
	"strings"
)

// spot is a place in a file: line and column for the eye, the path for the words. The path is put
// into words only when a problem is reported.
type spot struct {
	line, column int
	path         *step
}

// step is one step down from the root of a file.
type step struct {
	up    *step
	name  string // of a key; empty: a place in a list
	index int
}

// String writes the path as in gatewayFlowRules[0].paramItem.fieldName.
func (s *step) String() string {
	if s == nil {
		return ""
	}
	var steps []*step
	for ; s != nil; s = s.up {
		steps = append(steps, s)
	}
	var b strings.Builder
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].name == "" {
			b.WriteString("[" + strconv.Itoa(steps[i].index) + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(steps[i].name)
	}
	return b.String()
}

// rootSpot is the place of a file's root value.
func rootSpot(n *node) spot { return spot{line: n.line, column: n.column} }

// key is the place of a key, member that of its value.
func (s spot) key(m *member) spot {
	return spot{line: m.line, column: m.column, path: s.path}
}

func (s spot) member(m *member) spot {
	return spot{line: m.value.line, column: m.value.column, path: &step{up: s.path, name: m.name}}
}

// missing is the place of a key that is not there: its mapping's.
func (s spot) missing(name string) spot {
	return spot{line: s.line, column: s.column, path: &step{up: s.path, name: name}}
}

func (s spot) item(i int, n *node) spot {
	return spot{line: n.line, column: n.column, path: &step{up: s.path, index: i}}
}
