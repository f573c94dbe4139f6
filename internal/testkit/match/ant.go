// Package match holds naive twins of the matchers: slow, obvious, and compared with the real ones
// by property tests.
package match

import (
	"regexp"
	"strings"
)

// Ant says whether a path matches an Ant pattern, by trying everything. A pattern without
// wildcards covers its path and all below it.
func Ant(pattern, path string) bool {
	matched, _ := AntSegments(pattern, path)
	return matched
}

// AntSegments also returns which segment of the path each segment of the pattern took, except for `**`,
// which take as few as possible, the first of them first.
func AntSegments(pattern, path string) (matched bool, took map[string]string) {
	p, x := segments(pattern), segments(path)
	if !strings.ContainsAny(pattern, "*?{") {
		return len(x) >= len(p) && strings.Join(x[:len(p)], "/") == strings.Join(p, "/"), nil
	}
	slash := strings.HasSuffix(path, "/")
	took = make(map[string]string)
	var try func(i, j int, deep bool) bool
	try = func(i, j int, deep bool) bool {
		switch {
		case i == len(p):
			return j == len(x) && slash == strings.HasSuffix(pattern, "/")
		case p[i] == "**":
			if i == len(p)-1 {
				return true
			}
			for k := j; k <= len(x); k++ {
				if try(i+1, k, true) {
					return true
				}
			}
			return false
		case j == len(x):
			return i == len(p)-1 && p[i] == "*" && slash && !deep
		}
		if !segment(p[i], x[j]) || !try(i+1, j+1, deep) {
			return false
		}
		if _, later := took[p[i]]; !later {
			took[p[i]] = x[j]
		}
		return true
	}
	return try(0, 0, false), took
}

func segments(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '/' })
}

var variable = regexp.MustCompile(`\\\{[^:{}]*(:[^{}]*)?\\\}`)

// quoted is what QuoteMeta makes of a character, which an expression means as it is.
var quoted = regexp.MustCompile(`\\(.)`)

func segment(pattern, s string) bool {
	e := regexp.QuoteMeta(pattern)
	e = strings.ReplaceAll(e, `\*`, `(?s:.*)`)
	e = strings.ReplaceAll(e, `\?`, `(?s:.)`)
	e = variable.ReplaceAllStringFunc(e, func(v string) string {
		if _, expr, found := strings.Cut(v, ":"); found {
			expr = strings.TrimSuffix(expr, `\}`)
			expr = strings.NewReplacer(`(?s:.*)`, `*`, `(?s:.)`, `?`).Replace(expr)
			return `(?:` + quoted.ReplaceAllString(expr, `$1`) + `)`
		}
		return `(?s:.*)`
	})
	return regexp.MustCompile(`\A(?:` + e + `)\z`).MatchString(s)
}
