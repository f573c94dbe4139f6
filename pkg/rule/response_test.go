package rule

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

func TestBlockResponseProblems(t *testing.T) {
	t.Parallel()
	const (
		lengths  = ` says how the message is sent, which only the proxy knows; fix: remove it`
		envoys   = ` is written by Envoy from the decision; fix: remove it, and set enable_retry_after_header or enable_x_ratelimit_headers in Envoy's filter`
		noMedia  = ` is no media type; fix: write one such as text/plain; charset=utf-8`
		existing = `; there are rule, resource, reason, retry_after; fix: write { `
	)
	header := func(name string) string { return `{"headers": {"` + name + `": "v"}}` }
	tests := []struct{ name, response, want string }{
		{"all", `{"contentType": "application/json; charset=utf-8", "body": "{\"rule\": \"{rule}\", \"after\": {retry_after}}", "headers": {"X-Rule": "{rule} of {resource}: {reason}, {retry_after}"}}`, ``},
		{"body alone", `{"body": "no"}`, ``},
		{"headers alone", `{"headers": {"x-a": "v"}}`, ``},
		{"nothing said", `{}`, `error: is empty; fix: add contentType and body, or headers`},
		{"an empty body", `{"body": ""}`, ``},
		{"not a mapping", `"no"`, `error: is a string, not a block response`},
		{"unknown field", `{"Body": "no"}`, `error: unknown field "Body"; did you mean "body"?`},
		{"status", `{"body": "no", "status": 503}`, `error: unknown field "status"; there are contentType, body, headers`},

		{"blank content type", `{"contentType": "", "body": "no"}`, `error: contentType: ""` + noMedia},
		{"content type without slash", `{"contentType": "json", "body": "no"}`, `error: contentType: "json"` + noMedia},
		{"content type with a bad parameter", `{"contentType": "text/html; charset", "body": "no"}`, `error: contentType: "text/html; charset"` + noMedia},
		{"content type with a second line", `{"contentType": "text/html\r\nx-a: b", "body": "no"}`, `error: contentType: "text/html\r\nx-a: b"` + noMedia},
		{"content type with a line end in a parameter", `{"contentType": "text/html; a=\"\n\"", "body": "no"}`, `error: contentType: "text/html; a=\"\n\""` + noMedia},
		{"content type beyond ASCII", `{"contentType": "text/html; a=\"é\"", "body": "no"}`, `error: contentType: "text/html; a=\"é\""` + noMedia},
		{"content type in spaces", `{"contentType": " text/html", "body": "no"}`, `error: contentType: " text/html"` + noMedia},
		{"long content type", `{"contentType": "text/` + strings.Repeat("x", 252) + `", "body": "no"}`, `error: contentType: is 257 bytes long; at most 256 are allowed`},
		{"number as content type", `{"contentType": 5, "body": "no"}`, `error: contentType: is a number, not a string; fix: write "5"`},

		{"long body", `{"body": "` + strings.Repeat("x", 64<<10+1) + `"}`, `error: body: is 65537 bytes long; at most 65536 are allowed`},
		{"mapping as body", `{"contentType": "application/json", "body": {"code": 429}}`, `error: body: is a mapping, not a string`},
		{"lines in a body", `{"body": "a\r\nb\tc"}`, ``},
		{"unknown placeholder", `{"body": "{retryAfter}"}`, `error: body: unknown placeholder {retryAfter}; did you mean "retry_after"?; fix: write { retryAfter } if it is meant as it stands`},
		{"placeholder with a dash", `{"body": "{retry-after}"}`, `error: body: unknown placeholder {retry-after}; did you mean "retry_after"?; fix: write { retry-after } if it is meant as it stands`},
		{"unlike any placeholder", `{"body": "{client}"}`, `error: body: unknown placeholder {client}` + existing + `client } if it is meant as it stands`},
		{"unknown placeholder among others", `{"body": "{rule} {x} {y}"}`, `error: body: unknown placeholder {x}` + existing + `x } if it is meant as it stands`},
		{"braces of a style sheet", `{"contentType": "text/html", "body": "<style>a{color:red} b{}</style>{0}"}`, ``},
		{"many placeholders", `{"body": "` + strings.Repeat("{rule}", 32) + `"}`, ``},
		{"too many placeholders", `{"body": "` + strings.Repeat("{rule}", 33) + `"}`, `error: body: has 33 placeholders; at most 32 are allowed`},
		{"JSON without its type", `{"body": "{\"code\": 429}"}`, `warning: body: is JSON, but without contentType it is sent as plain text; fix: write contentType: application/json`},
		{"broken JSON", `{"contentType": "application/json", "body": "{\"code\": 429"}`, `warning: body: is not JSON, as contentType says; fix: placeholders other than {retry_after} stand in quotes`},
		{"JSON with a bare rule", `{"contentType": "application/problem+json", "body": "{\"rule\": {rule}}"}`, `warning: body: is not JSON, as contentType says; fix: placeholders other than {retry_after} stand in quotes`},
		{"a number without a type", `{"body": "429"}`, ``},
		{"JSON that says nothing", `{"contentType": "application/json", "body": ""}`, ``},

		{"headers are no mapping", `{"headers": [{"name": "a"}]}`, `error: headers: is a list, not a mapping of header names to values`},
		{"sixteen headers", `{"headers": {` + manyHeaders(16) + `}}`, ``},
		{"seventeen headers", `{"headers": {` + manyHeaders(17) + `}}`, `error: headers: has 17 headers; at most 16 are allowed`},
		{"one header twice", `{"headers": {"X-A": "1", "x-a": "2"}}`, `error: headers: "x-a" is there already; header names have no case`},
		{"pseudo header", header(":status"), `error: headers: ":status" is no header: the status is set in Envoy's filter; fix: remove it`},
		{"empty name", header(""), `error: headers: "" cannot be the name of a header`},
		{"space in a name", header("x a"), `error: headers: "x a" cannot be the name of a header`},
		{"colon in a name", header("x-a:"), `error: headers: "x-a:" cannot be the name of a header`},
		{"a line in a name", header(`x-a: 1\r\nx-b`), `error: headers: "x-a: 1\r\nx-b" cannot be the name of a header`},
		{"name beyond ASCII", header("é"), `error: headers: "é" cannot be the name of a header`},
		{"a letter that is lower case elsewhere", header("\u212a"), `error: headers: "` + "\u212a" + `" cannot be the name of a header`},
		{"long name", header(strings.Repeat("x", 129)), `error: headers: "` + strings.Repeat("x", 80) + `…" is 129 bytes long; at most 128 are allowed`},
		{"content type as header", header("Content-Type"), `error: headers: "Content-Type" is set by contentType; fix: write contentType`},
		{"content length", header("Content-Length"), `error: headers: "Content-Length"` + lengths},
		{"transfer encoding", header("transfer-encoding"), `error: headers: "transfer-encoding"` + lengths},
		{"status of gRPC", header("grpc-status"), `error: headers: "grpc-status"` + lengths},
		{"connection", header("CONNECTION"), `error: headers: "CONNECTION"` + lengths},
		{"te", header("te"), `error: headers: "te"` + lengths},
		{"trailer", header("Trailer"), `error: headers: "Trailer"` + lengths},
		{"upgrade", header("upgrade"), `error: headers: "upgrade"` + lengths},
		{"host", header("host"), `error: headers: "host"` + lengths},
		{"retry after", header("Retry-After"), `error: headers: "Retry-After"` + envoys},
		{"rate limit", header("X-RateLimit-Limit"), `error: headers: "X-RateLimit-Limit"` + envoys},

		{"number as value", `{"headers": {"x-a": 5}}`, `error: headers.x-a: is a number, not a string; fix: write "5"`},
		{"null as value", `{"headers": {"x-a": null}}`, `error: headers.x-a: is null, not a string`},
		{"empty value", `{"headers": {"x-a": ""}}`, ``},
		{"a second line in a value", `{"headers": {"x-a": "1\r\nx-b: 2"}}`, `error: headers.x-a: holds "\r"; a header is printable ASCII`},
		{"a line feed alone", `{"headers": {"x-a": "1\n"}}`, `error: headers.x-a: holds "\n"; a header is printable ASCII`},
		{"NUL", `{"headers": {"x-a": "1\u0000"}}`, `error: headers.x-a: holds "\x00"; a header is printable ASCII`},
		{"tab", `{"headers": {"x-a": "1\t2"}}`, `error: headers.x-a: holds "\t"; a header is printable ASCII`},
		{"delete", `{"headers": {"x-a": "1\u007f"}}`, `error: headers.x-a: holds "\x7f"; a header is printable ASCII`},
		{"value beyond ASCII", `{"headers": {"x-a": "é"}}`, `error: headers.x-a: holds "\xc3"; a header is printable ASCII`},
		{"value in spaces", `{"headers": {"x-a": "1 "}}`, `error: headers.x-a: begins or ends with a space`},
		{"long value", `{"headers": {"x-a": "` + strings.Repeat("x", 4097) + `"}}`, `error: headers.x-a: is 4097 bytes long; at most 4096 are allowed`},
		{"unknown placeholder in a value", `{"headers": {"x-a": "{rul}"}}`, `error: headers.x-a: unknown placeholder {rul}; did you mean "rule"?; fix: write { rul } if it is meant as it stands`},
		{"too many placeholders in a value", `{"headers": {"x-a": "` + strings.Repeat("{rule}", 33) + `"}}`, `error: headers.x-a: has 33 placeholders; at most 32 are allowed`},
		{"all that is wrong", `{"contentType": "x", "body": "{x}", "headers": {"te": "", "x-a": "\n", "x-b": "ok"}}`, strings.Join([]string{
			`error: contentType: "x"` + noMedia, `error: body: unknown placeholder {x}` + existing + `x } if it is meant as it stands`,
			`error: headers: "te"` + lengths, `error: headers.x-a: holds "\n"; a header is printable ASCII`}, "\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			data := `[{"resource": "a", "count": 1, "blockResponse": ` + tt.response + `}]`
			bothForms(t, "gw-flow-rules", data, Options{})
			set, ps := Load([]File{{"gw-flow-rules.json", []byte(data)}}, Options{})
			if got := said(ps, "[0].blockResponse"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			r, ps := ParseBlockResponse("config.yaml", yamlValue(t, tt.response))
			if got := said(ps, "blockResponse"); got != tt.want {
				t.Errorf("by itself: got\n%s\nwant\n%s", got, tt.want)
			}
			if len(set.Limits) == 0 {
				if r != nil {
					t.Errorf("by itself: a response with errors is %+v", r)
				}
				return
			}
			if of := set.Limits[0].Response; !reflect.DeepEqual(of, r) || brokenResponse(r) != "" {
				t.Errorf("of the rule %+v\nby itself %+v", of, r)
			}
		})
	}
}

func manyHeaders(n int) string {
	var headers []string
	for i := range n {
		headers = append(headers, fmt.Sprintf(`"x-%d": "v"`, i))
	}
	return strings.Join(headers, ", ")
}

// yamlValue parses the value of the key blockResponse as a config file has it.
func yamlValue(t *testing.T, value string) ast.Node {
	t.Helper()
	file, err := parser.ParseBytes([]byte("log: {level: info}\nblockResponse: "+value+"\n"), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		t.Fatal(err)
	}
	return file.Docs[0].Body.(*ast.MappingNode).Values[1].Value
}

func TestBlockResponseMeaning(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, response string
		want           *BlockResponse
	}{
		{"none", `null`, nil},
		{"all", `{"contentType": "application/json", "body": "{\"after\": {retry_after}}", "headers": {"X-Rule": "{rule}", "x-a": ""}}`,
			&BlockResponse{"application/json", `{"after": {retry_after}}`, []HeaderField{{"x-rule", "{rule}"}, {"x-a", ""}}}},
		{"body", `{"body": "no"}`, &BlockResponse{ContentType: "text/plain; charset=utf-8", Body: "no"}},
		{"empty body", `{"body": ""}`, &BlockResponse{}},
		{"an alias", `{"body": &no "no", "headers": {"x-a": *no}}`, &BlockResponse{"text/plain; charset=utf-8", "no", []HeaderField{{"x-a", "no"}}}},
		{"headers", `{"headers": {"X-A": "v"}, "body": null}`, &BlockResponse{Headers: []HeaderField{{"x-a", "v"}}}},
		{"no headers", `{"headers": {}}`, &BlockResponse{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set, text := problems(t, "gw-flow-rules.yaml", `[{"resource": "a", "count": 1, "blockResponse": `+tt.response+`}]`, Options{})
			if len(set.Limits) != 1 {
				t.Fatalf("not loaded: %s", text)
			}
			if got := set.Limits[0].Response; !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, tt.want)
			}
			if got, ps := ParseBlockResponse("config.yaml", yamlValue(t, tt.response)); tt.want != nil && !reflect.DeepEqual(got, tt.want) {
				t.Errorf("by itself: got\n%+v\n%v\nwant\n%+v", got, ps, tt.want)
			}
		})
	}
}

