package localapi

import "fmt"

// The fields of the requests, as DecisionService names them.
var (
	queryFields    = []string{"domain", "resource", "attributes", "args", "hits", "peek", "maxWaitMs", "tellWait"}
	completeFields = []string{"token", "error", "rtMs", "aborted"}
	batchFields    = []string{"items", "atomic"}
)

// readQuery reads the request of decide and acquire.
func readQuery(text []byte) (query, error) {
	r := newReader(text)
	q := newQuery()
	if err := r.query("", &q); err != nil {
		return q, err
	}
	return q, r.end()
}

// readEnd reads the request of complete.
func readEnd(text []byte) (end, error) {
	r := newReader(text)
	var e end
	err := r.object("", completeFields, func(i int) (err error) {
		at, name := r.at(), completeFields[i]
		switch name {
		case "token":
			var token string
			if token, err = r.str(name); err != nil {
				return err
			}
			if err := e.setToken(token); err != nil {
				return &fault{name, at, err.Error()}
			}
		case "error":
			e.failed, err = r.boolean(name)
		case "rtMs":
			err = r.whole(name, e.setRT)
		case "aborted":
			e.aborted, err = r.boolean(name)
		}
		return err
	})
	if err == nil && e.token == "" {
		err = &fault{"token", -1, "is missing"}
	}
	if err != nil {
		return e, err
	}
	return e, r.end()
}

// readBatch reads the request of batch.
func readBatch(text []byte) (items []query, atomic bool, err error) {
	r := newReader(text)
	err = r.object("", batchFields, func(i int) (err error) {
		if batchFields[i] == "atomic" {
			atomic, err = r.boolean("atomic")
			return err
		}
		return r.list("items", func(i, at int) error {
			if i >= maxItems {
				return &fault{"items", at, fmt.Sprintf("a batch holds at most %d items", maxItems)}
			}
			items = append(items, newQuery())
			return r.query(fmt.Sprintf("items[%d]", i), &items[i])
		})
	})
	if err != nil {
		return nil, false, err
	}
	return items, atomic, r.end()
}

// query reads one query.
func (r *reader) query(path string, q *query) error {
	return r.object(path, queryFields, func(i int) (err error) {
		at := join(path, queryFields[i])
		switch queryFields[i] {
		case "domain":
			var domain string
			domain, err = r.str(at)
			q.setDomain(domain)
		case "resource":
			q.resource, err = r.str(at)
		case "attributes":
			err = r.attributes(at, q)
		case "args":
			err = r.args(at, q)
		case "hits":
			err = r.whole(at, q.setHits)
		case "peek":
			q.peek, err = r.boolean(at)
		case "maxWaitMs":
			err = r.whole(at, q.setMaxWait)
		case "tellWait":
			q.tell, err = r.boolean(at)
		}
		return err
	})
}

// attributes reads an object of strings. Of a name that stands there twice the first counts, as in what
// Envoy sends.
func (r *reader) attributes(path string, q *query) error {
	return r.entries(path, func(name string, at int) error {
		value, err := r.str(join(path, clip(name)))
		if err != nil {
			return err
		}
		q.attrs = append(q.attrs, attribute{name, value, at})
		return nil
	})
}

// args reads a list of arguments; null stands for one that was not given.
func (r *reader) args(path string, q *query) error {
	return r.list(path, func(i, at int) error {
		if i >= maxArgs {
			return &fault{path, at, fmt.Sprintf("a call has at most %d arguments", maxArgs)}
		}
		value, given, err := r.scalar(fmt.Sprintf("%s[%d]", path, i))
		if err != nil || !given {
			return err
		}
		q.addArg(i, value, at)
		return nil
	})
}
