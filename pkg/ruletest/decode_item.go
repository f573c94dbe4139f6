package ruletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// itemDraft is a request as it is written.
type itemDraft struct {
	item
	resource, origin *string
	args             []string
	peek, refund     bool
}

var itemFields = []field[itemDraft]{
	{"resource", func(r *reader, v rule.Value, d *itemDraft) { d.resource = r.attribute(v) }},
	{"attrs", func(r *reader, v rule.Value, d *itemDraft) { d.attrs = r.attrs(v) }},
	{"args", func(r *reader, v rule.Value, d *itemDraft) { d.args = r.args(v) }},
	{"origin", func(r *reader, v rule.Value, d *itemDraft) { d.origin = r.attribute(v) }},
	{"hits", func(r *reader, v rule.Value, d *itemDraft) { d.hits = r.count(v, 1, maxHits) }},
	{"peek", func(r *reader, v rule.Value, d *itemDraft) { d.peek = r.flag(v) }},
	{"refund", func(r *reader, v rule.Value, d *itemDraft) { d.refund = r.flag(v) }},
	{"expect", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Outcome, _ = r.text(v) }},
	{"rule", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Rule = r.attribute(v) }},
	{"reason", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Reason = r.attribute(v) }},
	{"limit", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Limit = r.number(v) }},
	{"remaining", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Remaining = r.number(v) }},
	{"retryAfter", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.RetryAfter = r.retryAfter(v) }},
	{"wait", func(r *reader, v rule.Value, d *itemDraft) { d.item.expect.Wait = millis(r.duration(v)) }},
}

// call reads the requests of a call.
func (r *reader) call(v rule.Value) []item {
	var items []item
	for _, one := range r.list(v, "requests") {
		d := itemDraft{item: item{pos: r.doc.At(one), hits: 1}}
		given, ok := mapping(r, one, "a request", itemFields, &d)
		if !ok {
			continue
		}
		r.expectation(&d.expect, given, singleRequest.outcomes)
		r.finish(one, given, &d)
		items = append(items, d.item)
	}
	return items
}

// finish puts what is written of a request together.
func (r *reader) finish(v rule.Value, given map[string]rule.Value, d *itemDraft) {
	if members, _ := v.Members(); given["resource"].Null() && given["attrs"].Null() && len(members) == len(given) {
		r.doc.Fail(v, "is a request of nothing", "give it a resource or attrs")
	}
	switch {
	case d.peek && d.refund:
		r.doc.Fail(given["refund"], "beside peek", "make two events of it")
	case d.peek:
		d.kind = engine.Peek
	case d.refund:
		d.kind = engine.Refund
	}
	// What has a field of its own comes first: of a key that is added twice the first value counts.
	var own []attribute
	if d.resource != nil {
		own = append(own, attribute{"resource", *d.resource})
	}
	if d.origin != nil {
		own = append(own, attribute{"origin", *d.origin})
	}
	for _, a := range own {
		if slices.ContainsFunc(d.attrs, func(b attribute) bool { return a.key == b.key }) {
			r.doc.Fail(given[a.key], "stands in attrs too", "")
		}
	}
	for i, arg := range d.args {
		own = append(own, attribute{"arg." + strconv.Itoa(i), arg})
	}
	d.attrs = append(own, d.attrs...)
}

func (r *reader) attrs(v rule.Value) []attribute {
	members, ok := v.Members()
	if !ok {
		r.doc.Fail(v, fmt.Sprintf("is %s, not a mapping of attributes", v), "write {path: /orders/7, header.x-user-id: bob}")
	}
	var attrs []attribute
	for _, m := range members {
		switch err := attr.Known(m.Name); {
		case err != nil:
			r.doc.Fail(m.Key, err.Error()+rule.DidYouMean(m.Name, attr.Like(m.Name)), "")
			continue
		case strings.HasPrefix(m.Name, "sidecard."):
			r.doc.Fail(m.Key, fmt.Sprintf("%q reports the end of a call", m.Name), "use hold and complete")
			continue
		}
		if text, ok := r.plain(m.Value); ok {
			attrs = append(attrs, attribute{m.Name, text})
		}
	}
	return attrs
}

func (r *reader) args(v rule.Value) []string {
	items, ok := v.Items()
	if !ok {
		r.doc.Fail(v, fmt.Sprintf("is %s, not a list of arguments", v), "")
	}
	var args []string
	for _, item := range items {
		text, _ := r.plain(item)
		args = append(args, text)
	}
	return args
}

// attribute reads a value that may be empty.
func (r *reader) attribute(v rule.Value) *string {
	text, ok := r.plain(v)
	if !ok {
		return nil
	}
	return &text
}

// name reads a value that must not be empty.
func (r *reader) name(v rule.Value) string {
	text, ok := r.plain(v)
	if ok && text == "" {
		r.doc.Fail(v, "is empty", "give it a name")
	}
	return text
}

func (r *reader) number(v rule.Value) *int64 {
	n := r.count(v, 0, maxHits)
	return &n
}

// retryAfter reads a time, or the word never.
func (r *reader) retryAfter(v rule.Value) *Millis {
	if text, _ := v.Text(); text == never {
		return new(Millis)
	}
	m := millis(r.duration(v))
	if *m == 0 {
		r.doc.Fail(v, "is 0, but a refused request must wait", "write never if it will not fit, or if nobody knows when")
	}
	return m
}
