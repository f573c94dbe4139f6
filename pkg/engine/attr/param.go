package attr

import (
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

var _ engine.Attrs = (*Bag)(nil)

// Param returns a header, URL parameter or cookie of the request; client address and host are no
// parameters but fields that Request fills. The name of a header must be in lower case. A header is
// its header.NAME attribute, else the bare one; a URL parameter is query.NAME, else what the query
// of the path has, else the bare one; a cookie is cookie.NAME, else what the Cookie header has, else
// the bare one. A query or Cookie header above 64 KiB that would have to be searched is TooLarge.
// Nothing is parsed before a rule asks for it.
func (b *Bag) Param(source rule.ParamSource, name string) (string, engine.Presence) {
	b.resolve()
	switch source {
	case rule.SourceHeader:
		return b.header(name)
	case rule.SourceURLParam:
		return b.named(kindQuery, name)
	case rule.SourceCookie:
		return b.named(kindCookie, name)
	}
	return "", engine.Absent
}

func presence(sent bool) engine.Presence {
	if sent {
		return engine.Present
	}
	return engine.Absent
}

func (b *Bag) header(name string) (string, engine.Presence) {
	var bare field
	for i := range b.entries {
		e := &b.entries[i]
		if e.kind != kindHeader && (e.kind != kindBare || bare.sent) || !equalFold(e.name, name) {
			continue
		}
		if e.kind == kindHeader {
			return e.value, engine.Present
		}
		bare = field{e.value, true}
	}
	return bare.value, presence(bare.sent)
}

// named looks up a URL parameter or a cookie.
func (b *Bag) named(k kind, name string) (string, engine.Presence) {
	var bare field
	for i := range b.entries {
		e := &b.entries[i]
		if e.kind != k && (e.kind != kindBare || bare.sent) || e.name != name {
			continue
		}
		if e.kind == k {
			return e.value, engine.Present
		}
		bare = field{e.value, true}
	}
	if value, found := b.parsed(k, name); found != engine.Absent {
		return value, found
	}
	return bare.value, presence(bare.sent)
}

// parsed looks a name up in the query of the path or in the Cookie header.
func (b *Bag) parsed(k kind, name string) (string, engine.Presence) {
	if k == kindQuery && b.query == "" || k == kindCookie && b.known[knownCookie].value == "" {
		return "", engine.Absent
	}
	for i := range b.found {
		if f := &b.found[i]; f.kind == k && f.name == name {
			return f.value, f.presence
		}
	}
	f := finding{kind: k, name: name}
	if k == kindQuery {
		f.value, f.presence = b.queryParam(name)
	} else {
		f.value, f.presence = b.cookieParam(name)
	}
	b.found = append(b.found, f)
	return f.value, f.presence
}

// equalFold compares a name of any case with one in lower case, in ASCII.
func equalFold(name, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i := 0; i < len(name); i++ {
		if lowerASCII(name[i]) != lower[i] {
			return false
		}
	}
	return true
}
