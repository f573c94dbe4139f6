package ratelimitsvc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func TestEscapings(t *testing.T) {
	t.Parallel()
	for contentType, want := range map[string]string{
		"application/json":                    `a\"b\\c\u000D\u000A<é>&'` + "\u0085\uFFFD\uFFFE" + ` 1%`,
		"application/problem+json; charset=x": `a\"b\\c\u000D\u000A<é>&'` + "\u0085\uFFFD\uFFFE" + ` 1%`,
		"APPLICATION/JSON":                    `a\"b\\c\u000D\u000A<é>&'` + "\u0085\uFFFD\uFFFE" + ` 1%`,
		"text/html":                           "a&#34;b\\c\uFFFD\uFFFD&lt;é&gt;&amp;&#39;\uFFFD\uFFFD\uFFFD 1%",
		"application/xhtml+xml":               "a&#34;b\\c\uFFFD\uFFFD&lt;é&gt;&amp;&#39;\uFFFD\uFFFD\uFFFD 1%",
		"text/xml":                            "a&#34;b\\c\uFFFD\uFFFD&lt;é&gt;&amp;&#39;\uFFFD\uFFFD\uFFFD 1%",
		"text/plain; charset=utf-8":           "a\"b\\c\uFFFD\uFFFD<é>&'\uFFFD\uFFFD\uFFFD 1%",
		"":                                    "a\"b\\c\uFFFD\uFFFD<é>&'\uFFFD\uFFFD\uFFFD 1%",
	} {
		if got := string(escapingOf(contentType).append(nil, "a\"b\\c\r\n<é>&'\u0085\xff\uFFFE 1%")); got != want {
			t.Errorf("%q: got %q, want %q", contentType, got, want)
		}
	}
	if got, want := string(escapeHeader.append(nil, "a b\r\nX: é\x00\x7f%~")), "a%20b%0D%0AX:%20%C3%A9%00%7F%~"; got != want {
		t.Errorf("header: got %q, want %q", got, want)
	}
}

// refusal returns the verdict of a rule that refuses.
func refusal(id, resource string, reset time.Duration) *engine.Verdict {
	return &engine.Verdict{Code: engine.Block, Reason: engine.ReasonLimit, Reset: reset, Rule: &engine.CompiledRule{ID: id, Resource: resource}}
}

