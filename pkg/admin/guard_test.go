package admin

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

func TestHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `gatewayFlowRules: []`, func(c *Config) { c.Hosts = []string{"shop.internal"} })
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9091": 200, "LOCALHOST:1": 200, "app.localhost": 200, "127.0.0.1:9091": 200, "10.1.2.3": 200, "[::1]:9091": 200, "[::1]": 200,
		"shop.internal:9091": 200, "Shop.Internal.": 200,
		"evil.example": 421, "evil.example:9091": 421, "localhost.evil.example": 421, "": 421, "127.0.0.1.evil.example": 421, "notlocalhost": 421,
		"x.shop.internal": 421,
	} {
		if got := w.request("GET", "/api/v1/status", "", "Host", host); got.Code != want {
			t.Errorf("%q: got %d, want %d", host, got.Code, want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/api/v1/status", nil)
	r.Host = "sidecard"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Net: "unix", Name: "/x"})))
	got := httptest.NewRecorder()
	if w.http.ServeHTTP(got, r); got.Code != 200 {
		t.Errorf("over a Unix socket: got %d", got.Code)
	}
}

func TestAnswersAreForNobodyElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `gatewayFlowRules: []`, nil)
	for _, target := range []string{"/api/v1/status", "/nothing", "/api/v1/top"} {
		got := w.request("GET", target, "", "Origin", "https://evil.example")
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "", "Content-Type": "application/json",
		} {
			if value := got.Header().Get(name); value != want {
				t.Errorf("%s: %s is %q, want %q", target, name, value, want)
			}
		}
	}
	for _, tc := range []struct {
		method, site, mode string
		want               int
	}{
		{"GET", "cross-site", "cors", 403},
		{"GET", "cross-site", "no-cors", 403},
		{"GET", "same-site", "cors", 403},
		{"GET", "cross-site", "navigate", 200},
		{"POST", "cross-site", "navigate", 403},
		{"GET", "same-origin", "cors", 200},
		{"GET", "none", "navigate", 200},
	} {
		got := w.request(tc.method, "/api/v1/explain", `{}`, "Sec-Fetch-Site", tc.site, "Sec-Fetch-Mode", tc.mode, "Content-Type", "application/json")
		if got.Code != tc.want {
			t.Errorf("%+v: got %d, %s", tc, got.Code, got.Body)
		}
	}
}

func TestMalformedRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, everyKind, nil)
	for _, tc := range []struct {
		method, target, body string
		status               int
		text                 string
	}{
		{"POST", "/api/v1/status", "", 405, "the methods are GET, HEAD"},
		{"DELETE", "/api/v1/explain", "", 405, "the methods are GET, HEAD, POST"},
		{"GET", "/api/v1/stats", "", 404, `unknown path; did you mean "/api/v1/status"?`},
		{"GET", "/debug/pprof/heap", "", 404, "profiles are served with --pprof only"},
		{"GET", "/api/v1/status?x=1", "", 400, `unknown URL parameter "x"; there are none`},
		{"GET", "/api/v1/top?rul=1", "", 400, `unknown URL parameter "rul"; did you mean "rule"?`},
		{"GET", "/api/v1/top", "", 400, "rule: name the rule by its id, as /api/v1/rules has it"},
		{"GET", "/api/v1/top?rule=a&rule=b", "", 400, "the URL parameter rule is given twice"},
		{"GET", "/api/v1/top?rule=none", "", 404, "there is no rule of that id in force"},
		{"GET", "/api/v1/top?rule=orders-5", "", 404, "the rule limits no parameter, so there are no values"},
		{"GET", "/api/v1/top?rule=per-user&domain=other", "", 404, "there is no rule of that id in force"},
		{"GET", "/api/v1/top?rule=per-user&limit=0", "", 400, `limit: "0" is not a whole number from 1 to 100`},
		{"GET", "/api/v1/resources?history=301", "", 400, `history: "301" is not a whole number from 1 to 300`},
		{"GET", "/api/v1/resources?limit=x", "", 400, `limit: "x" is not a whole number from 1 to 10000`},
		{"GET", "/api/v1/resources?resource=%zz", "", 400, `the URL parameters cannot be read: invalid URL escape "%zz"`},
		{"GET", "/api/v1/explain?attr=path", "", 400, `attr: "path" has no value, write KEY=VALUE`},
		{"GET", "/api/v1/explain?atr=path", "", 400, `unknown URL parameter "atr"; there are attr, domain, hits, resource`},
		{"GET", "/api/v1/explain?hits=0", "", 400, "hits: 0 is below 1"},
		{"GET", "/api/v1/explain?hits=x", "", 400, `hits: "x" is no whole number`},
		{"POST", "/api/v1/explain", `{"hits": -1}`, 400, "hits: -1 is below 1"},
		{"POST", "/api/v1/explain", `{"hit": 1}`, 400, `the body is no question: json: unknown field "hit"`},
		{"POST", "/api/v1/explain", `{} {}`, 400, "there is more than one question in the body"},
		{"POST", "/api/v1/explain?x=1", `{}`, 400, "write the question into the body, not into the URL"},
		{"POST", "/api/v1/explain", `{"attributes": [{"key": "heder.x", "value": "1"}]}`, 400,
			`attributes: "heder.x" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg`},
		{"POST", "/api/v1/explain", `{"resource": "` + strings.Repeat("x", maxQuestion) + `"}`, 413, "the body is larger than 65536 bytes"},
	} {
		got := w.request(tc.method, tc.target, tc.body, "Content-Type", "application/json")
		var f Failure
		if err := json.Unmarshal(got.Body.Bytes(), &f); err != nil || got.Code != tc.status || f.Error != tc.text {
			t.Errorf("%s %s: got %d, %s, want %d, %s", tc.method, tc.target, got.Code, got.Body, tc.status, tc.text)
		}
	}
	if got := w.request("POST", "/api/v1/explain", "resource=x", "Content-Type", "application/x-www-form-urlencoded"); got.Code != http.StatusUnsupportedMediaType {
		t.Errorf("a form: got %d", got.Code)
	}
}

// More requests at a time than may be answered are told to come again.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `gatewayFlowRules: []`, nil)
	for range maxRequests {
		w.server.slots <- struct{}{}
	}
	if got := w.request("GET", "/api/v1/status", ""); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") != "1" {
		t.Errorf("got %d", got.Code)
	}
	<-w.server.slots
	if got := w.request("GET", "/api/v1/status", ""); got.Code != http.StatusOK || len(w.server.slots) != maxRequests-1 {
		t.Errorf("with room for one: got %d, and %d slots are in use afterwards", got.Code, len(w.server.slots))
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `gatewayFlowRules: []`, func(c *Config) { c.Pprof = true })
	if got := w.request("GET", "/debug/pprof/heap", ""); got.Code != 200 || got.Body.Len() == 0 {
		t.Errorf("got %d", got.Code)
	}
	if got := w.request("GET", "/debug/pprof/heap", "", "Host", "evil.example"); got.Code != 421 {
		t.Errorf("of another host: got %d", got.Code)
	}
}
