package rule

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The types that an exception's object may be written for.
const (
	classString = iota
	classInt
	classLong
	classShort
	classByte
	classDouble
	classFloat
	classBoolean
	classChar
)

// classTypes are known by Java's names, as Sentinel's dashboard writes them.
var classTypes = &enumeration{byName: true, members: []enumMember{
	{name: "String", alias: "java.lang.String", number: classString},
	{name: "int", alias: "java.lang.Integer", number: classInt},
	{name: "long", alias: "java.lang.Long", number: classLong},
	{name: "short", alias: "java.lang.Short", number: classShort},
	{name: "byte", alias: "java.lang.Byte", number: classByte},
	{name: "double", alias: "java.lang.Double", number: classDouble},
	{name: "float", alias: "java.lang.Float", number: classFloat},
	{name: "boolean", alias: "java.lang.Boolean", number: classBoolean},
	{name: "char", alias: "java.lang.Character", number: classChar},
	{name: "bool", number: classBoolean},
	{name: "string", number: classString},
}}

var integerBits = map[int64]int{classInt: 32, classLong: 64, classShort: 16, classByte: 8}

// classValues returns the texts of the value that an object of a type is, of which there is one unless
// the type has several ways to write it. Requests carry texts, and one that is spelt otherwise is
// another value: 7 is not 07. A reason says why the object is no value of the type; Sentinel leaves such
// an item out without a word.
func classValues(class int64, object string) (values []string, reason, fix string) {
	text := clip(object)
	switch class {
	case classInt, classLong, classShort, classByte:
		n, err := strconv.ParseInt(object, 10, integerBits[class])
		if err == nil {
			return []string{strconv.FormatInt(n, 10)}, "", ""
		}
		if v, reason := parseInteger(object); reason == "" && strings.ContainsAny(object, ".eE") {
			fix = fmt.Sprintf("write %q, or classType double", strconv.FormatInt(v, 10))
		}
		return nil, fmt.Sprintf("%q is no %s", text, classTypes.nameOf(class)), fix
	case classDouble, classFloat:
		return decimalValues(class, object)
	case classBoolean:
		if lower := strings.ToLower(object); lower == "true" || lower == "false" {
			return []string{lower}, "", ""
		}
		return nil, fmt.Sprintf("%q is no boolean", text), `write "true" or "false"`
	case classChar:
		if r, size := utf8.DecodeRuneInString(object); size != len(object) || size == 0 || r > math.MaxUint16 {
			return nil, fmt.Sprintf("%q is no char, which is one character", text), "write classType String"
		}
	}
	return []string{object}, "", ""
}

// decimalValues are the texts of a floating-point number: its shortest decimal, and for a whole one that
// with .0 as well, because languages differ there.
func decimalValues(class int64, object string) (values []string, reason, fix string) {
	bits := 64
	if class == classFloat {
		bits = 32
	}
	v, err := strconv.ParseFloat(object, bits)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || !isNumber(strings.TrimPrefix(object, "+")) {
		return nil, fmt.Sprintf("%q is no %s in decimal", clip(object), classTypes.nameOf(class)), ""
	}
	if v == 0 {
		v = 0 // without a sign
	}
	text := strconv.FormatFloat(v, 'f', -1, bits)
	if len(text) > maxNumberText {
		return nil, fmt.Sprintf("%q has more than %d digits in decimal", clip(object), maxNumberText), "write classType String, and the value as requests have it"
	}
	if strings.Contains(text, ".") {
		return []string{text}, "", ""
	}
	return []string{text, text + ".0"}, "", ""
}
