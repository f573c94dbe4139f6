package engine

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// maxMatchBytes bounds the values that contains and regex patterns are run over.
const maxMatchBytes = 64 << 10

// param is the compiled parameter of a rule.
type param struct {
	source  rule.ParamSource
	name    string // lower case for headers
	pattern string
	match   rule.MatchStrategy
	re      *regexp.Regexp
	path    *pathParam // of rule.SourcePathParam
}

func compileParam(p *rule.ParamItem) (*param, error) {
	c := &param{source: p.Source, name: p.FieldName, pattern: p.Pattern, match: p.Match}
	if p.Source == rule.SourceHeader {
		c.name = strings.ToLower(p.FieldName)
	}
	if p.Source == rule.SourcePathParam {
		c.path = &pathParam{name: p.FieldName}
		var err error
		if c.path.template, err = compileTemplate(p.Template, p.FieldName); err != nil {
			return nil, fmt.Errorf("param template: %w", err)
		}
	}
	if p.Pattern != "" && p.Match == rule.MatchRegex {
		re, err := compileFull(p.Pattern)
		if err != nil {
			return nil, fmt.Errorf("param pattern: %w", err)
		}
		c.re = re
	}
	return c, nil
}

// compileFull compiles expr so that it matches only whole inputs.
func compileFull(expr string) (*regexp.Regexp, error) {
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// value returns the parameter of the request. Client IP and host are fields of the request; an
// empty one is absent, because Envoy always knows them when it sends them. s is what the API groups of
// the request were found with.
func (p *param) value(r *Request, s *apiScratch, w *work) (string, Presence) {
	switch p.source {
	case rule.SourceClientIP:
		return r.ClientIP, presentUnlessEmpty(r.ClientIP)
	case rule.SourceHost:
		return r.Host, presentUnlessEmpty(r.Host)
	case rule.SourceOrigin:
		return r.caller(), presentUnlessEmpty(r.caller())
	case rule.SourceRoute:
		return r.Resource, Present
	case rule.SourcePathParam:
		return p.path.value(r, s, w)
	}
	if r.Attrs == nil {
		return "", Absent
	}
	return r.Attrs.Param(p.source, p.name)
}

func presentUnlessEmpty(s string) Presence {
	if s == "" {
		return Absent
	}
	return Present
}

// concerns says whether the rule limits this value at all; ok is false when that cannot be
// evaluated within bounds.
func (p *param) concerns(v string, w *work) (limited, ok bool) {
	if p.pattern == "" {
		return true, true
	}
	switch p.match {
	case rule.MatchExact:
		return v == p.pattern, true
	case rule.MatchPrefix:
		return strings.HasPrefix(v, p.pattern), true
	}
	if len(v) > maxMatchBytes {
		return false, false
	}
	if p.match == rule.MatchContains {
		return strings.Contains(v, p.pattern), true
	}
	if !w.afford(len(v)) {
		return false, false
	}
	return p.re.MatchString(v), true
}
