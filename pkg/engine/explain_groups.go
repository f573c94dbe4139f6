package engine

import (
	"slices"

	"github.com/sidecard/sidecard/pkg/rule"
)

// The fields of an item, as rule files call them.
const (
	fieldPath    = "path"
	fieldHost    = "host"
	fieldMethods = "methods"
	fieldOther   = "other"
)

// explainGroups says which API groups the request of a call has entered, and what keeps it from entering the
// others.
func (d *domain) explainGroups(c *Call) []GroupMatch {
	var groups []GroupMatch
	for i := range d.defs {
		g := GroupMatch{Name: d.defs[i].Name}
		for _, entry := range c.explaining.entries {
			if entry.rules == d.groups[i] {
				g.Matched, g.Unknown = !entry.unknown, entry.unknown
			}
		}
		for _, it := range d.defs[i].Items {
			g.Items = append(g.Items, explainItem(&it, &c.Items[0], g.Matched))
		}
		groups = append(groups, g)
	}
	return groups
}

// explainItem matches each field of an item by itself, with the code that matches whole items.
func explainItem(it *rule.PredicateItem, q *Request, entered bool) ItemMatch {
	m := ItemMatch{Item: *it}
	note := func(field string, holds bool) {
		if holds {
			m.Held = append(m.Held, field)
		} else {
			m.Failed = append(m.Failed, field)
		}
	}
	if it.Other {
		note(fieldOther, entered)
		return m
	}
	for _, part := range []struct {
		field string
		given bool
		item  rule.PredicateItem
	}{
		{fieldPath, it.Pattern != "", rule.PredicateItem{Pattern: it.Pattern, Match: it.Match}},
		{fieldHost, it.Host != "", rule.PredicateItem{Host: it.Host}},
		{fieldMethods, len(it.Methods) > 0, rule.PredicateItem{Methods: it.Methods}},
	} {
		if part.given {
			note(part.field, holds(part.item, q))
		}
	}
	return m
}

func holds(it rule.PredicateItem, q *Request) bool {
	matcher, err := compileAPIs([]rule.APIDefinition{{Items: []rule.PredicateItem{it}}})
	if err != nil {
		return false // it is in force, so it was compiled before
	}
	return slices.Contains(matcher.match(q, &apiScratch{}, &work{left: maxWork}), entered{group: 0})
}
