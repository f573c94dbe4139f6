package engine

import (
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// pathParam is where a rule's parameter stands in the path: at the variable of a template, or of whichever
// items of its API group a request matches.
type pathParam struct {
	name     string
	template *pathTemplate
	group    int32
	items    []*pathTemplate // by the place of the item in its group; nil where it has no such variable
}

// join fills in the items of the group that the rule is for.
func (p *pathParam) join(group int, def *rule.APIDefinition) error {
	p.group, p.items = int32(group), make([]*pathTemplate, len(def.Items))
	for i := range def.Items {
		if it := &def.Items[i]; it.Match == rule.PathPrefix {
			t, err := compileTemplate(it.Pattern, p.name)
			if err != nil {
				return err
			}
			p.items[i] = t
		}
	}
	return nil
}

// value returns the value that a request has for it, percent-decoded once. s is what the groups of the
// request were found with: of several items that match, the first in file order decides.
func (p *pathParam) value(r *Request, s *apiScratch, w *work) (string, Presence) {
	if r.PathTooLarge {
		return "", TooLarge
	}
	t := p.template
	if t == nil {
		best, unknown := p.first(s.items, r.Method), p.first(s.untried, r.Method)
		if unknown < best {
			return "", TooLarge
		}
		if best == len(p.items) {
			return "", Absent
		}
		t = p.items[best]
	}
	raw, found := t.value(r.Path, w)
	if found != Present || r.Attrs == nil || strings.IndexByte(raw, '%') < 0 {
		return raw, found
	}
	return r.Attrs.Param(rule.SourcePathParam, raw)
}

// first returns the place of the first item of the group that has the variable, among those that match or
// may match the path; as many as there are items if none does.
func (p *pathParam) first(items []*apiItem, method string) int {
	first := len(p.items)
	for _, it := range items {
		if i := int(it.place); it.group == p.group && i < first && p.items[i] != nil && it.accepts(method) {
			first = i
		}
	}
	return first
}
