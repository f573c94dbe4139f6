package rule

import "fmt"

// nodeKind is the type of a value in a file.
type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	listNode
	mappingNode
)

// String names the kind as a user would.
func (k nodeKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "a mapping"}[k]
}

// node is one value of a file, JSON and YAML alike, with its place. Numbers keep their text, so that
// no digit is lost before it is judged. What YAML aliases share is shared here, and not changed once
// built.
type node struct {
	kind         nodeKind
	line, column int
	text         string // of a boolean, number or string
	items        []*node
	members      []member
	size         int // nodes in it, itself included; what an alias shares counts at every use
}

// member is one key of a mapping with its value.
type member struct {
	name         string
	line, column int
	value        *node
}

// get returns the value of a key of a mapping; nil if it is absent or null, or n is no mapping.
func (n *node) get(name string) *node {
	for i := range n.members {
		if n.members[i].name == name && n.members[i].value.kind != nullNode {
			return n.members[i].value
		}
	}
	return nil
}

// having returns those of the keys that n holds, null values left out.
func (n *node) having(names ...string) []string {
	var held []string
	for _, name := range names {
		if n.get(name) != nil {
			held = append(held, name)
		}
	}
	return held
}

// Bounds on files. A rule nests five deep; 10 000 rules with every field are 4 MiB of JSON.
const (
	maxDepth     = 32
	maxNodes     = 1 << 20
	maxJSONBytes = 16 << 20
	maxYAMLBytes = 2 << 20 // the YAML parser takes a hundred times as much memory
)

// syntaxError is the problem of a file that cannot be read into nodes; nothing more is known of it.
type syntaxError struct {
	line, column int
	message, fix string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.column, e.message) }

func tooDeep(line, column int) *syntaxError {
	return &syntaxError{line: line, column: column, message: fmt.Sprintf("nested more than %d levels deep", maxDepth)}
}

// checkSize refuses a tree with more values than are worth decoding, such as aliases can make from
// a short file.
func (n *node) checkSize() *syntaxError {
	if n.size <= maxNodes {
		return nil
	}
	return &syntaxError{line: n.line, column: n.column, message: fmt.Sprintf("holds more than %d values", maxNodes), fix: "split the file"}
}

// tree is a file read into nodes. Duplicate keys do not keep the rest from being decoded.
type tree struct {
	root       *node
	duplicates []duplicateKey
}

// duplicateKey is a key that its mapping holds already.
type duplicateKey struct {
	name                   string
	line, column           int
	firstLine, firstColumn int
}

// mapping builds one mapping node.
type mapping struct {
	node *node
	seen map[string]int // made once the mapping is too large to be searched
}

// add appends a key, unless it is there already: then the first one counts and the second is noted.
func (t *tree) add(m *mapping, key member) {
	if first, dup := m.find(key.name); dup {
		t.duplicates = append(t.duplicates, duplicateKey{key.name, key.line, key.column, first.line, first.column})
		return
	}
	m.append(key)
}

func (m *mapping) append(key member) {
	if m.seen != nil {
		m.seen[key.name] = len(m.node.members)
	}
	if m.node.members == nil {
		m.node.members = make([]member, 0, 8) // of which a rule has about as many
	}
	m.node.members = append(m.node.members, key)
	m.node.size += key.value.size
}

func (m *mapping) find(name string) (member, bool) {
	const searched = 24 // a rule has fewer fields
	if m.seen == nil && len(m.node.members) >= searched {
		m.seen = make(map[string]int)
		for i, have := range m.node.members {
			m.seen[have.name] = i
		}
	}
	if m.seen != nil {
		i, ok := m.seen[name]
		if !ok {
			return member{}, false
		}
		return m.node.members[i], true
	}
	for _, have := range m.node.members {
		if have.name == name {
			return have, true
		}
	}
	return member{}, false
}
