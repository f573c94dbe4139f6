//go:build e2e

package e2e

import (
	"encoding/json"
	"html"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// hostileName is a name of an API group, which may be any text on one line, that would end a string and
// open an element if it were written as it is, and begin a header if it were unescaped once more.
const hostileName = "a\"b\\c</p><script>&' é€ %0d%0ax-injected: yes "

// answered sends a request that must be refused, and returns the answer. Whatever is asked for, no header
// may be there but those that Envoy and the rule's author write.
func answered(t *testing.T, url string, headers ...string) (h http.Header, body string) {
	t.Helper()
	response, text := exchange(t, client(t, ""), request(t, http.MethodGet, url, headers...))
	if response.StatusCode != http.StatusTooManyRequests {
		t.Fatalf("%s: got status %d", url, response.StatusCode)
	}
	known := []string{"Content-Length", "Content-Type", "Date", "Server", "Retry-After", "X-Envoy-Ratelimited",
		"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Resource", "X-Rule", "X-Retry"}
	for name := range response.Header {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			t.Errorf("%s: a header of nobody's: %s: %q", url, name, response.Header[name])
		}
	}
	return response.Header, string(text)
}

func wantHeader(t *testing.T, h http.Header, name, want string) {
	t.Helper()
	if got := h.Values(name); want == "" && len(got) != 0 || want != "" && (len(got) != 1 || got[0] != want) {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// The words of a rule reach the client as they are meant, whatever the names that they hold.
func TestBlockResponseOfARule(t *testing.T) {
	t.Parallel()
	name, err := json.Marshal(hostileName)
	if err != nil {
		t.Fatal(err)
	}
	const headers = `"headers": {"X-Resource": "{resource}", "X-Rule": "by {rule}; {reason}", "X-Retry": "{retry_after}"}`
	group := func(suffix string) string { return strings.TrimSuffix(string(name), `"`) + suffix + `"` }
	s := ready(t, rules(t,
		"gw-api-definitions.json", `[
			{"apiName": `+group("html")+`, "predicateItems": [{"pattern": "/html"}]},
			{"apiName": `+group("json")+`, "predicateItems": [{"pattern": "/json"}]},
			{"apiName": `+group("text")+`, "predicateItems": [{"pattern": "/text"}]}
		]`,
		rulesFile, `[
			{"id": "<html> & 'more'", "resource": `+group("html")+`, "resourceMode": 1, "count": 0, "blockResponse": {
				"contentType": "text/html; charset=utf-8", "body": "<p title='{resource}'>{rule}: {reason}, {retry_after}.</p>", `+headers+`}},
			{"id": "json", "resource": `+group("json")+`, "resourceMode": 1, "count": 0, "blockResponse": {
				"contentType": "application/problem+json", "body": "{\"resource\": \"{resource}\", \"after\": {retry_after}}", `+headers+`}},
			{"id": "text", "resource": `+group("text")+`, "resourceMode": 1, "count": 0, "blockResponse": {"body": "{resource}"}},
			{"id": "bare", "resource": "login", "count": 1, "intervalSec": 60, "blockResponse": {"headers": {"x-retry": "{retry_after}"}}}
		]`))

	h, body := answered(t, s.URL+"/html")
	wantHeader(t, h, "Content-Type", "text/html; charset=utf-8")
	if want := "<p title='" + html.EscapeString(hostileName+"html") + "'>&lt;html&gt; &amp; &#39;more&#39;: limit, .</p>"; body != want {
		t.Errorf("HTML: got\n%q\nwant\n%q", body, want)
	}
	wantHeader(t, h, "X-Rule", "by <html>%20&%20'more'; limit")
	wantHeader(t, h, "X-Resource", strings.NewReplacer(" ", "%20", "é", "%C3%A9", "€", "%E2%82%AC").Replace(hostileName+"html"))
	wantHeader(t, h, "X-Retry", "")

	h, body = answered(t, s.URL+"/json")
	wantHeader(t, h, "Content-Type", "application/problem+json")
	var problem struct {
		Resource string
		After    *int
	}
	if err := json.Unmarshal([]byte(body), &problem); err != nil || problem.Resource != hostileName+"json" || problem.After != nil {
		t.Errorf("JSON: got %s, which means %+v (%v)", body, problem, err)
	}

	h, body = answered(t, s.URL+"/text")
	wantHeader(t, h, "Content-Type", "text/plain; charset=utf-8")
	if body != hostileName+"text" {
		t.Errorf("plain text: got %q, want %q", body, hostileName+"text")
	}

	if reply := tell(client(t, ""), request(t, http.MethodGet, s.URL+"/login")); !reply.Passed() {
		t.Fatalf("the first: got %+v", reply)
	}
	h, body = answered(t, s.URL+"/login")
	if after, err := strconv.Atoi(h.Get("X-Retry")); err != nil || after < 1 || h.Get("Retry-After") != h.Get("X-Retry") || body != "" {
		t.Errorf("headers alone: got %q, %v", body, h)
	}
	wantNoErrors(t, s)
}

// The answer of the configuration is that of all rules without one of their own. Nothing that a client
// sends is in any of them, so that no value can add a header.
func TestBlockResponseOfTheConfiguration(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "sidecard.yaml")
	write(t, config, `
blockResponse:
  contentType: text/plain
  body: |
    {rule} of {resource}: {reason}
  headers: {X-Rule: "{rule}"}
`)
	s := ready(t, rules(t, rulesFile, `[
		{"id": "per-sku", "resource": "products", "count": 0, "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}},
		{"id": "per-user", "resource": "orders", "count": 0, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
		{"id": "own", "resource": "cart", "count": 0, "blockResponse": {"body": "own"}}
	]`), "--config", config)
	if first := tell(client(t, ""), request(t, http.MethodGet, s.URL+"/search")); !first.Passed() {
		t.Errorf("a route without a rule: got %+v", first)
	}
	const attack = "%0d%0ax-injected:%20yes%0d%0a%0d%0a%3Cscript%3E"
	for _, ask := range []struct{ url, header, want string }{
		{"/products?sku=" + attack, "", "per-sku of products: limit\n"},
		{"/orders", "x\tx-injected: yes {rule}", "per-user of orders: limit\n"},
		{"/cart?sku=" + attack, "{rule}", "own"},
	} {
		h, body := answered(t, s.URL+ask.url, "x-user-id", ask.header)
		if body != ask.want || strings.Contains(strings.ToLower(body), "injected") {
			t.Errorf("%s: got %q, want %q", ask.url, body, ask.want)
		}
		if ask.want != "own" {
			wantHeader(t, h, "Content-Type", "text/plain")
			wantHeader(t, h, "X-Rule", strings.Fields(ask.want)[0])
		}
	}
	wantNoErrors(t, s)
}

// What would begin a header line, or replace one of the proxy's, is refused when the rules are loaded,
// in names too, which placeholders stand for.
func TestBlockResponsesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rest, want string }{
		{`"resource": "a\r\nx-injected: yes"`, "holds a control character"},
		{`"resource": "orders", "id": "a\r\nx-injected: yes"`, "an id is printable ASCII"},
		{`"resource": "orders", "blockResponse": {"headers": {"x-a": "b\r\nx-injected: yes"}}`, `holds "\r"`},
		{`"resource": "orders", "blockResponse": {"headers": {"x-a\r\nx-injected": "yes"}}`, "cannot be the name of a header"},
		{`"resource": "orders", "blockResponse": {"contentType": "text/html\nx-injected: yes", "body": "no"}`, "is no media type"},
		{`"resource": "orders", "blockResponse": {"headers": {"content-length": "0"}}`, "says how the message is sent"},
		{`"resource": "orders", "blockResponse": {"headers": {":status": "200"}}`, "is no header"},
		{`"resource": "orders", "blockResponse": {"headers": {"retry-after": "0"}}`, "is written by Envoy"},
	} {
		file := filepath.Join(t.TempDir(), rulesFile)
		write(t, file, `[{"count": 0, `+c.rest+`}]`)
		if out, status := check(t, file); status != 1 || !strings.Contains(out, c.want) {
			t.Errorf("%s: got exit status %d and\n%swant %q", c.rest, status, out, c.want)
		}
	}
}
