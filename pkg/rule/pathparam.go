package rule

import (
	"fmt"
	"strings"
)

// variablePlace is how a pattern has a variable.
type variablePlace uint8

const (
	variableAbsent  variablePlace = iota
	variableCrowded               // beside wildcards or other variables in its segment
	variableAlone
)

// placeOf says how an Ant pattern has the variable {name}. Of several the last one counts, as in Spring.
func placeOf(pattern, name string) variablePlace {
	place := variableAbsent
	segments, _ := antSegments(pattern)
	for _, segment := range segments {
		has, variables, wild := false, 0, false
		for rest := segment; rest != ""; {
			var expr, before string
			var variable bool
			rest, expr, before, variable = nextVariable(rest)
			wild = wild || strings.ContainsAny(before, "*?")
			if variable {
				variables++
				called, _, _ := strings.Cut(expr, ":")
				has = has || called == name
			}
		}
		switch {
		case has && variables == 1 && !wild:
			place = variableAlone
		case has:
			place = variableCrowded
		}
	}
	return place
}

// variableReference is a variable that a rule takes from the items of an API group.
type variableReference struct {
	file *fileLoad
	at   spot
	rule string
	key  idKey // of the group
	name string
}

// checkPathParam fills in where in the path a parameter stands, and refuses a template elsewhere.
func (f *fileLoad) checkPathParam(d *limitDraft, p *paramDraft, item *ParamItem) {
	written := p.template.ok && p.template.v != ""
	if item.Source != SourcePathParam {
		if written {
			f.fail(p.template.at, "is for parseStrategy path_param", "remove it")
		}
		return
	}
	name := item.FieldName
	if strings.ContainsAny(name, "{}/:*?") || strings.IndexFunc(name, isControl) >= 0 {
		f.fail(p.fieldName.at, fmt.Sprintf("%q cannot be the name of a variable", clip(name)), "write what stands between { and }, without an expression")
		return
	}
	switch {
	case written:
		item.Template = p.template.v
		before := f.errors
		if f.checkPlace(p.template.at, item.Template, name); f.errors == before {
			f.checkPath(p.template.at, item.Template, PathPrefix)
		}
	case !p.template.ok || !d.mode.ok || !d.resource.ok:
	case ResourceMode(d.mode.v) == ModeAPI:
		f.variables = append(f.variables, variableReference{f, p.fieldName.at, f.rule, idKey{f.domain, d.resource.v}, name})
	default:
		f.fail(p.fieldName.at, fmt.Sprintf("nothing says where in the path of a route {%s} stands", clip(name)), fmt.Sprintf("add a template, such as /orders/{%s}", clip(name)))
	}
}

// checkPlace reports a pattern from which the variable cannot be taken.
func (f *fileLoad) checkPlace(at spot, pattern, name string) {
	switch placeOf(pattern, name) {
	case variableAbsent:
		f.fail(at, fmt.Sprintf("%q has no {%s}", clip(pattern), clip(name)), fmt.Sprintf("write {%s} where the value stands", clip(name)))
	case variableCrowded:
		f.fail(at, fmt.Sprintf("%q has {%s} in a segment with other variables or wildcards, so that nobody can tell where its value ends", clip(pattern), clip(name)), "give it a segment of its own; fixed text around it is fine")
	}
}

// checkVariables reports rules whose variable no item of their group has.
func (l *loader) checkVariables() {
	if len(l.variables) == 0 {
		return
	}
	groups := make(map[idKey]*APIDefinition, len(l.set.APIs))
	for i := range l.set.APIs {
		a := &l.set.APIs[i]
		groups[idKey{a.Domain, a.Name}] = a
	}
	for _, v := range l.variables {
		a := groups[v.key]
		if a == nil || v.file.full() { // not defined, or not well, which was said
			continue
		}
		v.file.rule = v.rule
		v.file.checkVariable(v, a)
	}
}

func (f *fileLoad) checkVariable(v variableReference, a *APIDefinition) {
	found := false
	for i := range a.Items {
		it := &a.Items[i]
		if it.Match != PathPrefix {
			continue
		}
		switch placeOf(it.Pattern, v.name) {
		case variableAlone:
			found = true
		case variableCrowded:
			f.fail(v.at, fmt.Sprintf("the item at %s has {%s} in a segment with other variables or wildcards", it.Pos, clip(v.name)), "give it a segment of its own there, or add a template to the rule")
			return
		}
	}
	if !found {
		f.fail(v.at, fmt.Sprintf("no item of the API group %q has {%s} in a pattern of matchStrategy prefix", clip(a.Name), clip(v.name)), fmt.Sprintf("write {%s} there, or add a template to the rule", clip(v.name)))
	}
}
