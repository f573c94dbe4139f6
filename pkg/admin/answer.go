package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

// endpoint is one path of the API.
type endpoint struct {
	path   string
	params []string // URL parameters that it knows; nil: it reads them itself
	post   bool     // it takes POST as well as GET
	answer func(s *Server, r *http.Request) (any, error)
}

// endpoints are all paths of the API.
var endpoints = []endpoint{
	{path: "/api/v1/status", answer: func(s *Server, _ *http.Request) (any, error) { return s.status(), nil }},
	{path: "/api/v1/rules", answer: func(s *Server, _ *http.Request) (any, error) { return s.rules(), nil }},
	{path: "/api/v1/resources", params: []string{"domain", "history", "limit", "mode", "resource"}, answer: (*Server).resources},
	{path: "/api/v1/top", params: []string{"domain", "limit", "rule"}, answer: (*Server).top},
	{path: "/api/v1/explain", post: true, answer: (*Server).explain},
}

// problem is what is wrong with a request. Its text is the answer.
type problem struct {
	status int
	text   string
}

// Error returns the text.
func (p problem) Error() string { return p.text }

func malformed(format string, args ...any) error {
	return problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// endpoint returns the handler of a path.
func (s *Server) endpoint(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed := "GET, HEAD"
		if e.post {
			allowed += ", POST"
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && (!e.post || r.Method != http.MethodPost) {
			w.Header().Set("Allow", allowed)
			fail(w, http.StatusMethodNotAllowed, "the methods are "+allowed)
			return
		}
		err := checkParams(r.URL, e)
		var out any
		if err == nil {
			out, err = e.answer(s, r)
		}
		if p, ok := err.(problem); ok {
			fail(w, p.status, p.text)
			return
		}
		if err != nil {
			fail(w, http.StatusInternalServerError, err.Error())
			return
		}
		write(w, http.StatusOK, out)
	})
}

// checkParams refuses URL parameters that are not known, or given twice.
func checkParams(u *url.URL, e endpoint) error {
	given, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return malformed("the URL parameters cannot be read: %v", err)
	}
	if e.post {
		return nil
	}
	for name, values := range given {
		switch {
		case !slices.Contains(e.params, name) && len(e.params) == 0:
			return malformed("unknown URL parameter %q; there are none", clip(name))
		case !slices.Contains(e.params, name):
			return malformed("unknown URL parameter %q%s", clip(name), rule.DidYouMean(name, e.params))
		case len(values) > 1:
			return malformed("the URL parameter %s is given twice", name)
		}
	}
	return nil
}

// number reads a URL parameter from 1 to most.
func number(q url.Values, name string, fallback, most int) (int, error) {
	text := q.Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, malformed("%s: %q is not a whole number from 1 to %d", name, clip(text), most)
	}
	return n, nil
}

// clip bounds what a message repeats of a request.
func clip(s string) string {
	const most = 64
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

func unknown(w http.ResponseWriter, r *http.Request) {
	paths := make([]string, len(endpoints))
	for i, e := range endpoints {
		paths[i] = e.path
	}
	fail(w, http.StatusNotFound, "unknown path"+rule.DidYouMean(r.URL.Path, paths))
}

func fail(w http.ResponseWriter, status int, text string) {
	write(w, status, Failure{Error: text})
}

// Failure is the answer to a request that was not answered.
type Failure struct {
	Error string `json:"error"`
}

// write writes v as JSON. A client that has gone, or does not read, is nobody to tell.
func write(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		status = http.StatusInternalServerError
		b.Reset()
		b.WriteString(`{"error":"the answer cannot be written"}` + "\n")
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	w.Write(b.Bytes())
}
