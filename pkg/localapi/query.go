package localapi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// The bounds of what may be asked.
const (
	maxItems = 128 // of a batch
	maxArgs  = 64
	// maxRT is the longest time that a call can be reported to have taken: as long as a lease can be.
	maxRT = 24 * time.Hour
)

// query is what one item asks, whichever way it came.
type query struct {
	domain   string
	resource string
	attrs    []attribute
	hits     int64
	peek     bool
	tell     bool
	maxWait  time.Duration // below 0: none was given
}

// attribute is one attribute or argument; at is where its key stands in the text of a request, if there
// is one.
type attribute struct {
	key, value string
	at         int
}

// end is how a call ended.
type end struct {
	token   string
	failed  bool
	aborted bool
	rt      time.Duration // 0: not given
}

// fault is what is wrong with a request. The field is a path such as items[2].hits; at is where it
// stands in the text of the request, below 0 if there is none.
type fault struct {
	field   string
	at      int
	message string
}

// Error returns the field and what is wrong with it.
func (f *fault) Error() string {
	if f.field == "" {
		return f.message
	}
	return f.field + ": " + f.message
}

// newQuery returns a query that asks nothing but the defaults.
func newQuery() query { return query{domain: DefaultDomain, hits: 1, maxWait: -1} }

func (q *query) setDomain(domain string) {
	if domain != "" {
		q.domain = domain
	}
}

func (q *query) setHits(n int64) error {
	if n < 1 {
		return fmt.Errorf("%d is below 1; to ask without taking anything, set peek", n)
	}
	q.hits = n
	return nil
}

func (q *query) setMaxWait(ms int64) error {
	if ms < 0 {
		return fmt.Errorf("%d is below 0; leave it out to wait as long as the rules want", ms)
	}
	q.maxWait = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	return nil
}

// addArg adds the argument of that index.
func (q *query) addArg(i int, value string, at int) {
	q.attrs = append(q.attrs, attribute{argKey(i), value, at})
}

// argKey returns the attribute that is the argument of that index.
func argKey(i int) string { return "arg." + strconv.Itoa(i) }

func (e *end) setToken(token string) error {
	if token == "" {
		return fmt.Errorf("is empty; a decision without a token has nothing to complete")
	}
	e.token = token
	return nil
}

func (e *end) setRT(ms int64) error {
	if most := maxRT.Milliseconds(); ms < 0 || ms > most {
		return fmt.Errorf("%d is not from 0 to %d", ms, most)
	}
	e.rt = max(time.Duration(ms)*time.Millisecond, 1) // the engine takes 0 for "not known"
	return nil
}

// check returns a *fault about an attribute that can mean nothing: it is a slip of the program that asks, and
// rules that look for what was meant would let everything pass. Values are never a fault. at is the path of
// the query, with the dot behind it, if it is one of several.
func (q *query) check(at string, names map[string]string) error {
	for _, a := range q.attrs {
		if message := meaningless(renamed(a.key, names)); message != "" {
			return &fault{field: at + "attributes", at: a.at, message: message}
		}
	}
	return nil
}

// fill puts the attributes of a query that has been checked into a bag, by the names that the mapping of the
// domain gives them.
func (q *query) fill(bag *attr.Bag, names map[string]string) {
	if q.resource != "" {
		bag.Add("resource", q.resource)
	}
	for _, a := range q.attrs {
		bag.Add(renamed(a.key, names), a.value)
	}
}

func renamed(key string, names map[string]string) string {
	if name, ok := names[key]; ok {
		return name
	}
	return key
}

// meaningless says why a key can mean nothing here, or nothing if it can.
func meaningless(key string) string {
	switch key {
	case "sidecard.token", "sidecard.code", "sidecard.flags":
		return fmt.Sprintf("%q reports the end of a request of Envoy's; what was begun here ends with complete", key)
	case "header.", "query.", "cookie.":
		// Somebody passes on whatever names a client sends, and a client must not be able to have a
		// query refused as malformed. No rule looks for an empty name.
		return ""
	}
	err := attr.Known(key)
	switch {
	case err == nil:
		return ""
	case key == "":
		return err.Error()
	}
	like := slices.DeleteFunc(attr.Like(key), func(k string) bool { return strings.HasPrefix(k, "sidecard.") })
	return err.Error() + rule.DidYouMean(key, like)
}