// filled is what an answer comes to: "name: value" of each header, and the body.
func filled(t testing.TB, r *rule.BlockResponse, v *engine.Verdict) (headers []string, body []byte) {
	t.Helper()
	m := decodeResponse(t, newAnswer(r).appendTo([]byte{}, v))
	for _, h := range m.GetResponseHeadersToAdd() {
		headers = append(headers, h.GetKey()+": "+h.GetValue())
	}
	return headers, m.GetRawBody()
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	some := refusal(`<a "b">`, "ré\r\nX: y", 1200*time.Millisecond)
	never := refusal("r", "s", 0)
	for name, c := range map[string]struct {
		response rule.BlockResponse
		verdict  *engine.Verdict
		headers  []string
		body     string
	}{
		"JSON": {rule.BlockResponse{ContentType: "application/json", Body: `{"r":"{rule}","s":"{resource}","w":{retry_after},"why":"{reason}","{x}":"{"}`}, some,
			[]string{"content-type: application/json"}, `{"r":"<a \"b\">","s":"ré\u000D\u000AX: y","w":2,"why":"limit","{x}":"{"}`},
		"JSON, wait unknown": {rule.BlockResponse{ContentType: "application/json", Body: `{"a":{retry_after},"b":"{retry_after}","c\"":"\\{retry_after}","d":[{retry_after}]}`}, never,
			[]string{"content-type: application/json"}, `{"a":null,"b":"","c\"":"\\","d":[null]}`},
		"HTML": {rule.BlockResponse{ContentType: "text/html", Body: `<p title="{rule}">{resource} {retry_after}s</p>`}, some,
			[]string{"content-type: text/html"}, "<p title=\"&lt;a &#34;b&#34;&gt;\">ré\uFFFD\uFFFDX: y 2s</p>"},
		"text": {rule.BlockResponse{ContentType: "text/plain", Body: "{rule}\n{resource}{retry_after}"}, never,
			[]string{"content-type: text/plain"}, "r\ns"},
		"headers": {rule.BlockResponse{Headers: []rule.HeaderField{{Name: "x-rule", Value: "{rule};{resource}"}, {Name: "x-wait", Value: "{retry_after}"}, {Name: "x-plain", Value: "a b"}}}, some,
			[]string{"x-rule: <a%20\"b\">;r%C3%A9%0D%0AX:%20y", "x-wait: 2", "x-plain: a b"}, ""},
		"headers, wait unknown": {rule.BlockResponse{Headers: []rule.HeaderField{{Name: "x-wait", Value: "{retry_after}"}, {Name: "x-left", Value: "{retry_after} s"}, {Name: "x-right", Value: "in {retry_after}"}, {Name: "x-only", Value: "{reason}"}}}, never,
			[]string{"x-left: s", "x-right: in", "x-only: limit"}, ""},
		"nothing is known": {rule.BlockResponse{ContentType: "application/json", Body: `{"r":"{rule}{resource}{reason}","w":{retry_after}}`, Headers: []rule.HeaderField{{Name: "x-rule", Value: "{rule}"}}}, nil,
			[]string{"content-type: application/json"}, `{"r":"none","w":null}`},
		"long": {rule.BlockResponse{Body: strings.Repeat("é", 300) + "{rule}", Headers: []rule.HeaderField{{Name: "x-long", Value: strings.Repeat("v", 300) + "{rule}"}}}, refusal(strings.Repeat("r", 300), "s", 0),
			[]string{"x-long: " + strings.Repeat("v", 300) + strings.Repeat("r", 300)}, strings.Repeat("é", 300) + strings.Repeat("r", 300)},
	} {
		headers, body := filled(t, &c.response, c.verdict)
		if fmt.Sprint(headers) != fmt.Sprint(c.headers) || string(body) != c.body {
			t.Errorf("%s: got %q and %q, want %q and %q", name, headers, body, c.headers, c.body)
		}
	}
}

const answeringRules = `[
	{"resource": "closed", "id": "closed", "count": 0, "blockResponse": {"contentType": "text/plain", "body": "{rule} says {reason}", "headers": {"X-Rule": "{rule}"}}},
	{"resource": "silent", "id": "silent", "count": 0, "blockResponse": {"headers": {"x-why": "{reason}"}}},
	{"resource": "plain", "id": "plain", "count": 0}
]`

// A rule's own response beats that of the configuration, which beats the JSON that is there anyway.
func TestServiceAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	w.apply(t, answeringRules)
	answer := func(resource string) string {
		m := w.ask(t, describe(pairs("route", resource)))
		out := ""
		for _, h := range m.GetResponseHeadersToAdd() {
			out += h.GetKey() + ": " + h.GetValue() + "; "
		}
		if m.GetOverallCode() != rls.RateLimitResponse_OVER_LIMIT {
			t.Errorf("%s: got %s", resource, brief(m))
		}
		return out + string(m.GetRawBody())
	}
	want := map[string]string{
		"closed": "content-type: text/plain; x-rule: closed; closed says limit",
		"silent": "x-why: limit; ",
		"plain":  `content-type: application/json; {"code":429,"message":"Too many requests","rule":"plain","reason":"limit"}`,
	}
	for range 2 { // once as it is made, once as it is kept
		for resource, want := range want {
			if got := answer(resource); got != want {
				t.Errorf("%s: got %q, want %q", resource, got, want)
			}
		}
	}
	w.serve(Config{Now: w.now.Load, Block: &rule.BlockResponse{ContentType: "text/html", Body: "<b>{resource}</b>"}}, 0)
	want["plain"] = "content-type: text/html; <b>plain</b>"
	for resource, want := range want {
		if got := answer(resource); got != want {
			t.Errorf("%s, configured: got %q, want %q", resource, got, want)
		}
	}
	// A reload changes the answer, and the old ones are dropped.
	w.apply(t, strings.ReplaceAll(answeringRules, "says", "repeats"))
	if got := answer("closed"); got != "content-type: text/plain; x-rule: closed; closed repeats limit" {
		t.Errorf("after a reload: got %q", got)
	}
	kept := 0
	w.svc.answers.cut.Load().byResponse.Range(func(any, any) bool { kept++; return true })
	if kept != 1 {
		t.Errorf("%d answers are kept, want that of the one rule that refused since", kept)
	}
}

