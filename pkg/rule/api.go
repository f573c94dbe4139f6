package rule

import (
	"fmt"
	"slices"
	"strings"
)

// apiDraft is an API definition as written.
type apiDraft struct {
	name  located[string]
	items located[[]PredicateItem]
}

var apiSchema = schema[apiDraft]{what: "an API definition", fields: append(
	[]field[apiDraft]{
		textField("apiName", "the name that rules give as resource", maxNameBytes,
			func(d *apiDraft) *located[string] { return &d.name }).require().sentinel(alike),
		customField("predicateItems", "the alternatives, any of which makes a request enter the group", typeMappings, decodeItems).
			of(itemSchema.object, 1).require().sentinel("leaves out items with a blank pattern, and takes definitions without items, which never match").here("refuses both"),
	},
	ignoredFields[apiDraft]("id", "app", "ip", "port", "gmtCreate", "gmtModified")...,
)}

// itemDraft is a predicate item as written.
type itemDraft struct {
	pattern, host located[string]
	match         located[int64]
	methods       located[[]string]
	other         located[bool]
}

var itemSchema = schema[itemDraft]{what: "a predicate item", fields: []field[itemDraft]{
	textField("pattern", "the path", maxPatternBytes,
		func(d *itemDraft) *located[string] { return &d.pattern }).sentinel("compares the path as it was sent").here("paths are compared in one spelling; a pattern that no path has is refused"),
	enumField("matchStrategy", "how pattern is compared with the path", pathMatches, int64(PathExact),
		func(d *itemDraft) *located[int64] { return &d.match }).
		sentinel("a prefix is an Ant pattern, and one without wildcards never matches").here("such a prefix is the path and all below it"),
	textField("host", "the host, or *.suffix", maxNameBytes,
		func(d *itemDraft) *located[string] { return &d.host }).extension(),
	methodsField(),
	boolField("other", "what no other group matches",
		func(d *itemDraft) *located[bool] { return &d.other }).extension(),
	nestedItems(),
}}

func methodsField() field[itemDraft] {
	fd := customField("methods", "the request methods", typeTexts, decodeMethods).atMost(maxMethodBytes).extension()
	fd.fewest = 1
	return fd
}

// nestedItems refuses the group form that Sentinel's mappers know.
func nestedItems() field[itemDraft] {
	fd := refusedField[itemDraft]("items", "a group of items within an item")
	fd.decode = func(f *fileLoad, at spot, _ *node, _ *itemDraft) {
		f.fail(at, "a group of items within an item is not supported: Sentinel reads such groups and never matches them", "write each as an item of its own")
	}
	return fd
}

// apiDefinition reads one API definition and adds it to the set if nothing is wrong with it.
func (f *fileLoad) apiDefinition(at spot, n *node) {
	before := f.errors
	var d apiDraft
	if !decodeMapping(f, &apiSchema, at, n, &d) {
		return
	}
	if d.name.ok && f.checkName(d.name.at, d.name.v) {
		key := idKey{domain: f.domain, name: d.name.v}
		if first, taken := f.apis[key]; taken {
			f.fail(d.name.at, fmt.Sprintf("the API %q is defined at %s already", clip(d.name.v), first), "put all items into one definition, or rename one")
		} else {
			f.apis[key] = f.position(at)
		}
	}
	if f.errors == before {
		f.set.APIs = append(f.set.APIs, APIDefinition{Pos: f.position(at), Domain: f.domain, Name: d.name.v, Items: d.items.v})
	}
}

func decodeItems(f *fileLoad, at spot, n *node, d *apiDraft) {
	d.items.invalid(at)
	if n.kind != listNode {
		f.fail(at, fmt.Sprintf("is %s, not a list of predicate items", n.kind), "")
		return
	}
	if len(n.items) == 0 {
		f.fail(at, "no items: no request would ever enter the group", "add an item, or remove the definition")
		return
	}
	var items []PredicateItem
	for i, in := range n.items {
		var item itemDraft
		before := f.errors
		where := at.item(i, in)
		if decodeMapping(f, &itemSchema, where, in, &item) {
			items = append(items, f.checkItem(where, &item, f.errors == before))
		}
	}
	d.items.set(at, items)
}

