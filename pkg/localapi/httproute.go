package localapi

import (
	"net/http"

	"github.com/sidecard/sidecard/pkg/rule"
)

// route is a path of the API, which takes one method and is written in one way: nothing is redirected,
// because few clients send their body again.
type route struct {
	path, method string
	serve        http.HandlerFunc
}

// Handler returns the HTTP side: what the documentation calls /v1. It takes any Host header, and refuses
// what a web page of another origin has its browser send. Its server must be without a WriteTimeout,
// because answers may be held back; the handler bounds the writing of each.
func (s *Service) Handler() http.Handler {
	h := httpService{s}
	serve := h.dispatch([]route{
		{"/v1/decide", http.MethodPost, h.answer(h.decide)},
		{"/v1/acquire", http.MethodPost, h.answer(h.acquire)},
		{"/v1/complete", http.MethodPost, h.answer(h.complete)},
		{"/v1/batch", http.MethodPost, h.answer(h.batch)},
		{"/v1/watch", http.MethodGet, h.watch},
	})
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(h.answer(h.foreign))
	guarded := guard.Handler(serve)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitWriting(w) // the limit of the request before on this connection may have passed
		guarded.ServeHTTP(w, r)
	})
}

// dispatch returns a handler that gives each request to its route, and answers what is of none.
func (h httpService) dispatch(routes []route) http.HandlerFunc {
	paths := make([]string, len(routes))
	for i := range routes {
		paths[i] = routes[i].path
	}
	unknown := h.answer(func(r *http.Request, _ []byte) (reply, error) {
		return reply{status: http.StatusNotFound, body: problem{Error: "unknown path" + rule.DidYouMean(r.URL.Path, paths)}}, nil
	})
	return func(w http.ResponseWriter, r *http.Request) {
		for i := range routes {
			switch at := &routes[i]; {
			case at.path != r.URL.Path:
			case at.method != r.Method:
				h.answer(at.otherMethod)(w, r)
				return
			default:
				at.serve(w, r)
				return
			}
		}
		unknown(w, r)
	}
}

// otherMethod answers a request whose path is right and whose method is not.
func (at *route) otherMethod(*http.Request, []byte) (reply, error) {
	return reply{status: http.StatusMethodNotAllowed, allow: at.method, body: problem{Error: "write " + at.method + " " + at.path}}, nil
}

// foreign answers what a browser sends for a web page of another origin.
func (h httpService) foreign(*http.Request, []byte) (reply, error) {
	return reply{status: http.StatusForbidden, body: problem{Error: "a web page of another origin must not ask"}}, nil
}
