package rule

import (
	"fmt"
	"strconv"
	"strings"
)

// schema declares the fields of one kind of mapping. Decoding, the list of known names and the
// suggestions all follow from it.
type schema[T any] struct {
	what     string // such as "a gateway flow rule"
	fields   []field[T]
	mistaken map[string]string // names that other kinds have for a field, with its name here
}

// field declares one field, and how it is read. The functions, made by the constructors below, hold to the
// declaration.
type field[T any] struct {
	declaration

	decode func(f *fileLoad, at spot, n *node, into *T)
	absent func(into *T) // nil: nothing to do
}

func (fd field[T]) require() field[T] {
	fd.required, fd.def = true, ""
	return fd
}

// optional is a field without a default, for which nothing stands when it is absent.
func (fd field[T]) optional() field[T] {
	fd.def, fd.absent = "", nil
	return fd
}

// quiet is a field whose default is no news, because another field says what holds then.
func (fd field[T]) quiet() field[T] {
	fd.def = ""
	return fd
}

// located is the value of a field and where it stands. The zero value is a field not yet decoded.
type located[V any] struct {
	v     V
	at    spot
	given bool // written by the user, be it valid or not
	ok    bool // v holds a valid value, as written or by default
}

func (l *located[V]) set(at spot, v V) { l.v, l.at, l.given, l.ok = v, at, true, true }

// invalid notes a value that was reported already.
func (l *located[V]) invalid(at spot) { l.at, l.given, l.ok = at, true, false }

func (l *located[V]) preset(v V) { l.v, l.ok = v, true }

func textField[T any](name, doc string, maxBytes int64, into func(*T) *located[string]) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, typ: typeText, max: maxBytes},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			f.text(at, n, maxBytes, into(t))
		},
		absent: func(t *T) { into(t).preset("") },
	}
}

// textDefault is a text that stands for something when it is absent.
func textDefault[T any](name, doc string, maxBytes int64, def string, into func(*T) *located[string]) field[T] {
	fd := textField(name, doc, maxBytes, into)
	fd.def = strconv.Quote(def)
	fd.absent = func(t *T) { into(t).preset(def) }
	return fd
}

func integerField[T any](name, doc string, minimum, maximum, def int64, into func(*T) *located[int64]) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, typ: typeInteger, min: minimum, max: maximum, def: strconv.FormatInt(def, 10)},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			f.integer(at, n, minimum, maximum, into(t))
		},
		absent: func(t *T) { into(t).preset(def) },
	}
}

// amountField takes a number of 0 or more, exactly. A def of "" is none.
func amountField[T any](name, doc, def, negativeFix string, into func(*T) *located[amount]) field[T] {
	fd := field[T]{declaration: declaration{name: name, doc: doc, typ: typeAmount, def: def},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			f.amount(at, n, negativeFix, into(t))
		},
	}
	if def != "" {
		exact, _ := parseNumber(def)
		fd.absent = func(t *T) { into(t).preset(amount{text: def, exact: exact}) }
	}
	return fd
}

func boolField[T any](name, doc string, into func(*T) *located[bool]) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, typ: typeBoolean, def: "false"},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			f.boolean(at, n, into(t))
		},
		absent: func(t *T) { into(t).preset(false) },
	}
}

func enumField[T any](name, doc string, e *enumeration, def int64, into func(*T) *located[int64]) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, enum: e, def: strconv.Quote(e.nameOf(def))},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			f.choice(at, n, e, into(t))
		},
		absent: func(t *T) { into(t).preset(def) },
	}
}

func mappingField[T, U any](name, doc string, s *schema[U], into func(*T) *located[*U]) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, typ: typeMapping, nested: s.object},
		decode: func(f *fileLoad, at spot, n *node, t *T) {
			u := new(U)
			if decodeMapping(f, s, at, n, u) {
				into(t).set(at, u)
			} else {
				into(t).invalid(at)
			}
		},
		absent: func(t *T) { into(t).preset(nil) },
	}
}

// customField is a field with a decoding of its own.
func customField[T any](name, doc string, typ fieldType, decode func(f *fileLoad, at spot, n *node, into *T)) field[T] {
	return field[T]{declaration: declaration{name: name, doc: doc, typ: typ}, decode: decode}
}

// ignoredFields are known, mean nothing here, and are reported as such.
func ignoredFields[T any](names ...string) []field[T] {
	var fields []field[T]
	for _, name := range names {
		fields = append(fields, field[T]{declaration: declaration{name: name, doc: "Sentinel's bookkeeping; ignored", ignored: true},
			decode: func(f *fileLoad, at spot, _ *node, _ *T) { f.ignore(name, at) },
		})
	}
	return fields
}

// refusedField is one that asks for something this version does not have.
func refusedField[T any](name, what string) field[T] {
	return field[T]{declaration: declaration{name: name, doc: what, refused: what},
		decode: func(f *fileLoad, at spot, _ *node, _ *T) { f.unsupported(at, what) },
	}
}

// names lists the fields worth suggesting.
func (s *schema[T]) names() []string {
	var names []string
	for i := range s.fields {
		if !s.fields[i].ignored && s.fields[i].refused == "" {
			names = append(names, s.fields[i].name)
		}
	}
	return names
}

// likely tells whether a field is one of the schema, or written for one.
func (s *schema[T]) likely(name string) bool { return s.mistaken[name] != "" || s.index(name) >= 0 }

func (s *schema[T]) index(name string) int {
	for i := range s.fields {
		if s.fields[i].name == name {
			return i
		}
	}
	return -1
}

// decodeMapping reads a mapping by its schema. Every problem in it is reported; false means that n
// is no mapping at all. A null stands for an absent field, as it does for Java's mappers.
func decodeMapping[T any](f *fileLoad, s *schema[T], at spot, n *node, into *T) bool {
	if n.kind != mappingNode {
		fix := ""
		if before, _, ok := strings.Cut(n.text, ":"); ok && n.kind == stringNode && s.likely(before) {
			fix = "write a space behind each colon" // without one YAML has a text
		}
		f.fail(at, fmt.Sprintf("is %s, not %s", n.kind, s.what), fix)
		return false
	}
	var seen uint64 // by index; a schema has fewer than 64 fields
	for i := range n.members {
		m := &n.members[i]
		fd := s.index(m.name)
		if fd < 0 && f.full() { // a suggestion costs more than all else
			return true
		}
		if fd < 0 {
			hint := DidYouMean(m.name, s.names())
			if meant, ok := s.mistaken[m.name]; ok {
				hint = fmt.Sprintf("; did you mean %q?", meant)
			}
			f.fail(at.key(m), fmt.Sprintf("unknown field %q%s", clip(m.name), hint), "")
			continue
		}
		if m.value.kind == nullNode {
			continue
		}
		seen |= 1 << fd
		s.fields[fd].decode(f, at.member(m), m.value, into)
	}
	for i := range s.fields {
		fd := &s.fields[i]
		if seen&(1<<i) != 0 {
			continue
		}
		if fd.required {
			f.fail(at.missing(fd.name), "is missing: "+withoutTicks(fd.doc), "")
		} else if fd.absent != nil {
			fd.absent(into)
		}
	}
	return true
}