// checkItem turns a predicate item into its meaning. Unless it was clean so far, nothing is said of
// what it lacks.
func (f *fileLoad) checkItem(at spot, d *itemDraft, clean bool) PredicateItem {
	item := PredicateItem{Pos: f.position(at), Pattern: d.pattern.v, Match: PathMatch(d.match.v), Host: normalHost(d.host.v), Methods: d.methods.v, Other: d.other.v}
	rest := d.pattern.v != "" || d.host.v != "" || d.methods.given
	switch {
	case item.Other && rest:
		f.fail(d.other.at, "other stands alone in its item: it matches when no item of any other group does", "remove the other fields")
	case clean && !item.Other && !rest && d.pattern.given:
		f.fail(d.pattern.at, "is blank, and nothing else is asked for", "write /** for any path")
	case clean && !item.Other && !rest && !d.host.given:
		f.fail(at, "asks for nothing", "add a pattern, host, methods or other")
	case item.Pattern == "" && d.match.given && d.match.v != int64(PathExact):
		f.warn(d.match.at, "matchStrategy without a pattern means nothing", "")
	}
	if d.pattern.ok && item.Pattern != "" && d.match.ok {
		f.checkPath(d.pattern.at, item.Pattern, item.Match)
	}
	if d.host.ok && d.host.given {
		f.checkHost(d.host.at, d.host.v)
	}
	return item
}

func decodeMethods(f *fileLoad, at spot, n *node, d *itemDraft) {
	d.methods.invalid(at)
	switch {
	case n.kind == stringNode:
		f.fail(at, "is a string, not a list of methods", fmt.Sprintf("write [%q]", clip(strings.ToUpper(n.text))))
		return
	case n.kind != listNode:
		f.fail(at, fmt.Sprintf("is %s, not a list of methods", n.kind), "")
		return
	case len(n.items) == 0:
		f.fail(at, "is empty: no request would ever match", "leave it out to match any method")
		return
	}
	var methods []string
	for i, in := range n.items {
		where := at.item(i, in)
		var method located[string]
		if f.text(where, in, maxMethodBytes, &method); !method.ok {
			continue
		}
		name := strings.ToUpper(method.v)
		if !isToken(name) {
			f.fail(where, fmt.Sprintf("%q is no request method", clip(method.v)), "")
		} else if !slices.Contains(methods, name) {
			methods = append(methods, name)
		}
	}
	d.methods.set(at, methods)
}

// maxMethodBytes bounds the name of a request method.
const maxMethodBytes = 32

// reference is a name that a rule gives as its resource.
type reference struct {
	file *fileLoad
	at   spot
	rule string
	mode ResourceMode
	key  idKey
}

func (f *fileLoad) refer(at spot, mode ResourceMode, name string) {
	f.references = append(f.references, reference{file: f, at: at, rule: f.rule, mode: mode, key: idKey{domain: f.domain, name: name}})
}

// checkGroups compares the resources of rules with the API groups that are defined.
func (l *loader) checkGroups() {
	groups := make(map[string][]string) // names by domain
	for key := range l.apis {
		groups[key.domain] = append(groups[key.domain], key.name)
	}
	for _, names := range groups {
		slices.Sort(names)
	}
	for _, ref := range l.references {
		_, defined := l.apis[ref.key]
		if f := ref.file; (ref.mode == ModeAPI) != defined && !f.full() {
			f.rule = ref.rule
			f.warnGroup(ref, groups[ref.key.domain])
		}
	}
}

func (f *fileLoad) warnGroup(ref reference, groups []string) {
	if ref.mode == ModeRoute {
		f.warn(ref.at, fmt.Sprintf("%q is an API group as well, but resourceMode is route: the rule is for the route of that name", clip(ref.key.name)),
			`write "resourceMode": "api" if the group is meant`)
		return
	}
	const searched = 200 // names compared with each wrong one
	fix := "define it in a file named …" + kindAPIDefinition.stem()
	if near := nearest(ref.key.name, groups[:min(len(groups), searched)]); near != "" {
		fix = fmt.Sprintf("write %q, or %s", near, fix)
	}
	f.warn(ref.at, fmt.Sprintf("no API group %q is defined: the rule never applies", clip(ref.key.name)), fix)
}
