package localapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// What is malformed is refused with its field and place, and nothing is charged for it.
func TestMalformed(t *testing.T) {
	t.Parallel()
	const everyField = "domain, resource, attributes, args, hits, peek, maxWaitMs, tellWait"
	many := strings.TrimSuffix(strings.Repeat("0,", maxArgs+1), ",")
	for _, c := range []struct {
		target, body string
		want         string // line:column field: message
	}{
		{"/v1/decide", ``, "1:1 : malformed JSON: it ends too soon"},
		{"/v1/decide", `{"resource": "orders"`, "1:22 : malformed JSON: it ends too soon"},
		{"/v1/decide", `{"resource": "orders`, "1:21 resource: malformed JSON: it ends too soon"},
		{"/v1/decide", `resource=orders`, "1:1 : malformed JSON: invalid character 'r' looking for beginning of value"},
		{"/v1/decide", `{"resource" "orders"}`, "1:13 resource: malformed JSON: invalid character '\"' after object key"},
		{"/v1/decide", `{"resource": "orders", }`, "1:24 : malformed JSON: invalid character '}' looking for beginning of object key string"},
		{"/v1/decide", `["orders"]`, "1:1 : is a list; it must be an object"},
		{"/v1/decide", `{"resource": "orders"} {}`, "1:24 : something follows the object of the request"},
		{"/v1/decide", "{\n  \"resource\": \"orders\",\n  \"hit\": 2\n}", `3:3 hit: unknown field; did you mean "hits"?`},
		{"/v1/decide", `{"Resource": "orders"}`, `1:2 Resource: unknown field; did you mean "resource"?`},
		{"/v1/decide", `{"verylongword": {"deep": [[[[]]]]}}`, "1:2 verylongword: unknown field; there are " + everyField},
		{"/v1/decide", `{"resource": "orders", "resource": "users"}`, "1:24 resource: stands there twice"},
		{"/v1/decide", `{"resource": 7}`, "1:14 resource: is the number 7; it must be a string"},
		{"/v1/decide", `{"resource": null}`, "1:14 resource: is null; it must be a string"},
		{"/v1/decide", `{"peek": "yes"}`, "1:10 peek: is a string; it must be true or false"},
		{"/v1/decide", `{"hits": "3"}`, "1:10 hits: is a string; it must be a whole number"},
		{"/v1/decide", `{"hits": 1.5}`, "1:10 hits: 1.5 is not a whole number of 63 bits"},
		{"/v1/decide", `{"hits": 9223372036854775808}`, "1:10 hits: 9223372036854775808 is not a whole number of 63 bits"},
		{"/v1/decide", `{"hits": 0}`, "1:10 hits: 0 is below 1; to ask without taking anything, set peek"},
		{"/v1/decide", `{"maxWaitMs": -1}`, "1:15 maxWaitMs: -1 is below 0; leave it out to wait as long as the rules want"},
		{"/v1/decide", `{"attributes": ["path"]}`, "1:16 attributes: is a list; it must be an object"},
		{"/v1/decide", `{"attributes": {"path": 1}}`, "1:25 attributes.path: is the number 1; it must be a string"},
		{"/v1/decide", `{"attributes": {"path": "/", "haeder.x-user-id": "bob"}}`, `1:30 attributes: "haeder.x-user-id" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean "header.x-user-id"?`},
		{"/v1/decide", `{"attributes": {"": "bob"}}`, "1:17 attributes: an empty name is no attribute"},
		{"/v1/decide", `{"attributes": {"sidecard.token": "x"}}`, `1:17 attributes: "sidecard.token" reports the end of a request of Envoy's; what was begun here ends with complete`},
		{"/v1/decide", `{"attributes": {"arg.first": "x"}}`, `1:17 attributes: "arg.first" is no attribute: arguments are arg.0 to arg.63; there are header.first, query.first, cookie.first`},
		{"/v1/decide", `{"attributes": {"arg.64": "x"}}`, `1:17 attributes: "arg.64" is no attribute: arguments are arg.0 to arg.63; there are header.64, query.64, cookie.64`},
		{"/v1/decide", `{"args": "a"}`, "1:10 args: is a string; it must be a list"},
		{"/v1/decide", `{"args": [1, {}]}`, "1:14 args[1]: is an object; it must be a string, a number, true or false"},
		{"/v1/decide", `{"args": [` + many + `]}`, "1:139 args: a call has at most 64 arguments"},
		{"/v1/decide?status=htp", `{}`, `0:0 : unknown URL parameter "status=htp"; there is status=http`},
		{"/v1/acquire", `{"peek": true}`, "0:0 peek: a look begins no call; ask decide"},
		{"/v1/complete?status=http", `{"token": "x"}`, `0:0 : unknown URL parameter "status=http"; there is none`},
		{"/v1/complete", `{}`, "0:0 token: is missing"},
		{"/v1/complete", `{"token": ""}`, "1:11 token: is empty; a decision without a token has nothing to complete"},
		{"/v1/complete", `{"token": "x", "rt": 3}`, `1:16 rt: unknown field; there are token, error, rtMs, aborted`},
		{"/v1/complete", `{"token": "x", "rtMs": 86400001}`, "1:24 rtMs: 86400001 is not from 0 to 86400000"},
		{"/v1/batch", `{}`, "0:0 items: is empty; ask for at least one decision"},
		{"/v1/batch", `{"items": [{"resource": "orders"}, {"hits": -3}]}`, "1:45 items[1].hits: -3 is below 1; to ask without taking anything, set peek"},
		{"/v1/batch", `{"items": [{"resource": "orders"}, {"attributes": {"q.x": ""}}]}`, `1:52 items[1].attributes: "q.x" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; there are header.x, query.x, cookie.x`},
		{"/v1/batch", `{"items": [{"resource": "orders"}, {"domain": "shop"}], "atomic": true}`, `0:0 items[1].domain: is "shop" and that of the first item "sidecard"; an atomic batch is of one domain`},
		{"/v1/batch", `{"items": [` + strings.TrimSuffix(strings.Repeat(`{},`, maxItems+1), ",") + `]}`, "1:396 items: a batch holds at most 128 items"},
	} {
		w := newWorld(t)
		got := w.post(t, c.target, c.body)
		var p problem
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != http.StatusBadRequest {
			t.Errorf("%s %s: got %v", c.target, c.body, got)
			continue
		}
		message := strings.TrimPrefix(p.Error, p.Field+": ")
		if text := fmt.Sprintf("%d:%d %s: %s", p.Line, p.Column, p.Field, message); text != c.want {
			t.Errorf("%s %s\n got %s\nwant %s", c.target, c.body, text, c.want)
		}
		if w.counters.Invalid.Load() != 1 {
			t.Errorf("%s %s: not counted", c.target, c.body)
		}
		if left := w.post(t, "/v1/decide", `{"resource": "orders", "peek": true}`).body; !strings.Contains(left, `"remaining":3`) {
			t.Errorf("%s %s: charged: %s", c.target, c.body, left)
		}
	}
}

