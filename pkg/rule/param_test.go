package rule

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestParseStrategyTables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		codes    ParamCodes
		strategy string
		field    string // empty: none
		want     string // a source, or the problem
	}{
		{ParamCodesSentinel, `0`, "", "client_ip"},
		{ParamCodesSentinel, `1`, "", "host"},
		{ParamCodesSentinel, `2`, "x", "header"},
		{ParamCodesSentinel, `3`, "x", "url_param"},
		{ParamCodesSentinel, `4`, "x", "cookie"},
		{ParamCodesURLFirst, `0`, "x", "url_param"},
		{ParamCodesURLFirst, `1`, "x", "path_param"},
		{ParamCodesURLFirst, `2`, "x", "header"},
		{ParamCodesURLFirst, `3`, "x", "cookie"},
		{ParamCodesURLFirst, `4`, "", "client_ip"},

		{ParamCodesSentinel, `0`, "x", "0 with a fieldName makes no sense: it means client_ip in the sentinel table and url_param in the url-first table; fix: write the name instead of the number, or remove the fieldName, or say paramCodes url-first"},
		{ParamCodesSentinel, `1`, "x", "1 with a fieldName makes no sense: it means host in the sentinel table and path_param in the url-first table; fix: write the name instead of the number, or remove the fieldName, or say paramCodes url-first"},
		{ParamCodesSentinel, `2`, "", "header without a fieldName makes no sense; fix: add the fieldName"},
		{ParamCodesSentinel, `3`, "", "3 without a fieldName makes no sense: it means url_param in the sentinel table and cookie in the url-first table; fix: write the name instead of the number, or add the fieldName"},
		{ParamCodesSentinel, `4`, "", "4 without a fieldName makes no sense: it means cookie in the sentinel table and client_ip in the url-first table; fix: write the name instead of the number, or add the fieldName, or say paramCodes url-first"},
		{ParamCodesURLFirst, `0`, "", "0 without a fieldName makes no sense: it means url_param in the url-first table and client_ip in the sentinel table; fix: write the name instead of the number, or add the fieldName, or say paramCodes sentinel"},
		{ParamCodesURLFirst, `1`, "", "1 without a fieldName makes no sense: it means path_param in the url-first table and host in the sentinel table; fix: write the name instead of the number, or add the fieldName, or say paramCodes sentinel"},
		{ParamCodesURLFirst, `4`, "x", "4 with a fieldName makes no sense: it means client_ip in the url-first table and cookie in the sentinel table; fix: write the name instead of the number, or remove the fieldName, or say paramCodes sentinel"},

		{ParamCodesSentinel, `5`, "", "unknown number 5; there are 0 client_ip, 1 host, 2 header, 3 url_param, 4 cookie, path_param"},
		{ParamCodesURLFirst, `5`, "", "unknown number 5; there are 0 url_param, 1 path_param, 2 header, 3 cookie, 4 client_ip, host"},
		{ParamCodesSentinel, `-1`, "", "unknown number -1; there are 0 client_ip, 1 host, 2 header, 3 url_param, 4 cookie, path_param"},
		{ParamCodesSentinel, `"pathParam"`, "x", `unknown value "pathParam"; did you mean "path_param"?`},
		{ParamCodesSentinel, `"path_param"`, "", "path_param without a fieldName makes no sense; fix: add the fieldName"},
		{ParamCodesSentinel, `"clientIp"`, "", `unknown value "clientIp"; did you mean "client_ip"?`},
		{ParamCodesSentinel, `"host"`, "x", "host with a fieldName makes no sense; fix: remove the fieldName"},
		{ParamCodesURLFirst, `"cookie"`, "", "cookie without a fieldName makes no sense; fix: add the fieldName"},
	}
	for _, name := range sourceNames[:SourcePathParam+1] {
		for _, codes := range []ParamCodes{ParamCodesSentinel, ParamCodesURLFirst} {
			field := ""
			if named(name) {
				field = "x"
			}
			tests = append(tests, struct {
				codes                 ParamCodes
				strategy, field, want string
			}{codes, fmt.Sprintf("%q", name), field, name})
		}
	}
	for _, tt := range tests {
		t.Run(tt.codes.String()+tt.strategy+tt.field, func(t *testing.T) {
			t.Parallel()
			item := `"parseStrategy": ` + tt.strategy
			if tt.field != "" {
				item += `, "fieldName": "` + tt.field + `"`
			}
			if tt.want == pathParam {
				item += `, "template": "/{x}"`
			}
			rule := `{"resource": "a", "count": 1, "paramItem": {` + item + `}}`
			check := func(form string, set Set, got string) {
				t.Helper()
				if len(set.Limits) == 1 {
					got = set.Limits[0].Param.Source.String()
				}
				if _, after, found := strings.Cut(got, ".paramItem.parseStrategy: "); found {
					got = after
				}
				if got != tt.want {
					t.Errorf("%s: got\n%s\nwant\n%s", form, got, tt.want)
				}
			}
			set, got := bothForms(t, "gw-flow-rules", "["+rule+"]", Options{ParamCodes: tt.codes})
			check("option", set, got)
			// The file's own table comes before the option, wherever the key stands.
			set, got = bothForms(t, "b", `{"gatewayFlowRules": [`+rule+`], "paramCodes": "`+tt.codes.String()+`"}`, Options{ParamCodes: 1 - tt.codes})
			check("bundle", set, got)
		})
	}
}

