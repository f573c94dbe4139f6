package rule

import (
	"strings"
	"testing"
)

// What Java takes and RE2 does not is named, with what to write; what is offered compiles.
func TestRegexFix(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`/a(?=b).*`:            "which has no lookahead; list what may follow",
		`/a(?!b).*`:            "which has no lookahead; list what may follow",
		`(?<=a)b`:              "which has no lookbehind; list what may come before",
		`(?<!a)b`:              "which has no lookbehind; list what may come before",
		`(?>a)b`:               "which has no atomic groups; write (?: in its place",
		`a*+`:                  "which has no possessive repetition; write * in place of *+",
		`a++`:                  "which has no possessive repetition; write + in place of ++",
		`a?+`:                  "which has no possessive repetition; write ? in place of ?+",
		`[0-9]{1,3}+`:          "which has no possessive repetition; write {1,3} in place of {1,3}+",
		`(a)\1`:                "which has no backreferences; write out",
		`(?<x>a)\k<x>`:         "which has no backreferences; write out",
		`[a-z&&[^b]]`:          "which has no intersection of classes; list the characters",
		`a{1,2000}`:            "which repeats at most 1000 times",
		`((a{100}){100}){100}`: "which repeats at most 1000 times",
		`\p{Alpha}+`:           `which has no \p{Alpha}; write [[:alpha:]]`,
		`\P{Alnum}`:            `which has no \P{Alnum}; write [[:^alnum:]]`,
		`\p{javaLowerCase}`:    "which has no classes by Java's names",
		`\p{IsAlphabetic}`:     "which has no classes by Java's names",
		`a\Z`:                  `which has no \Z; write \z`,
		`a\h`:                  `which has no \h; write [ \t]`,
		`a\R`:                  `which has no \R; write (?:\r\n|[\r\n])`,
		`\u0041`:               `which has no \u; write \x{0041}`,
		`(?x) a`:               "which has no flag x",
		`\Qa.b`:                `add \E`,
		`**/a`:                 "it looks like a glob: write .* for any characters",
		`a**`:                  "it looks like a glob: write .* for any characters",
		`\\1\y`:                "no lookahead, lookbehind", // an escaped backslash
		`\u00`:                 "no lookahead, lookbehind",
	} {
		reason := regexProblem(expr)
		if reason == "" {
			t.Errorf("%s compiles", expr)
			continue
		}
		fix := regexFix(expr, reason)
		if !strings.Contains(fix, want) || fix == "" {
			t.Errorf("%s: %s, want %s", expr, fix, want)
		}
	}
	for _, expr := range []string{`(`, `a)`, `[a`, `\`} {
		if fix := regexFix(expr, regexProblem(expr)); fix != "" {
			t.Errorf("%s: %s", expr, fix)
		}
	}
	for c, fix := range javaEscapes {
		if reason := regexProblem(fix); reason != "" {
			t.Errorf(`what is offered for \%c: %s`, c, reason)
		}
	}
	for _, class := range javaClasses {
		if reason := regexProblem("[[:" + strings.ToLower(class) + ":][:^" + strings.ToLower(class) + ":]]"); reason != "" {
			t.Errorf("the class %s: %s", class, reason)
		}
	}
}
