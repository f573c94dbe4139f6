package attr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Pair is a parameter as a rule that asks for it would find it.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Description is every parameter that a bag has, each name once, in the order in which they were sent: what a rule
// could ask for. Of a query or a Cookie header that is too large to be searched nothing is listed.
type Description struct {
	Headers []Pair `json:"headers,omitempty"` // names in lower case
	Query   []Pair `json:"query,omitempty"`
	Cookies []Pair `json:"cookies,omitempty"`
	// Named were sent under their bare name, and are found as whatever a rule asks for, unless they
	// were sent as that too.
	Named     []Pair `json:"named,omitempty"`
	Arguments []Pair `json:"arguments,omitempty"` // by their numbers
}

// Describe lists the parameters of the bag. The values are those that Param returns. It is meant for views:
// unlike Param it allocates.
func (b *Bag) Describe() Description {
	b.resolve()
	var d Description
	for _, name := range b.queryNames() {
		d.Query = b.describe(d.Query, rule.SourceURLParam, name)
	}
	for _, name := range b.cookieNames() {
		d.Cookies = b.describe(d.Cookies, rule.SourceCookie, name)
	}
	for i := range b.entries {
		switch e := &b.entries[i]; e.kind {
		case kindHeader:
			d.Headers = b.describe(d.Headers, rule.SourceHeader, strings.Map(lowerRune, e.name))
		case kindQuery:
			d.Query = b.describe(d.Query, rule.SourceURLParam, e.name)
		case kindCookie:
			d.Cookies = b.describe(d.Cookies, rule.SourceCookie, e.name)
		default:
			if !has(d.Named, e.name) {
				d.Named = append(d.Named, Pair{e.name, e.value})
			}
		}
	}
	for n := range b.args {
		name := strconv.Itoa(n)
		if value, found := b.argument(name); found == engine.Present {
			d.Arguments = append(d.Arguments, Pair{name, value})
		}
	}
	return d
}

func (b *Bag) describe(pairs []Pair, source rule.ParamSource, name string) []Pair {
	if has(pairs, name) {
		return pairs
	}
	value, found := b.Param(source, name)
	if found != engine.Present {
		return pairs
	}
	return append(pairs, Pair{name, value})
}

func has(pairs []Pair, name string) bool {
	return slices.ContainsFunc(pairs, func(p Pair) bool { return p.Name == name })
}

func lowerRune(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r | 0x20
	}
	return r
}

// maxDescribed bounds how many parameters of a query, or of a Cookie header, are described.
const maxDescribed = 100

// queryNames returns the names in the query of the path, decoded.
func (b *Bag) queryNames() []string {
	if len(b.query) > maxQuery {
		return nil
	}
	var names []string
	for pair := range strings.SplitSeq(b.query, "&") {
		raw, _, _ := strings.Cut(pair, "=")
		if pair != "" && len(names) < maxDescribed {
			names = append(names, b.scratch.decoded(raw))
		}
	}
	return names
}

// cookieNames returns the names in the Cookie header.
func (b *Bag) cookieNames() []string {
	header := b.known[knownCookie].value
	if len(header) > maxCookies {
		return nil
	}
	var names []string
	for pair := range strings.SplitSeq(header, ";") {
		name, _, ok := strings.Cut(pair, "=")
		if ok && len(names) < maxDescribed {
			names = append(names, trimBlank(name))
		}
	}
	return names
}
