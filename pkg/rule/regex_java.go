package rule

import (
	"fmt"
	"strings"
)

// javaOnly is what Java's regular expressions have and RE2 does not, with what to write instead.
var javaOnly = []struct{ text, name, fix string }{
	{"(?=", "lookahead", "list what may follow, or write a rule or item for each case"},
	{"(?!", "lookahead", "list what may follow, or write a rule or item for each case"},
	{"(?<=", "lookbehind", "list what may come before, or write a rule or item for each case"},
	{"(?<!", "lookbehind", "list what may come before, or write a rule or item for each case"},
	{"(?>", "atomic groups", "write (?: in its place; RE2 takes no longer without them"},
	{`\k<`, "backreferences", "write out what may stand there"},
	{"(?x)", "flag x", "write it without blanks and comments"},
}

// javaEscapes are Java's sequences of a backslash and a letter that RE2 does not have.
var javaEscapes = map[byte]string{
	'Z': `\z`, 'h': `[ \t]`, 'H': `[^ \t]`, 'R': `(?:\r\n|[\r\n])`, 'G': `\A`, 'X': `.`, 'e': `\x1B`, 'N': `[^\n]`,
}

// javaClasses are Java's names of ASCII classes; RE2 has them in lower case, in [[: and :]].
var javaClasses = []string{"Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank", "Cntrl", "XDigit", "Space"}

// regexFix says what to do about an expression that does not compile; empty if the reason says it.
func regexFix(expr, reason string) string {
	switch {
	case reason == openQuotation:
		return `add \E`
	case reason == classIntersection:
		return "expressions are RE2, which has no intersection of classes; list the characters"
	case strings.HasPrefix(reason, "invalid repeat count"):
		return "expressions are RE2, which repeats at most 1000 times, all repetitions around a part multiplied"
	}
	if doubled, ok := strings.CutPrefix(reason, "invalid nested repetition operator: "); ok && strings.HasSuffix(doubled, "+") {
		return fmt.Sprintf("expressions are RE2, which has no possessive repetition; write %s in place of %s, which takes no longer", strings.TrimSuffix(doubled, "+"), doubled)
	}
	for _, j := range javaOnly {
		if strings.Contains(expr, j.text) {
			return fmt.Sprintf("expressions are RE2, which has no %s; %s", j.name, j.fix)
		}
	}
	for i := 0; i+1 < len(expr); i++ {
		if expr[i] != '\\' {
			continue
		}
		if fix := escapeFix(expr[i+1:]); fix != "" {
			return "expressions are RE2, which has no " + fix
		}
		i++ // an escaped backslash does not escape
	}
	if strings.HasPrefix(expr, "*") || strings.Contains(expr, "**") {
		return "it looks like a glob: write .* for any characters"
	}
	if !strings.HasPrefix(reason, "invalid") { // a bracket too many or too few, which is no one's syntax
		return ""
	}
	return "expressions are RE2: no lookahead, lookbehind, backreferences or possessive repetition"
}

// escapeFix names the sequence that begins behind a backslash, and what to write instead; empty if RE2 has it.
func escapeFix(rest string) string {
	switch c := rest[0]; {
	case c >= '1' && c <= '9':
		return "backreferences; write out what may stand there"
	case javaEscapes[c] != "":
		return fmt.Sprintf(`\%c; write %s`, c, javaEscapes[c])
	case c == 'u' && len(rest) >= 5:
		return fmt.Sprintf(`\u; write \x{%s}`, clip(rest[1:5]))
	case c == 'p' || c == 'P':
		not := ""
		if c == 'P' {
			not = "^"
		}
		for _, class := range javaClasses {
			if strings.HasPrefix(rest[1:], "{"+class+"}") {
				return fmt.Sprintf(`\%c{%s}; write [[:%s%s:]]`, c, class, not, strings.ToLower(class))
			}
		}
		if strings.HasPrefix(rest[1:], "{java") || strings.HasPrefix(rest[1:], "{Is") || strings.HasPrefix(rest[1:], "{In") {
			return `classes by Java's names; write one of Unicode's, such as \p{Lu} or \p{Greek}`
		}
	}
	return ""
}
