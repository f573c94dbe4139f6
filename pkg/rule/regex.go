package rule

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// checkRegex reports an expression that does not compile, and one that looks like a glob.
func (f *fileLoad) checkRegex(at spot, expr string) {
	if reason := regexProblem(expr); reason != "" {
		f.fail(at, fmt.Sprintf("%q is no regular expression: %s", clip(expr), reason), regexFix(expr, reason))
		return
	}
	if star := globStar(expr); star > 0 {
		f.warn(at, fmt.Sprintf("%q looks like a glob: as a regular expression, * repeats the %q before it", clip(expr), expr[star-1:star]),
			"write .* for any characters")
	}
}

const openQuotation = `\Q without \E`

// regexProblem says why expr does not compile; empty if it does.
func regexProblem(expr string) string {
	// What parses compiles; compiling is the engine's work and several times as dear.
	_, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		// It will be matched against whole inputs: what compiles alone could still reach out of
		// the group around it, as an unclosed \Q does.
		if _, err = syntax.Parse(`\A(?:`+expr+`)\z`, syntax.Perl); err != nil {
			return openQuotation
		}
		if intersects(expr) {
			return classIntersection
		}
		return ""
	}
	var at *syntax.Error
	if errors.As(err, &at) {
		return at.Code.String() + ": " + clip(at.Expr)
	}
	return err.Error()
}

const classIntersection = "&& within a class"

// intersects tells Java's intersection of classes, which RE2 reads as two more characters of the class.
func intersects(expr string) bool {
	class := false
	for i := 0; i < len(expr); i++ {
		switch {
		case expr[i] == '\\':
			i++
		case expr[i] == '[':
			class = true
		case expr[i] == ']':
			class = false
		case class && strings.HasPrefix(expr[i:], "&&"):
			return true
		}
	}
	return false
}

// globStar returns the place of a star that was most likely meant as a wildcard: one behind a letter,
// digit, slash or dash, in an expression that uses nothing else that regular expressions have. 0: none.
func globStar(expr string) int {
	if strings.ContainsAny(expr, `.[](){}|+^$\?`) {
		return 0
	}
	i := strings.IndexByte(expr, '*')
	return max(i, 0)
}
