package attr

import (
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

var _ engine.Attrs = (*Bag)(nil)

// Param returns a header, URL parameter, cookie, argument or attribute of the request; client address, host
// and caller are no parameters but fields that Request fills. The name of a header must be in lower case. A header is
// its header.NAME attribute, else the bare one, without blanks around it; a URL parameter is what
// the query of the path has, else query.NAME, else the bare one; a cookie is cookie.NAME, else what
// the Cookie header has, else the bare one. A query or Cookie header above 64 KiB that would have to
// be searched is TooLarge. Nothing is parsed before a rule asks for it.
// An argument is named by its number, or, counted from the end, by -1 for the last one and so on; there are as
// many as come without a gap from arg.0 on. An attribute is named by its key: path and method come in their one
// spelling, other keys as they were sent, and those with a dot are none. A path parameter is named by its text in the path.
func (b *Bag) Param(source rule.ParamSource, name string) (string, engine.Presence) {
	b.resolve()
	switch source {
	case rule.SourceHeader:
		return b.header(name)
	case rule.SourceURLParam:
		return b.urlParam(name)
	case rule.SourceCookie:
		return b.cookie(name)
	case rule.SourcePathParam:
		return b.unescaped(name), engine.Present
	case rule.SourceArgument:
		return b.argument(name)
	case rule.SourceAttribute:
		return b.attribute(name)
	}
	return "", engine.Absent
}

func presence(sent bool) engine.Presence {
	if sent {
		return engine.Present
	}
	return engine.Absent
}

// header looks up a header. Blanks around its value are no part of it: HTTP/1 parsers drop them, but
// Envoy takes them in HTTP/2 and passes them on, to an application that drops them. Counted apart,
// each number of blanks would have a budget of its own.
func (b *Bag) header(name string) (string, engine.Presence) {
	var bare field
	for i := range b.entries {
		e := &b.entries[i]
		if e.kind != kindHeader && (e.kind != kindBare || bare.sent) || !equalFold(e.name, name) {
			continue
		}
		if e.kind == kindHeader {
			return trimBlank(e.value), engine.Present
		}
		bare = field{trimBlank(e.value), true}
	}
	return bare.value, presence(bare.sent)
}

// urlParam looks up a URL parameter. The query of the path comes first, since it is what the
// application reads: of the values that Envoy takes out of it, it leaves "+" as it is, so that "a+b"
// and "a%20b", which are the same to an application, would have a budget each.
func (b *Bag) urlParam(name string) (string, engine.Presence) {
	if value, found := b.parsed(kindQuery, name); found != engine.Absent {
		return value, found
	}
	named, bare := b.sent(kindQuery, name)
	if named.sent {
		return named.value, engine.Present
	}
	return bare.value, presence(bare.sent)
}

func (b *Bag) cookie(name string) (string, engine.Presence) {
	named, bare := b.sent(kindCookie, name)
	if named.sent {
		return named.value, engine.Present
	}
	if value, found := b.parsed(kindCookie, name); found != engine.Absent {
		return value, found
	}
	return bare.value, presence(bare.sent)
}

// sent returns the first attribute of the kind and name, and the first bare one of that name.
func (b *Bag) sent(k kind, name string) (named, bare field) {
	for i := range b.entries {
		e := &b.entries[i]
		switch {
		case e.name != name:
		case e.kind == k && !named.sent:
			named = field{e.value, true}
		case e.kind == kindBare && !bare.sent:
			bare = field{e.value, true}
		}
	}
	return named, bare
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

func lowerASCII(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
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
