package rule

import "strings"

// fieldType is the type of a field as a page calls it.
type fieldType string

// The types of fields. One with an enumeration has none.
const (
	typeText     fieldType = "string"
	typeInteger  fieldType = "integer"
	typeAmount   fieldType = "number, 0 or more"
	typeFigure   fieldType = "number"
	typeWhole    fieldType = "whole number"
	typeBoolean  fieldType = "boolean"
	typeFalse    fieldType = "false" // true is refused with the reason
	typeMapping  fieldType = "mapping"
	typeMappings fieldType = "list of mappings"
	typeTexts    fieldType = "list of strings"
	typeHeaders  fieldType = "mapping of strings"
)

// declaration is what is said of a field to whoever writes rules: the pages, the schemas for editors and the
// suggestions are made from it. What decodes a field is made by the same constructors, and holds to it.
type declaration struct {
	name     string
	doc      string // what it says, in a few words
	typ      fieldType
	unit     string // of a number
	min, max int64  // of an integer; max: bytes of a string, or of each in a list or mapping
	fewest   int    // entries of a list
	most     int    // entries of a mapping; 0: any number
	def      string // what stands for it when absent, as JSON; empty: nothing
	enum     *enumeration
	required bool
	ignored  bool   // known to carry nothing for us
	refused  string // what it asks for, which this version does not have

	upstream string        // what Sentinel does with it
	differs  string        // what we do instead; empty: the same, or what upstream says of it
	nested   func() object // of a mapping, or of each in a list
	numberID bool          // a number is taken as well, and ignored
	notNull  bool          // a null is an error, not the absence of the field
}

// object is what a mapping of some schema holds.
type object struct {
	what   string
	fields []declaration
}

// object describes the mapping that s declares.
func (s *schema[T]) object() object {
	o := object{what: s.what}
	for i := range s.fields {
		o.fields = append(o.fields, s.fields[i].declaration)
	}
	return o
}

// What is said of Sentinel where no more needs to be.
const (
	alike   = "the same"
	unknown = "does not have it"
)

// withoutTicks is a description without the marks by which a page sets names apart.
func withoutTicks(doc string) string { return strings.ReplaceAll(doc, "`", "") }

// in says what a number counts.
func (fd field[T]) in(unit string) field[T] {
	fd.unit = unit
	return fd
}

// sentinel says what Sentinel does with the field.
func (fd field[T]) sentinel(does string) field[T] {
	fd.upstream = does
	return fd
}

// here says what we do instead.
func (fd field[T]) here(does string) field[T] {
	fd.differs = does
	return fd
}

// extension is a field that only we have.
func (fd field[T]) extension() field[T] { return fd.sentinel(unknown) }

// atMost bounds the bytes of a string, or of each in a list or mapping.
func (fd field[T]) atMost(bytes int64) field[T] {
	fd.max = bytes
	return fd
}

// of says what stands in the mappings of a list, of which there must be at least so many.
func (fd field[T]) of(nested func() object, fewest int) field[T] {
	fd.nested, fd.fewest = nested, fewest
	return fd
}

// object describes a rule of the kind.
func (k kind) object() object {
	switch k {
	case kindGatewayFlow:
		return gatewaySchema.object()
	case kindAPIDefinition:
		return apiSchema.object()
	case kindFlow:
		return flowSchema.object()
	case kindParamFlow:
		return paramFlowSchema.object()
	case kindDegrade:
		return degradeSchema.object()
	case kindSystem:
		return systemSchema.object()
	case kindAuthority:
		return authoritySchema.object()
	}
	return object{}
}
