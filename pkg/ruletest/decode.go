package ruletest

import (
	"fmt"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// field declares one field of a kind of mapping.
type field[T any] struct {
	name string
	read func(r *reader, v rule.Value, into *T)
}

// mapping reads the fields of a mapping and returns those that are given, by name. What is null is not. False
// means that v is no mapping.
func mapping[T any](r *reader, v rule.Value, what string, fields []field[T], into *T) (map[string]rule.Value, bool) {
	members, ok := v.Members()
	if !ok {
		r.doc.Fail(v, fmt.Sprintf("is %s, not %s", v, what), "")
		return nil, false
	}
	given := make(map[string]rule.Value, len(members))
	for _, m := range members {
		fd := find(fields, m.Name)
		switch {
		case fd == nil:
			r.doc.Fail(m.Key, rule.UnknownField(m.Name, names(fields)), "")
		case !m.Value.Null():
			given[m.Name] = m.Value
			fd.read(r, m.Value, into)
		}
	}
	return given, true
}

func find[T any](fields []field[T], name string) *field[T] {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

func names[T any](fields []field[T]) []string {
	var names []string
	for i := range fields {
		names = append(names, fields[i].name)
	}
	return names
}

var fileFields = []field[caseFile]{
	{"rules", func(r *reader, v rule.Value, f *caseFile) { f.rules = r.paths(v) }},
	{"cases", func(r *reader, v rule.Value, f *caseFile) { f.cases = r.cases(v) }},
}

var caseFields = []field[testCase]{
	{"name", func(r *reader, v rule.Value, c *testCase) { c.name, _ = r.text(v) }},
	{"events", func(r *reader, v rule.Value, c *testCase) { c.events = r.events(v) }},
}

// decode reads a case file. Every mistake in it is reported; with one of them it must not be run.
func decode(file rule.File) (caseFile, rule.Problems) {
	r := &reader{doc: rule.ReadDocument(file)}
	var f caseFile
	if root, ok := r.doc.Root(); ok {
		given, ok := mapping(r, root, "a mapping with the key cases", fileFields, &f)
		if _, cases := given["cases"]; ok && !cases {
			r.doc.Fail(root.Missing("cases"), "is missing: what to test", "")
		}
	}
	return f, r.doc.Problems()
}

func (r *reader) paths(v rule.Value) []string {
	items, isList := v.Items()
	if !isList {
		items = []rule.Value{v}
	}
	var paths []string
	for _, item := range items {
		if path, ok := r.path(item); ok {
			paths = append(paths, path)
		}
	}
	return paths
}

func (r *reader) path(v rule.Value) (string, bool) {
	path, ok := r.text(v)
	if ok && path == "" {
		r.doc.Fail(v, "an empty path", "name a file or a directory")
		ok = false
	}
	return path, ok
}

// list reads the values of a list that must not be empty.
func (r *reader) list(v rule.Value, what string) []rule.Value {
	items, ok := v.Items()
	switch {
	case !ok:
		r.doc.Fail(v, fmt.Sprintf("is %s, not a list of %s", v, what), "")
	case len(items) == 0:
		r.doc.Fail(v, "is empty, so nothing would be tested", "")
	}
	return items
}

func (r *reader) cases(v rule.Value) []testCase {
	var cases []testCase
	for i, item := range r.list(v, "cases") {
		c := testCase{name: fmt.Sprintf("case %d", i+1), at: r.doc.At(item)}
		given, ok := mapping(r, item, "a case", caseFields, &c)
		if _, events := given["events"]; ok && !events {
			r.doc.Fail(item.Missing("events"), "is missing: what happens, and what is expected", "")
		}
		cases = append(cases, c)
	}
	return cases
}

// unread is the time of an event that does not say one, or none that is understood.
const unread time.Duration = -1

// events reads the events of a case, in the order of time.
func (r *reader) events(v rule.Value) []event {
	var events []event
	held := make(map[string]int)
	latest := time.Duration(0)
	for _, item := range r.list(v, "events") {
		e, given, ok := r.event(item)
		if !ok {
			continue
		}
		if e.at < latest && e.at != unread {
			r.doc.Fail(given["at"], fmt.Sprintf("is %v, before the event above it, at %v", e.at, latest), "put the events in the order of time, which never goes back")
		}
		latest = max(latest, e.at)
		r.holds(&e, given, held)
		events = append(events, e)
	}
	return events
}

// holds checks the names under which calls are kept until they end; held is how many by each.
func (r *reader) holds(e *event, given map[string]rule.Value, held map[string]int) {
	switch {
	case e.hold != "":
		held[e.hold] += e.times
	case e.action == actComplete && e.complete != "":
		if held[e.complete] < e.times {
			var known []string
			for name, n := range held {
				if n > 0 && name != e.complete {
					known = append(known, name)
				}
			}
			message := fmt.Sprintf("of the name %q %d calls are held at this point, not %d", e.complete, held[e.complete], e.times)
			if held[e.complete] == 0 && len(known) > 0 {
				message += rule.DidYouMean(e.complete, sorted(known))
			}
			r.doc.Fail(given["complete"], message, "")
		}
		held[e.complete] = max(held[e.complete]-e.times, 0)
	}
}
