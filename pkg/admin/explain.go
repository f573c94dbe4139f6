package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sidecard/sidecard/internal/explain"
	"github.com/sidecard/sidecard/pkg/engine/attr"
)

// DefaultDomain is that of questions which name none.
const DefaultDomain = "sidecard"

// Question is the body of a POST to /api/v1/explain. A GET has the same as URL parameters: resource, domain, hits, and
// any number of attr=KEY=VALUE.
type Question struct {
	Domain     string              `json:"domain,omitempty"`   // absent: DefaultDomain
	Resource   string              `json:"resource,omitempty"` // short for the attribute of that name
	Hits       int64               `json:"hits,omitempty"`     // absent: 1
	Attributes []explain.Attribute `json:"attributes,omitempty"`
}

const (
	maxQuestion   = 64 << 10 // bytes
	maxAttributes = 64       // as many as a descriptor may have
)

// explain answers why a request would be limited, by the state of the running engine. It charges nothing.
func (s *Server) explain(r *http.Request) (any, error) {
	var ask Question
	var err error
	if r.Method == http.MethodPost {
		ask, err = readQuestion(r)
	} else {
		ask, err = questionOf(r.URL.Query())
	}
	if err != nil {
		return nil, err
	}
	q, err := ask.check()
	if err != nil {
		return nil, err
	}
	return explain.Of(s.cfg.Engine, s.cfg.Now(), q, explain.Options{Envoy: s.cfg.Envoy}), nil
}

// readQuestion reads the body.
func readQuestion(r *http.Request) (Question, error) {
	if r.URL.RawQuery != "" {
		return Question{}, malformed("write the question into the body, not into the URL")
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/json" {
		return Question{}, problem{http.StatusUnsupportedMediaType, "the Content-Type must be application/json"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxQuestion))
	if err != nil {
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			return Question{}, problem{http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.Itoa(maxQuestion) + " bytes"}
		}
		return Question{}, malformed("the body could not be read: %v", err)
	}
	var ask Question
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&ask); err != nil {
		return Question{}, malformed("the body is no question: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Question{}, malformed("there is more than one question in the body")
	}
	return ask, nil
}

// questionOf reads URL parameters.
func questionOf(q url.Values) (Question, error) {
	known := []string{"attr", "domain", "hits", "resource"}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return Question{}, malformed("unknown URL parameter %q; there are %s", clip(name), strings.Join(known, ", "))
		}
		if name != "attr" && len(values) > 1 {
			return Question{}, malformed("the URL parameter %s is given twice", name)
		}
	}
	ask := Question{Domain: q.Get("domain"), Resource: q.Get("resource")}
	if text := q.Get("hits"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Question{}, malformed("hits: %q is no whole number", clip(text))
		}
		ask.Hits = n
		if n == 0 {
			return Question{}, malformed("hits: 0 is below 1")
		}
	}
	for _, word := range q["attr"] {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return Question{}, malformed("attr: %q has no value, write KEY=VALUE", clip(word))
		}
		ask.Attributes = append(ask.Attributes, explain.Attribute{Key: key, Value: value})
	}
	return ask, nil
}

// check returns the question in the form in which it is asked.
func (q Question) check() (explain.Question, error) {
	out := explain.Question{Domain: q.Domain, Hits: q.Hits}
	if out.Domain == "" {
		out.Domain = DefaultDomain
	}
	if q.Hits < 0 {
		return out, malformed("hits: %d is below 1", q.Hits)
	}
	if q.Resource != "" {
		out.Attributes = append(out.Attributes, explain.Attribute{Key: "resource", Value: q.Resource})
	}
	if len(q.Attributes) > maxAttributes {
		return out, malformed("attributes: %d are more than %d", len(q.Attributes), maxAttributes)
	}
	for _, a := range q.Attributes {
		if err := attr.Known(a.Key); err != nil {
			return out, malformed("attributes: %v", err)
		}
		out.Attributes = append(out.Attributes, a)
	}
	return out, nil
}
