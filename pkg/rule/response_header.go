package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds on the headers of block responses.
const (
	maxHeaders          = 16
	maxHeaderNameBytes  = 128
	maxHeaderValueBytes = 4 << 10
)

func headersField() field[responseDraft] {
	fd := customField("headers", "headers by name, their values with placeholders", typeHeaders, decodeHeaders).atMost(maxHeaderValueBytes).extension()
	fd.most = maxHeaders
	return fd
}

func decodeHeaders(f *fileLoad, at spot, n *node, d *responseDraft) {
	d.headers.invalid(at)
	if n.kind != mappingNode {
		f.fail(at, fmt.Sprintf("is %s, not a mapping of header names to values", n.kind), "")
		return
	}
	if len(n.members) > maxHeaders {
		f.fail(at, fmt.Sprintf("has %d headers; at most %d are allowed", len(n.members), maxHeaders), "")
		return
	}
	var headers []HeaderField
	for i := range n.members {
		m := &n.members[i]
		if reason, fix := badHeaderName(m.name); reason != "" {
			f.fail(at.key(m), fmt.Sprintf("%q %s", clip(m.name), reason), fix)
			continue
		}
		name := strings.ToLower(m.name)
		if slices.ContainsFunc(headers, func(h HeaderField) bool { return h.Name == name }) {
			f.fail(at.key(m), fmt.Sprintf("%q is there already; header names have no case", clip(m.name)), "")
			continue
		}
		var value located[string]
		if f.text(at.member(m), m.value, maxHeaderValueBytes, &value); !value.ok {
			continue
		}
		if reason := badHeaderByte(value.v); reason != "" {
			f.fail(value.at, reason, "")
			continue
		}
		if f.checkText(value.at, value.v) {
			headers = append(headers, HeaderField{Name: name, Value: value.v})
		}
	}
	d.headers.set(at, headers)
}

// reservedHeaders are those that a rule must not set, each with the reason.
var reservedHeaders = []struct {
	reason, fix string
	names       []string
}{
	{"is set by contentType", "write contentType", []string{"content-type"}},
	{"says how the message is sent, which only the proxy knows", "remove it", []string{
		"connection", "content-encoding", "content-length", "grpc-message", "grpc-status", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	}},
	{"is written by Envoy from the decision", "remove it, and set enable_retry_after_header or enable_x_ratelimit_headers in Envoy's filter", []string{
		"retry-after", "x-envoy-ratelimited", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
	}},
}

// badHeaderName says why a name cannot be that of a response header; empty if it can.
func badHeaderName(name string) (reason, fix string) {
	switch {
	case strings.HasPrefix(name, ":"):
		return "is no header: the status is set in Envoy's filter", "remove it"
	case !isToken(name):
		return "cannot be the name of a header", ""
	case len(name) > maxHeaderNameBytes:
		return fmt.Sprintf("is %d bytes long; at most %d are allowed", len(name), maxHeaderNameBytes), ""
	}
	name = strings.ToLower(name)
	for _, reserved := range reservedHeaders {
		if slices.Contains(reserved.names, name) {
			return reserved.reason, reserved.fix
		}
	}
	return "", ""
}

// badHeaderByte says why a text cannot be the value of a header; empty if it can. A space at either
// end is none of the value by HTTP/1, and makes a message malformed by HTTP/2.
func badHeaderByte(value string) string {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' {
			return fmt.Sprintf("holds %q; a header is printable ASCII", value[i:i+1])
		}
	}
	if strings.TrimSpace(value) != value {
		return "begins or ends with a space"
	}
	return ""
}
