// Package attr turns the attributes of a request, as a descriptor or a local caller names them,
// into what a decision reads: resource, normalised path, method, host, client address, caller, and
// the headers, URL parameters and cookies that rules ask for. It takes bytes as they come, never
// panics on them and never refuses: what is beyond its bounds is said to be too large, and the
// rules that need it decide. It evaluates no rule.
package attr

import (
	"strings"

	"github.com/sidecard/sidecard/pkg/engine"
)

// known numbers the attributes that have a meaning of their own.
type known uint8

const (
	knownResource known = iota
	knownRoute
	knownGenericKey
	knownPath
	knownColonPath
	knownMethod
	knownColonMethod
	knownHost
	knownAuthority
	knownOrigin
	knownRemoteAddress
	knownMaskedRemoteAddress
	knownCookie
	knownToken
	knownCode
	knownFlags
	knownCount
)

// kind says which look-ups an entry answers.
type kind uint8

const (
	kindBare kind = iota // a header, URL parameter or cookie, when no other form gives one
	kindHeader
	kindQuery
	kindCookie
	kindSegment // no look-up: a piece of the path that was decoded
)

type field struct {
	value string
	sent  bool
}

type entry struct {
	kind  kind
	name  string
	value string
}

// Bag is the attributes of one request. Fill it with Add, read it with Request and Param, and Reset
// it for the next request. It allocates nothing once its buffers have grown to the size of the
// requests at hand. The zero value is an empty bag. It must not be copied after first use nor be
// used by two goroutines at a time.
//
// The strings it returns alias those given to Add, or a buffer inside the bag: they are valid until
// Reset, and no longer than what was given to Add.
type Bag struct {
	known    [knownCount]field
	entries  []entry // in the order sent
	args     []field // by their number
	reported bool

	// What resolve derives from known, once.
	resolved     bool
	path         string
	pathTooLarge bool
	query        string
	method       string
	host, ip     string

	found   []finding // what was parsed out of the query and the cookie header so far
	scratch scratch
}

// finding remembers one look-up into the query or the cookie header, so that the rules that share a
// parameter parse and decode it once.
type finding struct {
	kind     kind
	name     string
	value    string
	presence engine.Presence
}

// Reset empties the bag. Every string it returned becomes invalid.
func (b *Bag) Reset() {
	b.known = [knownCount]field{}
	clear(b.entries) // a bag at rest pins nobody's receive buffer
	b.entries = b.entries[:0]
	clear(b.args)
	b.args = b.args[:0]
	b.reported = false
	b.resolved = false
	b.path, b.pathTooLarge, b.query = "", false, ""
	b.method, b.host, b.ip = "", "", ""
	clear(b.found)
	b.found = b.found[:0]
	b.scratch.reset()
}

// Add puts one attribute into the bag. The order of different keys does not matter; of a key that is
// added twice the first value counts. The keys:
//
//	resource, else route, else generic_key      the resource
//	path, else :path                            the path, with or without a query
//	method, else :method                        the method
//	host, else :authority                       the host
//	origin                                      the caller
//	remote_address, else masked_remote_address  the client address
//	header.NAME (any case)                      a header
//	query.NAME                                  a URL parameter, unless the query of the path has it
//	cookie.NAME                                 a cookie; beats the Cookie header
//	cookie                                      the whole Cookie header
//	arg.N                                       a positional argument, from arg.0 to arg.63, never a header or
//	                                            the like
//	sidecard.token, sidecard.code, sidecard.flags  a completion report
//	any other name                              a header (any case), URL parameter or cookie of that
//	                                            name, for those that no form above gives
//
// "Else" is also taken where the value before it is empty.
func (b *Bag) Add(key, value string) {
	switch key {
	case "resource":
		b.set(knownResource, value)
	case "route":
		b.set(knownRoute, value)
	case "generic_key":
		b.set(knownGenericKey, value)
	case "path":
		b.set(knownPath, value)
	case ":path":
		b.set(knownColonPath, value)
	case "method":
		b.set(knownMethod, value)
	case ":method":
		b.set(knownColonMethod, value)
	case "host":
		b.set(knownHost, value)
	case ":authority":
		b.set(knownAuthority, value)
	case "origin":
		b.set(knownOrigin, value)
	case "remote_address":
		b.set(knownRemoteAddress, value)
	case "masked_remote_address":
		b.set(knownMaskedRemoteAddress, value)
	case "cookie":
		b.set(knownCookie, value)
	case "sidecard.token":
		b.set(knownToken, value)
		b.reported = true
	case "sidecard.code":
		b.set(knownCode, value)
		b.reported = true
	case "sidecard.flags":
		b.set(knownFlags, value)
		b.reported = true
	default:
		b.addNamed(key, value)
	}
}

func (b *Bag) set(k known, value string) {
	if f := &b.known[k]; !f.sent {
		*f = field{value, true}
	}
}

func (b *Bag) addNamed(key, value string) {
	k, name := kindBare, key
	if n, ok := strings.CutPrefix(key, "header."); ok {
		k, name = kindHeader, n
	} else if n, ok := strings.CutPrefix(key, "query."); ok {
		k, name = kindQuery, n
	} else if n, ok := strings.CutPrefix(key, "cookie."); ok {
		k, name = kindCookie, n
	} else if n, ok := strings.CutPrefix(key, "arg."); ok {
		b.addArgument(n, value)
		return
	}
	b.entries = append(b.entries, entry{k, name, value})
}

// first returns the first of the given attributes that has a value.
func (b *Bag) first(keys ...known) string {
	for _, k := range keys {
		if v := b.known[k].value; v != "" {
			return v
		}
	}
	return ""
}

// Report is how a call ended, as Envoy writes it: the token of the call, the response code, which is 0
// if there was no response, and the response flags, with commas between them. What was not sent is empty.
type Report struct{ Token, Code, Flags string }

// Report says whether the bag is a completion report, that is whether it has any of the sidecard.*
// attributes of one, and returns it.
func (b *Bag) Report() (Report, bool) {
	return Report{b.known[knownToken].value, b.known[knownCode].value, b.known[knownFlags].value}, b.reported
}

// Request fills r from the bag, except for Hits and Kind, which the bag does not know. Path, method,
// host and client address come in one spelling each; a path above 64 KiB is said to be too large.
func (b *Bag) Request(r *engine.Request) {
	b.resolve()
	r.Resource = b.first(knownResource, knownRoute, knownGenericKey)
	r.Path = b.path
	r.PathTooLarge = b.pathTooLarge
	r.Method = b.method
	r.Host = b.host
	r.ClientIP = b.ip
	r.Origin = b.known[knownOrigin].value
	r.Attrs = b
}

// resolve derives path, query, method, host and client address from what was added so far.
func (b *Bag) resolve() {
	if b.resolved {
		return
	}
	b.resolved = true
	if raw := b.first(knownPath, knownColonPath); raw != "" {
		path, query := splitTarget(raw)
		b.query = query
		if len(path) > maxPath {
			b.pathTooLarge = true
		} else {
			b.path = b.scratch.path(path)
		}
	}
	// Methods are case-sensitive, but Envoy lets "post" pass in HTTP/2, and there are applications
	// that take it for POST.
	b.method = b.scratch.upper(b.first(knownMethod, knownColonMethod))
	b.host = b.scratch.host(b.first(knownHost, knownAuthority))
	b.ip = b.scratch.ip(b.first(knownRemoteAddress, knownMaskedRemoteAddress))
}