// checkAnswer loads a rule with that block response and, if it is accepted, holds its answer to what
// is promised: no header but those written, nothing but printable ASCII in one, JSON that stays JSON.
func checkAnswer(t testing.TB, contentType, body, name, value, id, resource string, reset int64) (accepted bool) {
	t.Helper()
	response := map[string]any{"body": body, "headers": map[string]string{name: value}}
	if contentType != "" {
		response["contentType"] = contentType
	}
	file, err := json.Marshal([]any{map[string]any{"id": id, "resource": resource, "count": 1, "blockResponse": response}})
	if err != nil {
		t.Fatal(err)
	}
	set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: file}}, rule.Options{})
	if problems.Err() != nil {
		return false
	}
	r := &set.Limits[0]
	for _, reset := range []time.Duration{time.Duration(max(reset, 0)), 0} {
		headers, got := filled(t, r.Response, refusal(r.ID, r.Resource, reset))
		if len(headers) > 2 {
			t.Fatalf("got headers %q", headers)
		}
		for _, h := range headers {
			key, value, _ := strings.Cut(h, ": ")
			if key != strings.ToLower(name) && key != "content-type" || strings.ContainsAny(key, " \r\n:") {
				t.Fatalf("got header %q", h)
			}
			for i := range len(value) {
				if value[i] < ' ' || value[i] > '~' {
					t.Fatalf("got header %q", h)
				}
			}
			if value == "" || strings.TrimSpace(value) != value {
				t.Fatalf("got header %q", h)
			}
		}
		if json.Valid([]byte(r.Response.Body)) && escapingOf(r.Response.ContentType) == escapeJSON && !json.Valid(got) {
			t.Fatalf("%s: got %q, which is no JSON", r.Response.Body, got)
		}
		if escapingOf(r.Response.ContentType) == escapeMarkup && bytes.Count(got, []byte("<")) != strings.Count(r.Response.Body, "<") {
			t.Fatalf("%s: got %q with other markup", r.Response.Body, got)
		}
	}
	return true
}

// answerSeeds are block responses and what stands in their placeholders.
var answerSeeds = []struct {
	contentType, body, name, value, id, resource string
	reset                                        int64
}{
	{"application/json", `{"a":"{rule}","b":"{resource}","c":"{retry_after}","{reason}":1}`, "X-Rule", "{rule} {retry_after}", "a 'b' <c>", "r\"\\\x00\r\né\u2028", 1},
	{"text/html; charset=utf-8", "<a href='{resource}'>{rule}</a>", "x-why", "{reason}", "id", "</a><script>'\"&", 0},
	{"text/plain", "{resource}\r\n", "x", "a\r\nb: c", "id", "a\r\nb: c", 5e9},
	{"", "{{rule}}{", "content-length", "1", "i", "r", 1e18},
	{"application/xml", "{resource}", "x-resource", "{resource}", "i", "\x1b[2J\xff\xfe", 1},
	{"text/plain\r\nx: y", "", ":status", "200", "i", "r", 0},
}

func FuzzAnswer(f *testing.F) {
	for _, s := range answerSeeds {
		f.Add(s.contentType, s.body, s.name, s.value, s.id, s.resource, s.reset)
	}
	f.Fuzz(func(t *testing.T, contentType, body, name, value, id, resource string, reset int64) {
		checkAnswer(t, contentType, body, name, value, id, resource, reset)
	})
}