func TestParseBlockResponsePlaces(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, value, want string }{
		{"values", "\n  contentType: html\n  headers:\n    x-a: |\n      two\n      lines\n",
			"config.yaml:3:16: error: blockResponse.contentType: \"html\" is no media type; fix: write one such as text/plain; charset=utf-8\n" +
				"config.yaml:5:10: error: blockResponse.headers.x-a: holds \"\\n\"; a header is printable ASCII"},
		{"a name", "\n  headers:\n    te: x\n", `config.yaml:4:5: error: blockResponse.headers: "te" says how the message is sent, which only the proxy knows; fix: remove it`},
		{"a name twice", "{body: a, body: b}", `config.yaml:2:26: error: duplicate key "body"; it is at 2:17 already`},
		{"nothing", "", `config.yaml:2:16: error: blockResponse: is null, not a block response`},
		{"an alias of nothing", "*no", `config.yaml:2:16: error: blockResponse: no anchor &no before this alias`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, ps := ParseBlockResponse("config.yaml", yamlValue(t, tt.value))
			var lines []string
			for _, p := range ps {
				lines = append(lines, p.String())
			}
			if got := strings.Join(lines, "\n"); got != tt.want || r != nil {
				t.Errorf("got %+v\n%s\nwant\n%s", r, got, tt.want)
			}
		})
	}
}

