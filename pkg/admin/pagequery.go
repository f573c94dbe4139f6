package admin

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sidecard/sidecard/internal/explain"
)

// pageQuery is what the URL of the page asks to be shown. What is not understood in it is as if it were not there: the
// links and the form of the page write it.
type pageQuery struct {
	values url.Values

	Find      string // rules that have this text in their id, resource, kind or file; empty: all
	All       bool   // long lists are not cut short
	Rules     order
	Resources order
	Ask       askForm
}

// order is how a table is sorted.
type order struct {
	table   string // URL parameter
	By      string // column; empty: as it comes
	Descend bool
}

// askForm is the question to be explained, as it stands in the form.
type askForm struct {
	Asked                                                    bool
	Domain, Resource, Path, Method, Client, Attributes, Hits string
}

func readPageQuery(q url.Values) pageQuery {
	return pageQuery{
		values: q, Find: strings.TrimSpace(q.Get("find")), All: q.Get("show") == "all",
		Rules: readOrder(q, "rules"), Resources: readOrder(q, "resources"),
		Ask: askForm{
			Asked: q.Has("ask"), Domain: q.Get("domain"), Resource: q.Get("resource"), Path: q.Get("path"), Method: q.Get("method"),
			Client: q.Get("client"), Attributes: q.Get("attributes"), Hits: q.Get("hits"),
		},
	}
}

func readOrder(q url.Values, table string) order {
	by, descend := strings.CutPrefix(q.Get(table), "-")
	return order{table, by, descend}
}

// With returns the URL of the page with one parameter changed, or without it if value is empty.
func (q pageQuery) With(name, value string) string {
	values := make(url.Values, len(q.values)+1)
	for key, v := range q.values {
		values[key] = v
	}
	values.Del(name)
	if value != "" {
		values.Set(name, value)
	}
	if len(values) == 0 {
		return "/"
	}
	return "/?" + values.Encode()
}

// column is the head of a column by which a table can be sorted.
type column struct {
	Title string
	URL   string // sorts by it, and if the table is sorted by it already, the other way round
	Sort  string // ascending or descending; empty: the table is not sorted by it
	Note  string // on the title, as a tooltip; may be empty
	Class string
}

// head returns the head of a column. Figures are shown with the largest first.
func (q pageQuery) head(o order, by, title, note string, figure bool) column {
	c := column{Title: title, Note: note}
	descend := figure
	if figure {
		c.Class = "n"
	}
	if o.By == by {
		c.Sort, descend = "ascending", true
		if o.Descend {
			c.Sort, descend = "descending", false
		}
	}
	if descend {
		by = "-" + by
	}
	c.URL = q.With(o.table, by) + "#" + o.table
	return c
}

// sortBy sorts rows by one of the columns. By an unknown one they stay as they are, and equal ones always do.
func sortBy[T any](rows []T, o order, columns map[string]func(a, b *T) int) {
	compare, ok := columns[o.By]
	if !ok {
		return
	}
	slices.SortStableFunc(rows, func(a, b T) int {
		if o.Descend {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
}

// by compares by one key.
func by[T any, K cmp.Ordered](key func(*T) K) func(a, b *T) int {
	return func(a, b *T) int { return cmp.Compare(key(a), key(b)) }
}

// question reads the form.
func (f askForm) question() (explain.Question, error) {
	ask := Question{Domain: strings.TrimSpace(f.Domain), Resource: f.Resource}
	if text := strings.TrimSpace(f.Hits); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return explain.Question{}, malformed("hits: %q is no whole number above 0", clip(text))
		}
		ask.Hits = n
	}
	for _, a := range []explain.Attribute{{Key: "path", Value: f.Path}, {Key: "method", Value: f.Method}, {Key: "remote_address", Value: f.Client}} {
		if a.Value != "" {
			ask.Attributes = append(ask.Attributes, a)
		}
	}
	for line := range strings.Lines(f.Attributes) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return explain.Question{}, malformed("attributes: %q has no value, write KEY=VALUE", clip(line))
		}
		ask.Attributes = append(ask.Attributes, explain.Attribute{Key: strings.TrimSpace(key), Value: value})
	}
	return ask.check()
}
