package engine

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// antTree finds the Ant patterns that match a path, as Spring's AntPathMatcher defines them: `?`
// one character, `*` within a segment, `**` any number of segments, `{name}` and `{name:regex}` a
// segment. All patterns share one tree of segments, walked as a set of active nodes, so that the
// cost of a look-up depends on the patterns that the path goes along with and not on all of them.
type antTree struct {
	root  antNode
	items []*apiItem
	deeps int // number of deep nodes
}

// antNode is reached by the segments of the patterns through it. A deep node stands for `**`: once
// reached it stays active whatever segments follow.
type antNode struct {
	literal map[string]*antNode
	wild    []antWild
	deep    *antNode
	isDeep  bool
	number  int // of a deep node
	// belowDeep: some `**` comes before this node.
	belowDeep bool
	slash     []*apiItem // patterns that end here, with a trailing slash
	plain     []*apiItem // patterns that end here, without one
}

type antWild struct {
	text string
	re   *regexp.Regexp // for {name:regex}; nil for globs
	node *antNode
}

// hasAntWildcard says whether a pattern is more than a literal, in Spring's sense.
func hasAntWildcard(pattern string) bool {
	if strings.ContainsAny(pattern, "*?") {
		return true
	}
	open := strings.IndexByte(pattern, '{')
	return open >= 0 && strings.IndexByte(pattern[open:], '}') > 0
}

func (t *antTree) add(pattern string, item *apiItem) error {
	t.items = append(t.items, item)
	n := &t.root
	for rest := pattern; ; {
		var seg string
		seg, rest = nextPatternSegment(rest)
		if seg == "" {
			break
		}
		next, err := t.child(n, seg)
		if err != nil {
			return err
		}
		n = next
	}
	if !hasAntWildcard(pattern) {
		// A literal under the prefix strategy covers its path and everything below it.
		n = t.deepChild(n)
	}
	if strings.HasSuffix(pattern, "/") && !n.isDeep {
		n.slash = append(n.slash, item)
	} else {
		n.plain = append(n.plain, item)
	}
	return nil
}

func (n *antNode) below() *antNode { return &antNode{belowDeep: n.isDeep || n.belowDeep} }

func (t *antTree) deepChild(n *antNode) *antNode {
	if n.deep == nil {
		n.deep = &antNode{isDeep: true, number: t.deeps}
		t.deeps++
	}
	return n.deep
}

func (t *antTree) child(n *antNode, seg string) (*antNode, error) {
	switch {
	case seg == "**":
		return t.deepChild(n), nil
	case !hasAntWildcard(seg):
		c := n.literal[seg]
		if c == nil {
			if n.literal == nil {
				n.literal = make(map[string]*antNode)
			}
			c = n.below()
			n.literal[seg] = c
		}
		return c, nil
	}
	for i := range n.wild {
		if n.wild[i].text == seg {
			return n.wild[i].node, nil
		}
	}
	w := antWild{text: seg, node: n.below()}
	if strings.IndexByte(seg, '{') >= 0 {
		re, err := antSegmentRegexp(seg)
		if err != nil {
			return nil, err
		}
		w.re = re
	}
	n.wild = append(n.wild, w)
	return w.node, nil
}

