//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// raw sends the bytes of one request.
func raw(t *testing.T, s *envoytest.Stack, bytes string) envoytest.Reply {
	t.Helper()
	reply, err := envoytest.Raw(soon(t), s.Address, bytes)
	if err != nil {
		t.Errorf("%q: %v", bytes, err)
	}
	return reply
}

// Bytes that are no UTF-8 reach the daemon in protobuf strings, which strict decoders refuse with
// an error; Envoy would let such a request pass. Here they are values like any other.
func TestBadBytesAreDecidedByTheRules(t *testing.T) {
	t.Parallel()
	s := ready(t, rules(t, "gw-flow-rules.json", `[
		{"id": "per-user", "resource": "orders", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}},
		{"id": "per-session", "resource": "cart", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "cookie", "fieldName": "session"}},
		{"id": "per-sku", "resource": "products", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "url_param", "fieldName": "sku"}},
		{"id": "per-term", "resource": "search", "count": 2, "intervalSec": 3600, "paramItem": {"parseStrategy": "url_param", "fieldName": "q"}}
	]`))
	long := strings.Repeat("x", 20000)
	t.Run("rules", func(t *testing.T) {
		for _, c := range []struct {
			rule, path, header string // VALUE stands for the value
			values             []string
		}{
			{"per-user", "/orders", "x-user-id: VALUE\r\n", []string{"bob\xff", "bob", "bob\xfe", "\xc3\x28", long + "\xff", long + "\xfe"}},
			{"per-session", "/cart", "cookie: session=VALUE\r\n", []string{"a\xff", "a", "\xed\xa0\x80"}},
			{"per-sku", "/products?sku=VALUE", "", []string{"%ff", "%ff%fe", "%00", "", "%E4", long}},
			{"per-term", "/search?q=VALUE", "", []string{"%ff", "%fe", "%zz", "%", long}},
		} {
			t.Run(c.rule, func(t *testing.T) {
				t.Parallel()
				for _, value := range c.values {
					bytes := strings.ReplaceAll("GET "+c.path+" HTTP/1.1\r\nHost: shop\r\n"+c.header+"\r\n", "VALUE", value)
					var replies []envoytest.Reply
					for range 4 {
						replies = append(replies, raw(t, s, bytes))
					}
					wantTally(t, fmt.Sprintf("%.40q", value), envoytest.Count(replies), 2, c.rule)
				}
			})
		}
	})
	wantNoErrors(t, s)
}