// Names that a client may have chosen, and all values, are no reason to refuse a query as malformed.
func TestClientsCannotMakeItMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, body := range []string{
		`{"attributes": {"query.": "x", "header.": "y", "cookie.": ""}}`,
		`{"attributes": {"query.a.b=c d": "\ud800\u0000", "path": "not a path", "host": "::::", "remote_address": "here"}}`,
		"{\"attributes\": {\"header.x\": \"\xff\xfe\", \"cookie\": \"=;=;\"}}",
		`{"args": ["a", 12345678901234567890, 1e400, true, null, ""], "hits": 9223372036854775807, "maxWaitMs": 9223372036854775807}`,
	} {
		if got := w.post(t, "/v1/decide", body); got.status != http.StatusOK {
			t.Errorf("%s: got %v", body, got)
		}
	}
}

func TestOtherRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		method, target, body string
		want, allow          string
	}{
		{"GET", "/v1/decide", "", `405 {"error":"write POST /v1/decide"}`, "POST"},
		{"POST", "/v1/watch", "{}", `405 {"error":"write GET /v1/watch"}`, "GET"},
		{"HEAD", "/v1/watch", "", `405 {"error":"write GET /v1/watch"}`, "GET"},
		{"GET", "/v1/watch?resource=a&resource=b", "", `400 {"error":"resource: stands there twice","field":"resource"}`, ""},
		{"GET", "/v1/watch?%zz", "", `400 {"error":"malformed URL parameters: invalid URL escape \"%zz\""}`, ""},
		{"POST", "//v1/decide", "{}", `404 {"error":"unknown path; did you mean \"/v1/decide\"?"}`, ""},
		{"POST", "/v1/../v1/decide", "{}", `404 {"error":"unknown path; did you mean \"/v1/decide\"?"}`, ""},
		{"POST", "/v1/decid", "", `404 {"error":"unknown path; did you mean \"/v1/decide\"?"}`, ""},
		{"POST", "/v1/decide", strings.Repeat(" ", maxBody+1), `413 {"error":"the body is larger than 262144 bytes"}`, ""},
	} {
		got := w.send(t.Context(), c.method, c.target, c.body)
		if got.String() != c.want || got.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: got %s, allow %q, want %s, allow %q", c.method, c.target, got, got.header.Get("Allow"), c.want, c.allow)
		}
	}
}

// However the bytes of a request look, it is answered, and with JSON.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		`{"domain": "d", "resource": "orders", "attributes": {"header.x-user-id": "bob", "path": "/a"}, "args": ["a", 1, null], "hits": 2, "peek": false, "maxWaitMs": 3, "tellWait": true}`,
		`{"items": [{"resource": "orders"}, {}], "atomic": true}`, `{"token": "00", "error": true, "rtMs": 1, "aborted": false}`, `{"a`, `[`, `{"args": [`,
	} {
		f.Add(body)
	}
	w := newWorld(f)
	f.Fuzz(func(t *testing.T, body string) {
		for _, target := range []string{"/v1/decide", "/v1/acquire", "/v1/complete", "/v1/batch"} {
			got := w.post(t, target, strings.ReplaceAll(body, "queue", ""))
			if !json.Valid([]byte(got.body)) || got.status >= 500 {
				t.Errorf("%s %q: got %v", target, body, got)
			}
			var p problem
			if got.status == http.StatusBadRequest && (json.Unmarshal([]byte(got.body), &p) != nil || p.Error == "" || p.Line < 0 || (p.Line > 0) != (p.Column > 0)) {
				t.Errorf("%s %q: got %v", target, body, got)
			}
		}
	})
}