// nextPatternSegment splits off the first segment, skipping slashes before it. A slash inside
// braces belongs to a {name:regex} and does not end the segment.
func nextPatternSegment(s string) (seg, rest string) {
	s = strings.TrimLeft(s, "/")
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case '/':
			if depth <= 0 {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

// antSegmentRegexp translates one segment with variables: {name} is anything, {name:regex} the
// expression, the rest a glob.
func antSegmentRegexp(seg string) (*regexp.Regexp, error) {
	var b strings.Builder
	for i := 0; i < len(seg); {
		switch c := seg[i]; c {
		case '*':
			b.WriteString(`(?s:.*)`)
		case '?':
			b.WriteString(`(?s:.)`)
		case '{':
			end := closingBrace(seg, i)
			if end < 0 {
				return nil, fmt.Errorf("segment %q: unclosed {", seg)
			}
			if _, expr, found := strings.Cut(seg[i+1:end], ":"); found {
				b.WriteString(`(?:` + expr + `)`)
			} else {
				b.WriteString(`(?s:.*)`)
			}
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(seg[i : i+1]))
		}
		i++
	}
	return compileFull(b.String())
}

func closingBrace(s string, open int) int {
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// matches is false in tried if the segment could not be compared within bounds.
func (x *antWild) matches(seg string, w *work) (matched, tried bool) {
	if x.re == nil {
		return glob(x.text, seg), true
	}
	if !w.afford(len(seg)) {
		return false, false
	}
	return x.re.MatchString(seg), true
}

// glob matches `*` and `?` over one segment in time linear in the product of the lengths: only the
// last star is ever retried.
func glob(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, w := utf8.DecodeRuneInString(s[i:])
			p, i = p+1, i+w
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// antScratch is the working memory of a walk, kept between calls.
type antScratch struct {
	now, next []*antNode
	mark      []uint32 // per deep node, the step in which it was last activated
	step      uint32
}

const (
	// freeSegments is how many segments of a path may be walked whatever the patterns are.
	freeSegments = 64
	// nodeWork is what one active node costs at a segment beyond those, in bytes matched.
	nodeWork = 8
)

// walk appends the items whose pattern matches the path to found. all is false if that could not be
// found out for all within bounds.
func (t *antTree) walk(path string, s *antScratch, w *work, found []*apiItem) (_ []*apiItem, all bool) {
	if len(s.mark) < t.deeps {
		s.mark, s.step = make([]uint32, t.deeps), 0
	}
	s.begin()
	s.now = s.activate(s.now[:0], &t.root)
	all = true
	segments := 0
	for rest := strings.TrimLeft(path, "/"); rest != "" && len(s.now) > 0; rest = strings.TrimLeft(rest, "/") {
		seg := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			seg, rest = rest[:i], rest[i:]
		} else {
			rest = ""
		}
		if segments++; segments > freeSegments && !w.afford(freeWork+nodeWork*len(s.now)) {
			return found, false
		}
		s.begin()
		s.next = s.next[:0]
		for _, n := range s.now {
			var tried bool
			if s.next, tried = n.step(seg, s, w); !tried {
				all = false
			}
		}
		s.now, s.next = s.next, s.now
	}
	trailing := strings.HasSuffix(path, "/")
	for _, n := range s.now {
		found = n.ends(trailing, found)
	}
	return found, all
}

// begin starts a step.
func (s *antScratch) begin() {
	if s.step++; s.step == 0 {
		clear(s.mark)
		s.step = 1
	}
}

// step adds the nodes that one more segment leads to.
func (n *antNode) step(seg string, s *antScratch, w *work) (set []*antNode, tried bool) {
	set, tried = s.next, true
	if n.isDeep {
		set = s.activate(set, n)
	}
	if c := n.literal[seg]; c != nil {
		set = s.activate(set, c)
	}
	for i := range n.wild {
		x := &n.wild[i]
		matched, ok := x.matches(seg, w)
		if matched {
			set = s.activate(set, x.node)
		}
		tried = tried && ok
	}
	return set, tried
}

// activate adds a node and the `**` nodes that it reaches without a segment. Only those can be
// reached twice in one step: by staying active, and from their parent.
func (s *antScratch) activate(set []*antNode, n *antNode) []*antNode {
	if n.isDeep {
		if s.mark[n.number] == s.step {
			return set
		}
		s.mark[n.number] = s.step
	}
	set = append(set, n)
	if n.deep != nil {
		return s.activate(set, n.deep)
	}
	return set
}

// ends appends the patterns that end at a node once the path is used up.
func (n *antNode) ends(trailing bool, found []*apiItem) []*apiItem {
	switch {
	case n.isDeep:
		return append(found, n.plain...)
	case !trailing:
		return append(found, n.plain...)
	}
	found = append(found, n.slash...)
	if n.belowDeep {
		return found
	}
	// As in Spring, a trailing slash stands in for a final `*`, unless `**` came before.
	for i := range n.wild {
		if n.wild[i].text == "*" {
			found = append(found, n.wild[i].node.plain...)
			found = append(found, n.wild[i].node.slash...)
		}
	}
	return found
}
