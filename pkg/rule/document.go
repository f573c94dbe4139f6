package rule

import "fmt"

// Document is a file that holds no rules, but is written as they are: JSON or YAML by its name, within the
// same bounds and with the same messages about what cannot be read. Whoever reads it says with Fail what
// is wrong in it. It is for one goroutine at a time.
type Document struct {
	f    *fileLoad
	root *node
}

// ReadDocument reads a file. It never panics, whatever the data is, and does not touch it afterwards.
func ReadDocument(file File) *Document {
	d := &Document{f: &fileLoad{loader: new(loader), name: file.Name}}
	root, empty := d.f.read(file.Data)
	if empty != "" {
		d.f.fail(spot{line: 1, column: 1}, empty, "")
	}
	d.root = root
	return d
}

// Root returns the value that the document is; false if it could not be read, which Problems tells.
func (d *Document) Root() (Value, bool) {
	if d.root == nil {
		return Value{}, false
	}
	return Value{n: d.root, at: rootSpot(d.root)}, true
}

// Fail reports an error at a value, and what to do about it; empty: the message says it all.
func (d *Document) Fail(at Value, message, fix string) { d.f.fail(at.at, message, fix) }

// Problems returns what ReadDocument and Fail have reported, in the order of their places.
func (d *Document) Problems() Problems {
	d.f.problems.sort()
	return d.f.problems
}

// At returns the place of a value of the document.
func (d *Document) At(v Value) Position { return d.f.position(v.at) }

// Value is one value of a Document, or one key. The zero value is that of a field which is not there.
type Value struct {
	n  *node
	at spot
}

// Member is one key of a mapping with its value.
type Member struct {
	Name  string
	Key   Value // for problems of the key itself; it has no content
	Value Value
}

// String says what the value is, such as "a list".
func (v Value) String() string {
	if v.n == nil {
		return nullNode.String()
	}
	return v.n.kind.String()
}

// Null tells a value that is null, or not there.
func (v Value) Null() bool { return v.n == nil || v.n.kind == nullNode }

// Text returns a string.
func (v Value) Text() (string, bool) { return v.textOf(stringNode) }

// Number returns a number as it is written, by JSON's grammar or, in YAML, another.
func (v Value) Number() (string, bool) { return v.textOf(numberNode) }

// Bool returns a boolean.
func (v Value) Bool() (value, ok bool) {
	text, ok := v.textOf(boolNode)
	return text == "true", ok
}

func (v Value) textOf(k nodeKind) (string, bool) {
	if v.n == nil || v.n.kind != k {
		return "", false
	}
	return v.n.text, true
}

// Items returns the values of a list.
func (v Value) Items() ([]Value, bool) {
	if v.n == nil || v.n.kind != listNode {
		return nil, false
	}
	items := make([]Value, len(v.n.items))
	for i, n := range v.n.items {
		items[i] = Value{n, v.at.item(i, n)}
	}
	return items, true
}

// Members returns the keys of a mapping with their values, each once.
func (v Value) Members() ([]Member, bool) {
	if v.n == nil || v.n.kind != mappingNode {
		return nil, false
	}
	members := make([]Member, len(v.n.members))
	for i := range v.n.members {
		m := &v.n.members[i]
		members[i] = Member{Name: m.name, Key: Value{at: v.at.key(m)}, Value: Value{m.value, v.at.member(m)}}
	}
	return members, true
}

// Missing is the place of a key that a mapping lacks.
func (v Value) Missing(name string) Value { return Value{at: v.at.missing(name)} }

// UnknownField is the message about a key that is none of the known ones, with the one that it was most
// likely meant to be, or all of them.
func UnknownField(name string, known []string) string {
	return fmt.Sprintf("unknown field %q%s", clip(name), DidYouMean(name, known))
}
