package rule

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"unicode"
)

// notAllowed is what the YAML parser says of a second colon in a line, and of much else.
const notAllowed = "mapping value is not allowed"

// explained is a syntax error with what most likely led to it: a file that is not finished, or not in
// the form that its name says. The parser's own fix, if any, comes first only where the cause does not
// show in the text.
func explained(data []byte, e *syntaxError) *syntaxError {
	if line := conflictMarker(data); line > 0 {
		return &syntaxError{line: line, column: 1, message: "a merge conflict marker", fix: "resolve the conflict"}
	}
	line := lineAt(data, e.line)
	switch trimmed := bytes.TrimLeft(line, " \t"); {
	case unquoted(line, "{{") || unquoted(line, "{%"):
		e.message, e.fix = "template text that was not filled in", "give the file that the template becomes"
	case e.fix != "":
	case oddSpace(trimmed) >= 0 && strings.Contains(e.message, notAllowed):
		e.message, e.fix = oddRune(oddSpace(trimmed))+", which YAML takes for a part of the text beside it", "write a plain space"
	case strings.Contains(e.message, notAllowed):
		e.fix = `a value that holds ": " stands in quotes, and a key further left than what belongs to it`
	case strings.Contains(e.message, "tab character"):
		e.message, e.fix = "a tab where a key begins", "indent with spaces"
	case bytes.IndexByte(line[:len(line)-len(trimmed)], '\t') >= 0 && strings.Contains(e.message, "cannot start any token"):
		e.message, e.fix = "a tab in the indentation", "indent with spaces"
	}
	return e
}

// oddSpace finds a blank that is none in YAML; negative if there is none.
func oddSpace(line []byte) rune {
	for _, r := range string(line) {
		if r > unicode.MaxASCII && (unicode.IsSpace(r) || r == 0xFEFF) {
			return r
		}
	}
	return -1
}

// conflictMarker finds the first line that Git writes where two versions of a file do not fit; 0 if
// there is none.
func conflictMarker(data []byte) int {
	for n := 1; ; n++ {
		line, rest, more := bytes.Cut(data, []byte("\n"))
		for _, marker := range []string{"<<<<<<< ", ">>>>>>> "} {
			if bytes.HasPrefix(line, []byte(marker)) {
				return n
			}
		}
		if !more {
			return 0
		}
		data = rest
	}
}

// lineAt returns a line by its number, which begins at 1.
func lineAt(data []byte, number int) []byte {
	for ; number > 1; number-- {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return line
}

// unquoted tells whether text stands in a line outside of quotes.
func unquoted(line []byte, text string) bool {
	before, _, found := bytes.Cut(line, []byte(text))
	return found && bytes.Count(before, []byte(`"`))%2 == 0 && bytes.Count(before, []byte(`'`))%2 == 0
}

// oddRune names a character that stands outside of strings and that editors and web pages put there.
func oddRune(r rune) string {
	if unicode.IsPrint(r) {
		return fmt.Sprintf("the character %q", r)
	}
	return fmt.Sprintf("the invisible character U+%04X", r)
}

func oddRuneFix(r rune) string {
	switch {
	case strings.ContainsRune("“”„‟«»‘’‚‛", r):
		return `write plain quotes, "`
	case strings.ContainsRune("，：｛｝［］", r): // as Chinese input methods write them
		return fmt.Sprintf("write %c", r-'，'+',')
	case unicode.IsSpace(r):
		return "write a plain space"
	case !unicode.IsPrint(r):
		return "remove it"
	}
	return ""
}

// wordFix says what to write instead of a word that JSON has not, but other languages have.
func wordFix(text []byte) string {
	for _, w := range []struct{ word, fix string }{
		{"NaN", "write a number"}, {"Infinity", "write a number"}, {"-Infinity", "write a number"},
		{"True", "write true"}, {"False", "write false"}, {"None", "write null, or leave the field out"},
	} {
		if bytes.HasPrefix(text, []byte(w.word)) {
			return w.fix
		}
	}
	return ""
}

// decimalFix says how to write a number that YAML, but not JSON, knows in the form of the text.
func decimalFix(text string) string {
	if len(text) > maxNumberText {
		return ""
	}
	digits := strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	switch word := strings.TrimLeft(strings.ToLower(digits), "-."); {
	case word == "nan" || word == "inf":
		return "write a number"
	case isNumber(digits):
		return "write " + digits
	case strings.HasPrefix(digits, ".") && isNumber("0"+digits):
		return "write 0" + digits
	case isNumber(strings.Replace(digits, ".", ".0", 1)): // such as 5. and 5.e3
		return "write " + strings.Replace(digits, ".", ".0", 1)
	case strings.HasPrefix(word, "0x") || strings.HasPrefix(word, "0o") || strings.HasPrefix(word, "0b"):
		if n, ok := new(big.Int).SetString(digits, 0); ok {
			return fmt.Sprintf("write %s", n)
		}
	}
	return "write it in decimal, without a leading 0"
}
