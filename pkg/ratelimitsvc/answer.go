package ratelimitsvc

import (
	"bytes"
	"strconv"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// answer is a block response with its texts cut at their placeholders, so that filling it in for a
// refusal allocates nothing. It is immutable.
type answer struct {
	contentType string // may be empty
	escape      escaping
	body        []piece
	headers     []header
	size        int // of all that is literal
}

type header struct {
	name  string
	value []piece
}

// piece is text as it stands, or a placeholder.
type piece struct {
	text string
	what rule.Placeholder
	// null is set for a retry time that stands in JSON where a number is expected: an unknown one is
	// then written null, so that the body stays JSON.
	null bool
}

func newAnswer(r *rule.BlockResponse) *answer {
	a := &answer{contentType: r.ContentType, escape: escapingOf(r.ContentType), size: len(r.Body)}
	a.body = cut(r.Body)
	if a.escape == escapeJSON {
		markNull(a.body)
	}
	for _, h := range r.Headers {
		a.headers = append(a.headers, header{h.Name, cut(h.Value)})
		a.size += len(h.Name) + len(h.Value)
	}
	return a
}

func cut(text string) []piece {
	segments := rule.Segments(text)
	out := make([]piece, len(segments))
	for i, s := range segments {
		out[i] = piece{text: s.Text, what: s.Placeholder}
	}
	return out
}

// markNull finds the retry times that stand outside of strings.
func markNull(body []piece) {
	inString := false
	for i := range body {
		p := &body[i]
		if p.what != rule.PlaceholderNone {
			p.null = p.what == rule.PlaceholderRetryAfter && !inString
			continue
		}
		for at := 0; at < len(p.text); at++ {
			switch p.text[at] {
			case '"':
				inString = !inString
			case '\\':
				if inString {
					at++
				}
			}
		}
	}
}

// appendTo appends what Envoy sends to its client: RateLimitResponse.response_headers_to_add and
// raw_body. v is the deciding refusal; it may be nil.
func (a *answer) appendTo(dst []byte, v *engine.Verdict) []byte {
	if a.contentType != "" {
		dst = appendHeader(dst, "content-type", a.contentType)
	}
	for i := range a.headers {
		dst = a.headers[i].appendTo(dst, v)
	}
	if len(a.body) == 0 {
		return dst
	}
	dst, mark := open(dst, 5)
	for i := range a.body {
		dst = a.body[i].appendTo(dst, v, a.escape)
	}
	return shut(dst, mark)
}

// appendTo appends the header, or nothing if its value comes out empty. A space at either end, where
// an empty value left it, would make the client's message malformed.
func (h *header) appendTo(dst []byte, v *engine.Verdict) []byte {
	before := len(dst)
	dst, whole := open(dst, 3)
	dst = appendString(dst, 1, h.name)
	dst, mark := open(dst, 2)
	for i := range h.value {
		dst = h.value[i].appendTo(dst, v, escapeHeader)
	}
	value := bytes.Trim(dst[mark+1:], " ")
	if len(value) == 0 {
		return dst[:before]
	}
	dst = append(dst[:mark+1], value...)
	return shut(shut(dst, mark), whole)
}

func (p *piece) appendTo(dst []byte, v *engine.Verdict, e escaping) []byte {
	if p.what == rule.PlaceholderNone {
		return append(dst, p.text...)
	}
	if v == nil {
		v = new(engine.Verdict)
	}
	switch p.what {
	case rule.PlaceholderRule:
		if v.Rule != nil {
			dst = e.append(dst, v.Rule.ID)
		}
	case rule.PlaceholderResource:
		if v.Rule != nil {
			dst = e.append(dst, v.Rule.Resource)
		}
	case rule.PlaceholderReason:
		dst = e.append(dst, v.Reason.String())
	case rule.PlaceholderRetryAfter:
		switch {
		case v.Reset > 0:
			dst = strconv.AppendInt(dst, wholeSeconds(v.Reset), 10)
		case p.null:
			dst = append(dst, "null"...)
		}
	}
	return dst
}

// appendHeader appends one RateLimitResponse.response_headers_to_add.
func appendHeader(dst []byte, name, value string) []byte {
	dst, mark := open(dst, 3)
	dst = appendString(dst, 1, name)
	dst = appendString(dst, 2, value)
	return shut(dst, mark)
}
