package attr

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/rule"
)

// The validation of rules has the spellings of hosts and client addresses for itself, as it has that
// of paths: the two must not part.
func TestRulesAgreeOnAddresses(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		"a.example", "A.Example.", "a..", ".", ":", ":80", "a:80", "a:", "a:b:c", "a.:80", "\u212a.example", "É",
		"[2001:DB8:0::1]", "[2001:DB8:0::1].", "[2001:DB8:0::1]:80", "[2001:DB8:0::1]:", "2001:DB8:0::1", "2001:db8::1.", "[2001:db8::1", "2001:db8::1]", "[::FFFF:192.0.2.1]", "::ffff:192.0.2.1",
		"fe80::1%eth0", "[fe80::1%25eth0]", "[192.0.2.1]", "192.0.2.1", "192.0.2.1:80", "192.0.2.1.", "192.0.02.1",
		"192.0.2.1/32", "192.0.2.1/24", "2001:db8::1/128", "2001:DB8::/64", "::ffff:192.0.2.1/128", "::ffff:192.0.2.1/32", "192.0.2.1/128", "192.0.2.1:80/32", "[a]", "[", "]", "a]b",
	} {
		checkAgreed(t, written)
	}
	piece := rapid.SampledFrom([]string{"a", "B", ".", "..", "example.com", ":", ":80", "::", "[", "]", "1", "0", "db8", "DB8", "2001:db8::1", "[2001:DB8:0::1]", "[::1]",
		"::ffff:192.0.2.1", "192.0.2.1", "%eth0", "%25", "/32", "/128", "/24", "-", "_", "é", "\u212a"})
	rapid.Check(t, func(rt *rapid.T) {
		checkAgreed(rt, strings.Join(rapid.SliceOfN(piece, 1, 5).Draw(rt, "pieces"), ""))
	})
}

func checkAgreed(t interface{ Fatalf(string, ...any) }, written string) {
	load := func(name string, content map[string]any) (rule.Set, error) {
		data, err := json.Marshal([]any{content})
		if err != nil {
			t.Fatalf("%v", err)
		}
		set, problems := rule.Load([]rule.File{{Name: name, Data: data}}, rule.Options{})
		return set, problems.Err()
	}
	exactly := func(source string) error {
		_, err := load("gw-flow-rules.json", map[string]any{"resource": "a", "count": 1, "paramItem": map[string]any{"parseStrategy": source, "pattern": written}})
		return err
	}
	writes := func(err error, spelling string) bool {
		return err != nil && strings.Contains(err.Error(), `write "`+spelling+`"`)
	}
	var s scratch

	// Whatever host an API group may name is kept in the spelling that it has in a request.
	host := s.host(written)
	set, err := load("gw-api-definitions.json", map[string]any{"apiName": "a", "predicateItems": []any{map[string]any{"host": written}}})
	if err == nil && set.APIs[0].Items[0].Host != host {
		t.Fatalf("host %q is %q in a request; the rule file keeps %q", written, host, set.APIs[0].Items[0].Host)
	}

	// A parameter's pattern that is in another spelling is refused, and told the right one.
	err = exactly("host")
	if host != written && err == nil || host != written && host != "" && !writes(err, host) {
		t.Fatalf("host %q is %q in a request; the rule file says %v", written, host, err)
	}
	if isName := strings.Trim(written, "abcdefghijklmnopqrstuvwxyz0123456789") == ""; isName && err != nil {
		t.Fatalf("host %q: %v", written, err)
	}
	ip := s.ip(written)
	err = exactly("client_ip")
	if ip == written && err != nil || ip != written && !writes(err, ip) {
		t.Fatalf("client address %q is %q in a request; the rule file says %v", written, ip, err)
	}
}