func TestParamItemProblems(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, item, want string }{
		{"no strategy", `{"fieldName": "x"}`, `2:1: error: parseStrategy: is missing: where the parameter is`},
		{"no mapping", `"x"`, `2:1: error: is a string, not a parameter item`},
		{"unknown field", `{"parseStrategy": 0, "matchstrategy": 1}`, `2:22: error: unknown field "matchstrategy"; did you mean "matchStrategy"?`},
		{"index is internal", `{"parseStrategy": 0, "index": 3}`, `2:31: warning: index: Sentinel's bookkeeping; ignored`},
		{"empty fieldName is none", `{"parseStrategy": 0, "fieldName": "", "pattern": "", "matchStrategy": 0}`, ``},
		{"no token", `{"parseStrategy": 2, "fieldName": "x y"}`, `2:35: error: fieldName: "x y" cannot be the name of a header`},
		{"no token for a cookie", `{"parseStrategy": 4, "fieldName": "a=b"}`, `2:35: error: fieldName: "a=b" cannot be the name of a cookie`},
		{"URL parameters are freer", `{"parseStrategy": 3, "fieldName": "filter[name]"}`, ``},
		{"pseudo header", `{"parseStrategy": 2, "fieldName": ":authority"}`, `2:35: error: fieldName: ":authority" is no header that can be limited by; fix: for the host, write parseStrategy host`},
		{"long name", `{"parseStrategy": 2, "fieldName": "` + strings.Repeat("x", 257) + `"}`, `2:35: error: fieldName: is 257 bytes long; at most 256 are allowed`},
		{"unknown match", `{"parseStrategy": 0, "pattern": "a", "matchStrategy": 4}`, `2:55: error: matchStrategy: unknown number 4; there are 0 exact, 1 prefix, 2 regex, 3 contains`},
		{"number as pattern", `{"parseStrategy": 0, "pattern": 404}`, `2:33: error: pattern: is a number, not a string; fix: write "404"`},
		{"match without pattern", `{"parseStrategy": 0, "matchStrategy": 2}`, `2:39: warning: matchStrategy: matchStrategy without a pattern means nothing: every value is limited`},
		{"regex", `{"parseStrategy": 0, "pattern": "v[0-9]+", "matchStrategy": 2}`, ``},
		{"regex that is a literal elsewhere", `{"parseStrategy": 3, "fieldName": "x", "pattern": "v[", "matchStrategy": 0}`, ``},
		{"bad regex", `{"parseStrategy": 0, "pattern": "v[", "matchStrategy": 2}`, `2:33: error: pattern: "v[" is no regular expression: missing closing ]: [`},
		{"lookahead", `{"parseStrategy": 0, "pattern": "a(?!b)", "matchStrategy": 2}`, `2:33: error: pattern: "a(?!b)" is no regular expression: invalid or unsupported Perl syntax: (?!; fix: expressions are RE2, which has no lookahead; list what may follow, or write a rule or item for each case`},
		{"lookbehind", `{"parseStrategy": 0, "pattern": "(?<=a)b", "matchStrategy": 2}`, `2:33: error: pattern: "(?<=a)b" is no regular expression: invalid named capture: (?<=a)b; fix: expressions are RE2, which has no lookbehind; list what may come before, or write a rule or item for each case`},
		{"possessive", `{"parseStrategy": 0, "pattern": "a++", "matchStrategy": 2}`, `2:33: error: pattern: "a++" is no regular expression: invalid nested repetition operator: ++; fix: expressions are RE2, which has no possessive repetition; write + in place of ++, which takes no longer`},
		{"backreference", `{"parseStrategy": 0, "pattern": "(a)\\1", "matchStrategy": 2}`, `2:33: error: pattern: "(a)\\1" is no regular expression: invalid escape sequence: \1; fix: expressions are RE2, which has no backreferences; write out what may stand there`},
		{"open quotation", `{"parseStrategy": 0, "pattern": "\\Qa", "matchStrategy": 2}`, `2:33: error: pattern: "\\Qa" is no regular expression: \Q without \E; fix: add \E`},
		{"unbalanced", `{"parseStrategy": 0, "pattern": "a)|(b", "matchStrategy": 2}`, `2:33: error: pattern: "a)|(b" is no regular expression: unexpected ): a)|(b`},
		{"glob", `{"parseStrategy": 0, "pattern": "ass*", "matchStrategy": 2}`, `2:33: warning: pattern: "ass*" looks like a glob: as a regular expression, * repeats the "s" before it; fix: write .* for any characters`},
		{"leading glob", `{"parseStrategy": 0, "pattern": "*.com", "matchStrategy": 2}`, `2:33: error: pattern: "*.com" is no regular expression: missing argument to repetition operator: *; fix: it looks like a glob: write .* for any characters`},
		{"no glob", `{"parseStrategy": 0, "pattern": "as.*", "matchStrategy": 2}`, ``},

		{"hosts as they are compared", `{"parseStrategy": 1, "pattern": "a-1.b_c"}`, ``},
		{"IPv6 host as it is compared", `{"parseStrategy": 1, "pattern": "[2001:db8::1]"}`, ``},
		{"host in upper case", `{"parseStrategy": 1, "pattern": "A.com."}`, `2:33: error: pattern: "A.com." never matches: hosts are compared in the spelling "a.com"; fix: write "a.com"`},
		{"IPv6 host with zeros", `{"parseStrategy": 1, "pattern": "[2001:DB8:0::1]"}`, `2:33: error: pattern: "[2001:DB8:0::1]" never matches: hosts are compared in the spelling "[2001:db8::1]"; fix: write "[2001:db8::1]"`},
		{"IPv6 host without brackets", `{"parseStrategy": 1, "pattern": "2001:db8::1"}`, `2:33: error: pattern: "2001:db8::1" never matches: hosts are compared in the spelling "[2001:db8::1]"; fix: write "[2001:db8::1]"`},
		{"host with a port", `{"parseStrategy": 1, "pattern": "A.com:80"}`, `2:33: error: pattern: "A.com:80" has a port; hosts are compared without; fix: write "a.com"`},
		{"URL as host", `{"parseStrategy": 1, "pattern": "http://a.com"}`, `2:33: error: pattern: "http://a.com" is a URL, not a host; fix: write "a.com"`},
		{"port only", `{"parseStrategy": 1, "pattern": ":80"}`, `2:33: error: pattern: ":80" never matches: a request without host has no parameter`},
		{"host with a star", `{"parseStrategy": 1, "pattern": "*.a.com"}`, `2:33: error: pattern: "*.a.com" never matches: matchStrategy exact has no wildcards; fix: write matchStrategy regex, or remove the pattern to limit every host`},
		{"no host", `{"parseStrategy": 1, "pattern": "a.com/x"}`, `2:33: error: pattern: "a.com/x" has a path, a host has none; fix: write "a.com"`},
		{"host prefix in upper case", `{"parseStrategy": 1, "pattern": "Shop.", "matchStrategy": 1}`, `2:33: warning: pattern: "Shop." never matches: hosts are compared in lower case; fix: write "shop."`},
		{"host prefix with a port", `{"parseStrategy": 1, "pattern": "a.com:", "matchStrategy": 1}`, `2:33: warning: pattern: "a.com:" never matches: hosts are compared without port, and IPv6 addresses in brackets`},
		{"host prefix", `{"parseStrategy": 1, "pattern": "[2001:", "matchStrategy": 1}`, ``},
		{"part of a host in upper case", `{"parseStrategy": 1, "pattern": ".Shop.", "matchStrategy": 3}`, `2:33: warning: pattern: ".Shop." never matches: hosts are compared in lower case; fix: write ".shop."`},
		{"part of a host", `{"parseStrategy": 1, "pattern": "shop", "matchStrategy": 3}`, ``},
		{"host expression", `{"parseStrategy": 1, "pattern": "(?i)Shop[.].*", "matchStrategy": 2}`, ``},

		{"IPv4 as it is compared", `{"parseStrategy": 0, "pattern": "192.0.2.1"}`, ``},
		{"IPv6 as it is compared", `{"parseStrategy": 0, "pattern": "2001:db8::1"}`, ``},
		{"IPv6 with zeros", `{"parseStrategy": 0, "pattern": "2001:0DB8:0::1"}`, `2:33: error: pattern: "2001:0DB8:0::1" never matches: client addresses are compared in the spelling "2001:db8::1"; fix: write "2001:db8::1"`},
		{"IPv6 in brackets", `{"parseStrategy": 0, "pattern": "[2001:db8::1]:80"}`, `2:33: error: pattern: "[2001:db8::1]:80" never matches: client addresses are compared in the spelling "2001:db8::1"; fix: write "2001:db8::1"`},
		{"IPv4 in IPv6", `{"parseStrategy": 0, "pattern": "::ffff:192.0.2.1"}`, `2:33: error: pattern: "::ffff:192.0.2.1" never matches: client addresses are compared in the spelling "192.0.2.1"; fix: write "192.0.2.1"`},
		{"IPv4 with a port", `{"parseStrategy": 0, "pattern": "192.0.2.1:80"}`, `2:33: error: pattern: "192.0.2.1:80" never matches: client addresses are compared in the spelling "192.0.2.1"; fix: write "192.0.2.1"`},
		{"whole mask", `{"parseStrategy": 0, "pattern": "192.0.2.1/32"}`, `2:33: error: pattern: "192.0.2.1/32" never matches: client addresses are compared in the spelling "192.0.2.1"; fix: write "192.0.2.1"`},
		{"range", `{"parseStrategy": 0, "pattern": "10.0.0.0/8"}`, `2:33: warning: pattern: "10.0.0.0/8" is compared as it is, not as a range: it matches only where Envoy sends addresses with the mask /8`},
		{"no address", `{"parseStrategy": 0, "pattern": "10.0.0.*"}`, `2:33: warning: pattern: "10.0.0.*" is no address, as those of clients are`},
		{"address prefix", `{"parseStrategy": 0, "pattern": "10.0.", "matchStrategy": 1}`, ``},
		{"IPv6 prefix", `{"parseStrategy": 0, "pattern": "2001:db8:0:", "matchStrategy": 1}`, ``},
		{"IPv6 prefix in upper case", `{"parseStrategy": 0, "pattern": "2001:DB8:", "matchStrategy": 1}`, `2:33: warning: pattern: "2001:DB8:" never matches: client addresses are compared in lower case; fix: write "2001:db8:"`},
		{"IPv6 prefix in brackets", `{"parseStrategy": 0, "pattern": "[2001:db8:", "matchStrategy": 1}`, `2:33: warning: pattern: "[2001:db8:" never matches: client addresses are compared without brackets; fix: write "2001:db8:"`},
		{"IPv6 prefix with a zero", `{"parseStrategy": 0, "pattern": "2001:0db8:", "matchStrategy": 1}`, `2:33: warning: pattern: "2001:0db8:" never matches: client addresses are compared without leading zeros`},
		{"any header", `{"parseStrategy": 2, "fieldName": "x", "pattern": "A.com:80"}`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const before = "[{\"resource\": \"a\", \"count\": 1, \"paramItem\":\n"
			_, got := bothForms(t, "gw-flow-rules", before+tt.item+"}]", Options{})
			got = strings.NewReplacer("[0].paramItem.", "", "[0].paramItem: ", "").Replace(got)
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestParseParamCodes(t *testing.T) {
	t.Parallel()
	for _, want := range []ParamCodes{ParamCodesSentinel, ParamCodesURLFirst} {
		if got, err := ParseParamCodes(want.String()); got != want || err != nil {
			t.Errorf("ParseParamCodes(%q) = %v, %v", want, got, err)
		}
	}
	if _, err := ParseParamCodes("urlfirst"); err == nil || err.Error() != `param codes: unknown value "urlfirst"; did you mean "url-first"?` {
		t.Errorf("ParseParamCodes(urlfirst) reports %v", err)
	}
}

func TestParamIDs(t *testing.T) {
	t.Parallel()
	set, text := bothForms(t, "gw-flow-rules", `[
{"resource": "orders", "count": 1, "paramItem": {"parseStrategy": 2, "fieldName": "X-User-Id"}},
{"resource": "orders", "count": 1, "paramItem": {"parseStrategy": 0}},
{"resource": "orders", "count": 1, "paramItem": {"parseStrategy": 3, "fieldName": "Sku é", "pattern": "a/b:\"c\"%", "matchStrategy": 3}},
{"resource": "/orders/{id}", "resourceMode": 1, "count": 0.5, "intervalSec": 60, "window": "strict"}]`, Options{})
	want := []string{
		"gw-flow/route/orders/qps/reject/1s/aligned/header:x-user-id",
		"gw-flow/route/orders/qps/reject/1s/aligned/client_ip",
		"gw-flow/route/orders/qps/reject/1s/aligned/url_param:Sku%20%C3%A9/contains:a%2Fb:%22c%22%25",
		"gw-flow/api/%2Forders%2F{id}/qps/reject/60s/strict",
	}
	var got []string
	for i := range set.Limits {
		got = append(got, set.Limits[i].ID)
		if !set.Limits[i].DerivedID {
			t.Errorf("rule %d is said to have an id of its own", i)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), text)
	}
}
