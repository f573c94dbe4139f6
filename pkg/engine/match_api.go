package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// apiItem is one predicate item: a request that satisfies it enters the group.
type apiItem struct {
	group   int32
	place   int32    // in the group's definition
	methods []string // empty: any
}

// apiMatcher finds the API groups of a request. Items are filed by host first, then by how their
// path is matched, so that only regular expressions are tried one by one.
type apiMatcher struct {
	groups    int // number of groups; items refer to them by index
	anyHost   pathMatcher
	hosts     map[string]*pathMatcher // exact host
	suffixes  map[string]*pathMatcher // ".example.com"
	maxSuffix int                     // the longest suffix, which bounds the look-ups per request
	others    []int32                 // groups with an item that matches when nothing else does
	byPath    []bool                  // per group: some item looks at the path
	regexps   int
}

// pathMatcher holds the items of one host.
type pathMatcher struct {
	anyPath []*apiItem
	exact   map[string][]*apiItem
	ant     *antTree
	regex   []regexItem
}

type regexItem struct {
	prefix string // every match begins with it
	re     *regexp.Regexp
	item   *apiItem
}

// apiScratch is the working memory of match, kept between calls.
type apiScratch struct {
	ant     antScratch
	items   []*apiItem
	untried []*apiItem // whose regular expression was not tried, for want of work
	seen    []uint32   // per group, the stamp of the request that last entered it
	stamp   uint32
	found   []entered
}

// entered is a group that a request enters. unknown: it may or may not, which could not be found
// out within bounds.
type entered struct {
	group   int32
	unknown bool
}

func compileAPIs(defs []rule.APIDefinition) (*apiMatcher, error) {
	m := &apiMatcher{
		groups:   len(defs),
		hosts:    make(map[string]*pathMatcher),
		suffixes: make(map[string]*pathMatcher),
		byPath:   make([]bool, len(defs)),
	}
	for g := range defs {
		for i := range defs[g].Items {
			it := &defs[g].Items[i]
			if it.Other {
				m.others = append(m.others, int32(g))
				continue
			}
			m.byPath[g] = m.byPath[g] || it.Pattern != ""
			if err := m.add(int32(g), int32(i), it); err != nil {
				return nil, fmt.Errorf("%s: API group %q: %w", it.Pos, defs[g].Name, err)
			}
		}
	}
	return m, nil
}

func (m *apiMatcher) add(group, place int32, it *rule.PredicateItem) error {
	p := &m.anyHost
	switch {
	case strings.HasPrefix(it.Host, "*."):
		suffix := it.Host[1:]
		p = entry(m.suffixes, suffix)
		m.maxSuffix = max(m.maxSuffix, len(suffix))
	case it.Host != "":
		p = entry(m.hosts, it.Host)
	}
	item := &apiItem{group: group, place: place, methods: it.Methods}
	switch {
	case it.Pattern == "":
		p.anyPath = append(p.anyPath, item)
	case it.Match == rule.PathExact:
		if p.exact == nil {
			p.exact = make(map[string][]*apiItem)
		}
		p.exact[it.Pattern] = append(p.exact[it.Pattern], item)
	case it.Match == rule.PathPrefix:
		if p.ant == nil {
			p.ant = &antTree{}
		}
		return p.ant.add(it.Pattern, item)
	default:
		re, err := compileFull(it.Pattern)
		if err != nil {
			return err
		}
		p.regex = append(p.regex, regexItem{prefix: literalPrefix(it.Pattern), re: re, item: item})
		m.regexps++
	}
	return nil
}

// entry returns the value of a key, a new one if there is none.
func entry[T any](m map[string]*T, key string) *T {
	v := m[key]
	if v == nil {
		v = new(T)
		m[key] = v
	}
	return v
}

// literalPrefix returns what every full match of expr begins with. A leading ^ says nothing more
// than the full match does, but would hide the prefix.
func literalPrefix(expr string) string {
	re, err := regexp.Compile(strings.TrimPrefix(expr, "^"))
	if err != nil {
		return ""
	}
	prefix, _ := re.LiteralPrefix()
	return prefix
}

// match returns the groups that the request enters, in the order of their definition. The slice is
// valid until the next call with the same scratch.
func (m *apiMatcher) match(r *Request, s *apiScratch, w *work) []entered {
	s.items, s.untried, s.found = s.items[:0], s.untried[:0], s.found[:0]
	m.anyHost.collect(r.Path, s, w)
	if r.Host != "" {
		if p := m.hosts[r.Host]; p != nil {
			p.collect(r.Path, s, w)
		}
		m.collectSuffixes(r, s, w)
	}
	s.begin(m.groups)
	for _, it := range s.items {
		if it.accepts(r.Method) {
			s.enter(it.group, false)
		}
	}
	certain := len(s.found) > 0
	for _, it := range s.untried {
		if it.accepts(r.Method) {
			s.enter(it.group, true)
		}
	}
	if r.PathTooLarge {
		for g, looks := range m.byPath {
			if looks {
				s.enter(int32(g), true)
			}
		}
	}
	if !certain {
		// Where some group may have been entered, nobody can say that none was.
		unknown := len(s.found) > 0
		for _, g := range m.others {
			s.enter(g, unknown)
		}
	}
	slices.SortFunc(s.found, func(a, b entered) int { return int(a.group - b.group) })
	return s.found
}

// collectSuffixes looks up every tail of the host that could be a suffix pattern: those that begin
// at a dot and are no longer than the longest pattern.
func (m *apiMatcher) collectSuffixes(r *Request, s *apiScratch, w *work) {
	host := r.Host
	if len(m.suffixes) == 0 {
		return
	}
	for i := max(1, len(host)-m.maxSuffix); i < len(host); i++ {
		if host[i] != '.' {
			continue
		}
		if p := m.suffixes[host[i:]]; p != nil {
			p.collect(r.Path, s, w)
		}
	}
}

func (p *pathMatcher) collect(path string, s *apiScratch, w *work) {
	s.items = append(s.items, p.anyPath...)
	if path == "" {
		return
	}
	s.items = append(s.items, p.exact[path]...)
	if p.ant != nil {
		var all bool
		if s.items, all = p.ant.walk(path, &s.ant, w, s.items); !all {
			s.untried = append(s.untried, p.ant.items...)
		}
	}
	for i := range p.regex {
		x := &p.regex[i]
		switch {
		case !strings.HasPrefix(path, x.prefix):
		case !w.afford(len(path)):
			s.untried = append(s.untried, x.item)
		case x.re.MatchString(path):
			s.items = append(s.items, x.item)
		}
	}
}

func (it *apiItem) accepts(method string) bool {
	return len(it.methods) == 0 || slices.Contains(it.methods, method)
}

// begin starts a new request over the given number of groups.
func (s *apiScratch) begin(groups int) {
	if len(s.seen) < groups {
		s.seen = make([]uint32, groups)
		s.stamp = 0
	}
	if s.stamp++; s.stamp == 0 {
		clear(s.seen)
		s.stamp = 1
	}
}

func (s *apiScratch) enter(group int32, unknown bool) {
	if s.seen[group] != s.stamp {
		s.seen[group] = s.stamp
		s.found = append(s.found, entered{group, unknown})
	}
}
