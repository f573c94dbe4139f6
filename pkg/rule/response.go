package rule

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Bounds on block responses.
const (
	maxContentTypeBytes = 256
	maxBodyBytes        = 64 << 10
	maxPlaceholders     = 32 // in one text, so that what is put in their place stays small as well
)

// defaultContentType is that of a body of which nothing else is said.
const defaultContentType = "text/plain; charset=utf-8"

// responseDraft is a block response as written.
type responseDraft struct {
	contentType, body located[string]
	headers           located[[]HeaderField]
}

var responseSchema = schema[responseDraft]{what: "a block response", fields: []field[responseDraft]{
	textField("contentType", "the media type of body; plain text by default", maxContentTypeBytes,
		func(d *responseDraft) *located[string] { return &d.contentType }).extension(),
	textField("body", "the body, with placeholders", maxBodyBytes,
		func(d *responseDraft) *located[string] { return &d.body }).extension(),
	headersField(),
}}

// ParseBlockResponse reads a block response from the value that a YAML file has for blockResponse,
// with the checks that Load makes on a rule's. The response is nil if one of the problems is an error.
func ParseBlockResponse(file string, value ast.Node) (*BlockResponse, Problems) {
	f := &fileLoad{loader: new(loader), name: file}
	at := spot{path: &step{name: "blockResponse"}}
	b := yamlBuilder{anchors: make(map[string]*node)}
	n, syntax := b.value(value, 0)
	if syntax != nil {
		at.line, at.column = syntax.line, syntax.column
		f.fail(at, syntax.message, syntax.fix)
		return nil, f.problems
	}
	at.line, at.column = n.line, n.column
	for _, d := range b.tree.duplicates {
		f.duplicate(d)
	}
	var d responseDraft
	var r *BlockResponse
	if decodeMapping(f, &responseSchema, at, n, &d) {
		r = f.checkResponse(at, &d, f.errors == 0)
	}
	f.problems.sort()
	if f.errors > 0 {
		return nil, f.problems
	}
	return r, f.problems
}

// checkResponse turns a block response into its meaning. Unless it was clean so far, nothing is said
// of what it lacks.
func (f *fileLoad) checkResponse(at spot, d *responseDraft, clean bool) *BlockResponse {
	r := &BlockResponse{ContentType: d.contentType.v, Body: d.body.v, Headers: d.headers.v}
	if clean && !d.contentType.given && !d.body.given && !d.headers.given {
		f.fail(at, "is empty", "add contentType and body, or headers")
	}
	bodyOK := d.body.given && d.body.ok && f.checkText(d.body.at, r.Body)
	typeOK := d.contentType.given && d.contentType.ok && f.checkContentType(d.contentType.at, r.ContentType)
	if r.Body != "" && !d.contentType.given {
		r.ContentType = defaultContentType
	}
	switch {
	case !bodyOK || r.Body == "":
	case typeOK && isJSONType(r.ContentType) && !isJSON(r.Body):
		f.warn(d.body.at, "is not JSON, as contentType says", "placeholders other than {retry_after} stand in quotes")
	case !d.contentType.given && strings.ContainsAny(r.Body[:1], "{[") && isJSON(r.Body):
		f.warn(d.body.at, "is JSON, but without contentType it is sent as plain text", "write contentType: application/json")
	}
	return r
}

func (f *fileLoad) checkContentType(at spot, contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.Contains(kind, "/") || badHeaderByte(contentType) != "" {
		f.fail(at, fmt.Sprintf("%q is no media type", clip(contentType)), "write one such as text/plain; charset=utf-8")
		return false
	}
	return true
}

func isJSONType(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}

// isJSON tells whether a body will be JSON, whatever stands for its placeholders.
func isJSON(text string) bool {
	var filled bytes.Buffer
	for _, s := range Segments(text) {
		switch s.Placeholder {
		case PlaceholderNone:
			filled.WriteString(s.Text)
		case PlaceholderRetryAfter:
			filled.WriteByte('0')
		default:
			filled.WriteByte('x')
		}
	}
	return json.Valid(filled.Bytes())
}

// checkText reports what a text has in braces that is no placeholder.
func (f *fileLoad) checkText(at spot, text string) bool {
	found := 0
	for i := range len(text) {
		word := braced(text[i:])
		if word == "" {
			continue
		}
		if placeholderOf(word) == PlaceholderNone {
			f.fail(at, fmt.Sprintf("unknown placeholder {%s}%s", clip(word), DidYouMean(word, placeholderNames[1:])),
				fmt.Sprintf("write { %s } if it is meant as it stands", clip(word)))
			return false
		}
		found++
	}
	if found > maxPlaceholders {
		f.fail(at, fmt.Sprintf("has %d placeholders; at most %d are allowed", found, maxPlaceholders), "")
		return false
	}
	return true
}
