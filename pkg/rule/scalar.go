package rule

import (
	"fmt"
	"math/big"
	"strings"
)

// text reads a string of at most maxBytes.
func (f *fileLoad) text(at spot, n *node, maxBytes int64, into *located[string]) {
	into.invalid(at)
	switch {
	case n.kind == numberNode || n.kind == boolNode:
		f.fail(at, fmt.Sprintf("is %s, not a string", n.kind), fmt.Sprintf("write %q", clip(n.text)))
	case n.kind != stringNode:
		f.fail(at, fmt.Sprintf("is %s, not a string", n.kind), "")
	case int64(len(n.text)) > maxBytes:
		f.fail(at, fmt.Sprintf("is %d bytes long; at most %d are allowed", len(n.text), maxBytes), "")
	default:
		into.set(at, n.text)
	}
}

// integer reads a whole number within bounds.
func (f *fileLoad) integer(at spot, n *node, minimum, maximum int64, into *located[int64]) {
	into.invalid(at)
	if !f.isNumber(at, n) {
		return
	}
	v, reason := parseInteger(n.text)
	switch {
	case reason == outOfRange:
		f.fail(at, fmt.Sprintf("is %s; it must be from %d to %d", clip(n.text), minimum, maximum), "")
	case reason != "":
		f.fail(at, fmt.Sprintf("%s %s", clip(n.text), reason), plainFix(n.text))
	case v < minimum || v > maximum:
		f.fail(at, fmt.Sprintf("is %d; it must be from %d to %d", v, minimum, maximum), "")
	default:
		into.set(at, v)
	}
}

// amount is a number as written and exactly.
type amount struct {
	text  string
	exact *big.Rat
}

// amount reads a number of 0 or more.
func (f *fileLoad) amount(at spot, n *node, negativeFix string, into *located[amount]) {
	into.invalid(at)
	if !f.isNumber(at, n) {
		return
	}
	exact, reason := parseNumber(n.text)
	switch {
	case reason != "":
		f.fail(at, clip(n.text)+" "+reason, plainFix(n.text))
	case exact.Sign() < 0:
		f.fail(at, clip(n.text)+" is negative", negativeFix)
	default:
		into.set(at, amount{text: n.text, exact: exact})
	}
}

// plainFix is how to write a number that is not written as JSON writes them.
func plainFix(text string) string {
	if isNumber(text) {
		return ""
	}
	return decimalFix(text)
}

// isNumber reports a value that is no number, and how to write the one that was meant.
func (f *fileLoad) isNumber(at spot, n *node) bool {
	if n.kind == numberNode {
		return true
	}
	fix := ""
	if n.kind == stringNode && isNumber(strings.TrimSpace(n.text)) {
		fix = "write " + clip(strings.TrimSpace(n.text)) + " without quotes"
	}
	f.fail(at, fmt.Sprintf("is %s, not a number", n.kind), fix)
	return false
}

func (f *fileLoad) boolean(at spot, n *node, into *located[bool]) {
	into.invalid(at)
	if n.kind != boolNode {
		f.fail(at, fmt.Sprintf("is %s, not a boolean", n.kind), "write true or false")
		return
	}
	into.set(at, n.text == "true")
}

// choice reads a value of an enumeration.
func (f *fileLoad) choice(at spot, n *node, e *enumeration, into *located[int64]) {
	into.invalid(at)
	m, reason := e.find(n)
	if reason != "" {
		f.fail(at, reason, "")
		return
	}
	into.set(at, m.number)
}