// FuzzParseBlockResponse holds the reading to what the model promises.
func FuzzParseBlockResponse(f *testing.F) {
	f.Add(`{"contentType": "application/json", "body": "{\"rule\": \"{rule}\", \"after\": {retry_after}}", "headers": {"X-Rule": "{rule} of {resource}"}}`)
	f.Add("\n  body: |\n    {reason}\n  headers: {x-a: \"\\r\\n\", te: a, \"\": b}")
	f.Add("&a {body: &b no, contentType: *b}")
	f.Add("{body: x, body: y, ? [a]: b}")
	f.Add("")
	f.Fuzz(func(t *testing.T, value string) {
		file, err := parser.ParseBytes([]byte("blockResponse: "+value+"\n"), 0)
		if err != nil || len(file.Docs) == 0 {
			return
		}
		m, ok := file.Docs[0].Body.(*ast.MappingNode)
		if !ok || m.Values[0].Value == nil {
			return
		}
		r, ps := ParseBlockResponse("config.yaml", m.Values[0].Value)
		if (r == nil) != (ps.Err() != nil) {
			t.Fatalf("response %+v with %v", r, ps)
		}
		if r != nil && brokenResponse(r) != "" {
			t.Fatalf("%s: %+v", brokenResponse(r), r)
		}
	})
}
