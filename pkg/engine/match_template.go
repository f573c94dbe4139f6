package engine

import (
	"fmt"
	"regexp"
	"strings"
)

// pathTemplate takes the value of a variable out of a path that matches an Ant pattern, as Spring's
// AntPathMatcher does: what comes before the first `**` is compared from the left, what follows the last
// one from the right, and what lies between two of them where it is found first. Of several variables of
// the name the last one counts. It has its segment to itself, but for fixed text around it.
type pathTemplate struct {
	head  []templateSegment   // before the first `**`
	mids  [][]templateSegment // between two of them
	tail  []templateSegment   // after the last one
	deep  bool                // there is one
	slash bool                // it ends in a slash
}

// templateSegment is one segment of a pattern.
type templateSegment struct {
	kind          segmentKind
	taken         bool           // it is that of the variable
	before, after string         // of a variable: the text around it
	expr          *regexp.Regexp // of a variable: what it must match; nil: any text
	wild          antWild        // its text is that of a literal, too
}

type segmentKind uint8

const (
	segmentLiteral segmentKind = iota
	segmentWild
	segmentVariable // of the name
)

// compileTemplate returns the template of a pattern; nil if the pattern has no such variable.
func compileTemplate(pattern, name string) (*pathTemplate, error) {
	t := &pathTemplate{slash: strings.HasSuffix(pattern, "/")}
	parts := [][]templateSegment{nil}
	var last *templateSegment
	for rest := pattern; ; {
		var seg string
		if seg, rest = nextPatternSegment(rest); seg == "" {
			break
		}
		if seg == "**" {
			parts = append(parts, nil)
			continue
		}
		s, err := compileSegment(seg, name)
		if err != nil {
			return nil, err
		}
		parts[len(parts)-1] = append(parts[len(parts)-1], s)
	}
	for _, part := range parts {
		for i := range part {
			if part[i].kind == segmentVariable {
				last = &part[i]
			}
		}
	}
	if last == nil {
		return nil, nil
	}
	last.taken = true
	t.head = parts[0]
	if end := len(parts) - 1; end > 0 {
		t.mids, t.tail, t.deep = parts[1:end], parts[end], true
	}
	return t, nil
}

func compileSegment(seg, name string) (s templateSegment, err error) {
	s.wild.text = seg
	open := strings.IndexByte(seg, '{')
	if open < 0 {
		if hasAntWildcard(seg) {
			s.kind = segmentWild
		}
		return s, nil
	}
	end := closingBrace(seg, open)
	if end < 0 {
		return s, fmt.Errorf("segment %q: unclosed {", seg)
	}
	if variable, expr, has := strings.Cut(seg[open+1:end], ":"); variable == name {
		s.kind, s.before, s.after = segmentVariable, seg[:open], seg[end+1:]
		if has {
			s.expr, err = compileFull(expr)
		}
		return s, err
	}
	s.kind = segmentWild
	s.wild.re, err = antSegmentRegexp(seg)
	return s, err
}

// templateMatch is one attempt to match a path.
type templateMatch struct {
	w        *work
	value    string
	tooLarge bool // something could not be compared within bounds
}

// value returns what stands in the variable's place, as it is written in the path; absent if the path
// does not match.
func (t *pathTemplate) value(path string, w *work) (string, Presence) {
	if !w.afford(len(path) * (1 + len(t.mids))) {
		return "", TooLarge
	}
	m := templateMatch{w: w}
	switch {
	case t.match(path, &m):
		return m.value, Present
	case m.tooLarge:
		return "", TooLarge
	}
	return "", Absent
}

func (t *pathTemplate) match(path string, m *templateMatch) bool {
	trailing := strings.HasSuffix(path, "/")
	rest := strings.Trim(path, "/")
	for i := range t.head {
		if rest == "" {
			// A trailing slash stands in for a final `*`.
			return i == len(t.head)-1 && !t.deep && trailing && t.head[i].wild.text == "*"
		}
		var seg string
		if seg, rest = firstSegment(rest); !t.head[i].matches(seg, m) {
			return false
		}
	}
	if !t.deep {
		return rest == "" && trailing == t.slash
	}
	if len(t.tail) > 0 && trailing != t.slash {
		return false
	}
	for i := len(t.tail) - 1; i >= 0; i-- {
		var seg string
		if seg, rest = lastSegment(rest); seg == "" || !t.tail[i].matches(seg, m) {
			return false
		}
	}
	for _, part := range t.mids {
		var found bool
		if rest, found = findSegments(part, rest, m); !found {
			return false
		}
	}
	return true
}

// findSegments finds the first place where the segments of a part follow each other, and returns what
// comes behind it.
func findSegments(part []templateSegment, path string, m *templateMatch) (behind string, found bool) {
	for {
		behind, found = path, true
		for i := range part {
			var seg string
			if seg, behind = firstSegment(behind); seg == "" {
				return "", false
			}
			if !part[i].matches(seg, m) {
				found = false
				break
			}
		}
		if found {
			return behind, true
		}
		_, path = firstSegment(path)
	}
}

// firstSegment splits off the first segment; empty if there is none. No slash comes before it.
func firstSegment(path string) (seg, rest string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], strings.TrimLeft(path[i:], "/")
	}
	return path, ""
}

// lastSegment splits off the last segment; empty if there is none. No slash follows it.
func lastSegment(path string) (seg, rest string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[i+1:], strings.TrimRight(path[:i], "/")
	}
	return path, ""
}

func (s *templateSegment) matches(seg string, m *templateMatch) bool {
	switch s.kind {
	case segmentLiteral:
		return seg == s.wild.text
	case segmentWild:
		matched, tried := s.wild.matches(seg, m.w)
		m.tooLarge = m.tooLarge || !tried
		return matched
	}
	if len(seg) < len(s.before)+len(s.after) || !strings.HasPrefix(seg, s.before) || !strings.HasSuffix(seg, s.after) {
		return false
	}
	value := seg[len(s.before) : len(seg)-len(s.after)]
	if s.expr != nil {
		if !m.w.afford(len(value)) {
			m.tooLarge = true
			return false
		}
		if !s.expr.MatchString(value) {
			return false
		}
	}
	if s.taken {
		m.value = value
	}
	return true
}
