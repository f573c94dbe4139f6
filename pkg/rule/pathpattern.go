package rule

import (
	"fmt"
	"strings"
)

// checkPath reports a path pattern that can never match. Paths are compared in one spelling: no empty
// or dot segments, no path parameters, escapes only where they must be and in upper case.
func (f *fileLoad) checkPath(at spot, pattern string, match PathMatch) {
	switch {
	case match == PathRegex:
		f.checkRegex(at, pattern)
		return
	case pattern[0] != '/':
		f.fail(at, fmt.Sprintf("%q does not begin with /, as every path does", clip(pattern)), fmt.Sprintf("write %q", "/"+clip(pattern)))
		return
	case match == PathPrefix && hasWildcard(pattern):
		f.checkAnt(at, pattern)
		return
	case match == PathExact && strings.ContainsAny(pattern, "?{"):
		f.fail(at, fmt.Sprintf("%q never matches: matchStrategy exact has no wildcards, and paths are compared without query", clip(pattern)),
			"write matchStrategy prefix, or the path alone")
		return
	case match == PathExact && strings.Contains(pattern, "*"):
		f.warn(at, fmt.Sprintf("%q is compared as it is: matchStrategy exact has no wildcards", clip(pattern)), "write matchStrategy prefix")
	}
	if normal := normalPath(pattern); normal != pattern {
		f.neverMatches(at, "paths", pattern, normal)
		return
	}
	if match == PathPrefix {
		f.warn(at, fmt.Sprintf("%q is that path and all below it; in Sentinel, where a prefix is an Ant pattern, one without wildcards never matches", clip(pattern)),
			fmt.Sprintf("write %q, which is the same to both, or matchStrategy exact for the path alone", strings.TrimSuffix(clip(pattern), "/")+"/**"))
	}
}

// neverMatches reports a pattern for paths, hosts or the like that is not in their one spelling.
func (f *fileLoad) neverMatches(at spot, what, pattern, normal string) {
	f.fail(at, fmt.Sprintf("%q never matches: %s are compared in the spelling %q", clip(pattern), what, clip(normal)), fmt.Sprintf("write %q", clip(normal)))
}

// hasWildcard tells an Ant pattern from a literal, as Spring does.
func hasWildcard(pattern string) bool {
	open := strings.IndexByte(pattern, '{')
	return strings.ContainsAny(pattern, "*?") || open >= 0 && strings.IndexByte(pattern[open:], '}') > 0
}

// checkAnt reports an Ant pattern with a variable that is not closed or does not compile, or with a
// literal part that no path has.
func (f *fileLoad) checkAnt(at spot, pattern string) {
	segments, ok := antSegments(pattern)
	if !ok {
		f.fail(at, fmt.Sprintf("%q has a { or } without its counterpart", clip(pattern)), "")
		return
	}
	var spelt strings.Builder
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && i < len(segments)-1 {
			f.fail(at, fmt.Sprintf("%q never matches: no path has a segment %q when it is compared", clip(pattern), segment), "remove that segment")
			return
		}
		literal := segment
		for literal != "" {
			var expr string
			var variable bool
			before := literal
			literal, expr, before, variable = nextVariable(before)
			spelt.WriteString(normalText(before, "*?"))
			if !variable {
				continue
			}
			spelt.WriteString("{" + expr + "}")
			if _, re, has := strings.Cut(expr, ":"); has {
				if reason := regexProblem(re); reason != "" {
					f.fail(at, fmt.Sprintf("%q is no regular expression: %s", clip(re), reason), regexFix(re, reason))
					return
				}
			}
		}
		if i < len(segments)-1 {
			spelt.WriteByte('/')
		}
	}
	if normal := "/" + spelt.String(); normal != pattern {
		f.neverMatches(at, "paths", pattern, normal)
	}
}

// nextVariable splits a segment at its first variable into what comes before, the text between the
// braces, and the rest.
func nextVariable(segment string) (rest, expr, before string, found bool) {
	open := strings.IndexByte(segment, '{')
	if open < 0 {
		return "", "", segment, false
	}
	depth := 0
	for i := open; i < len(segment); i++ {
		switch segment[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return segment[i+1:], segment[open+1 : i], segment[:open], true
			}
		}
	}
	return "", "", segment, false
}

// antSegments splits a pattern that begins with a slash. A slash inside braces belongs to a variable's
// expression. It is false if the braces do not pair.
func antSegments(pattern string) (segments []string, ok bool) {
	depth, begin := 0, 1
	for i := 1; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return nil, false
			}
		case '/':
			if depth == 0 {
				segments = append(segments, pattern[begin:i])
				begin = i + 1
			}
		}
	}
	return append(segments, pattern[begin:]), depth == 0
}

// normalPath returns the spelling in which a path is compared.
func normalPath(path string) string {
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		segment, _, _ = strings.Cut(segment, ";")
		segment = normalText(segment, "")
		last := i == len(segments)-1
		switch {
		case segment == "..":
			kept = kept[:max(len(kept)-1, 0)]
		case segment != "" && segment != ".":
			kept = append(kept, segment)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// normalText escapes what must be escaped in a segment, and nothing else, in upper case. The bytes of
// also stand for themselves too.
func normalText(s, also string) string {
	const plain = "!$&'()*+,-.0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
				if strings.IndexByte(plain, c) < 0 {
					fmt.Fprintf(&b, "%%%02X", c)
					continue
				}
			}
		}
		if strings.IndexByte(plain, c) >= 0 || strings.IndexByte(also, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// hexDigit returns the value of a hexadecimal digit; negative if it is none.
func hexDigit(c byte) int {
	if isLetter(c) {
		c |= 0x20
	}
	return strings.IndexByte("0123456789abcdef", c)
}
