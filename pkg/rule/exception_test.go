package rule

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestExceptions(t *testing.T) {
	t.Parallel()
	const rest = `, "paramKey": "tenant"`
	tests := []struct {
		name, fields, items string
		want                []Exception
		text                string
	}{
		{"none", `"count": 2`, ``, nil, ``},
		{"as Sentinel writes them", `"count": 2`, `{"object": "vip", "count": 100, "classType": "java.lang.String"}, {"object": "7", "count": 0, "classType": "int"}`,
			[]Exception{{Value: "vip", Count: "100", Limit: 100}, {Value: "7", Count: "0"}}, ``},
		{"unlimited", `"count": 2`, `{"object": "vip", "count": 1e10}`, []Exception{{Value: "vip", Count: "1e10", Limit: MaxLimit, Unlimited: true}}, ``},
		{"of a rule that blocks all else", `"count": 0, "burstCount": 3`, `{"object": "vip", "count": 1}`, []Exception{{Value: "vip", Count: "1", Limit: 1}}, ``},
		{"a whole double", `"count": 2`, `{"object": "7.0", "count": 1, "classType": "double"}`, []Exception{{Value: "7", Count: "1", Limit: 1}, {Value: "7.0", Count: "1", Limit: 1}}, ``},
		{"scaled with the rule", `"count": 2.5`, `{"object": "a", "count": 7.5}, {"object": "b", "count": 1}`,
			[]Exception{{Value: "a", Count: "7.5", Limit: 15}, {Value: "b", Count: "1", Limit: 2}}, `warning: count: 2.5 per 1 s is enforced as 5 per 2 s`},
		{"exact in a bucket", `"count": 2.5, "window": "token-bucket"`, `{"object": "a", "count": 7.5}`, []Exception{{Value: "a", Count: "7.5", Limit: 15}}, ``},
		{"empty", `"count": 2`, `{"object": "", "count": 1}`, []Exception{{Count: "1", Limit: 1}}, ``},

		{"finer than the rule", `"count": 2`, `{"object": "a", "count": 7.5}`, nil, `error: paramFlowItemList[0].count: 7.5 is too fine: of all values the same interval is counted, and count says how fine; fix: write 7 or 8`},
		{"finer than the fraction of the rule", `"count": 0.5`, `{"object": "a", "count": 0.25}`, nil, "warning: count: 0.5 per 1 s is enforced as 1 per 2 s\n" +
			`error: paramFlowItemList[0].count: 0.25 is too fine: of all values the same interval is counted, and count says how fine; fix: write 0.5, or 0 to block the value`},
		{"no whole number of calls", `"count": 2, "grade": 0`, `{"object": "a", "count": 1.5}`, nil, `error: paramFlowItemList[0].count: 1.5 is too fine: of all values the same interval is counted, and count says how fine; fix: write 1 or 2`},
		{"a bucket that holds nothing", `"count": 1.5, "window": "token-bucket"`, `{"object": "a", "count": 0.5}`, nil, `error: paramFlowItemList[0].count: 0.5 makes a token bucket that never holds one request: nothing of the value would pass; fix: write 1 or more, or 0 to block the value, or add a burst`},
		{"beyond the bound with the burst", `"count": 2, "burstCount": 10`, `{"object": "a", "count": 2147483640}`, nil, `error: paramFlowItemList[0].count: 2147483640 is too large beside the rule's count and burst: it would be enforced as more than 2147483647`},
		{"negative", `"count": 2`, `{"object": "a", "count": -1}`, nil, `error: paramFlowItemList[0].count: -1 is negative; fix: write 0 to block the value`},
		{"no count", `"count": 2`, `{"object": "a"}`, nil, `error: paramFlowItemList[0].count: is missing: what stands for the rule's count`},
		{"no value", `"count": 2`, `{"count": 1}`, nil, `error: paramFlowItemList[0].object: is missing: the value that it is for`},
		{"a bare number", `"count": 2`, `{"object": 7, "count": 1, "classType": "int"}`, nil, `error: paramFlowItemList[0].object: is a number, not a string; fix: write "7"`},
		{"twice", `"count": 2`, `{"object": "a", "count": 1}, {"object": "a", "count": 2}`, nil, `error: paramFlowItemList[1].object: "a" has an exception at 1:SPOT already; fix: remove one of the two`},
		{"twice, of other types", `"count": 2`, `{"object": "7.0", "count": 1}, {"object": "7", "count": 2, "classType": "float"}`, nil, `error: paramFlowItemList[1].object: "7.0" has an exception at 1:SPOT already; fix: remove one of the two`},
		{"unknown type", `"count": 2`, `{"object": "a", "count": 1, "classType": "integer"}`, nil, `error: paramFlowItemList[0].classType: unknown value "integer"; there are String, int, long, short, byte, double, float, boolean, char, bool, string`},
		{"no list", `"count": 2, "paramFlowItemList": {}`, `-`, nil, `error: paramFlowItemList: is a mapping, not a list of values with their counts`},
		{"unknown field", `"count": 2`, `{"object": "a", "count": 1, "clasType": "int"}`, nil, `error: paramFlowItemList[0]: unknown field "clasType"; did you mean "classType"?`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := `, "paramFlowItemList": [` + tt.items + `]`
			if tt.items == "-" {
				list = ""
			}
			set, text := problems(t, "param-flow-rules.json", `[{"resource": "a", `+tt.fields+rest+list+`}]`, Options{})
			text = withoutSpots(text)
			if _, after, ok := strings.Cut(text, " at 1:"); ok {
				n := strings.IndexByte(after, ' ')
				text = strings.Replace(text, " at 1:"+after[:n], " at 1:SPOT", 1)
			}
			if text != tt.text {
				t.Fatalf("got\n%s\nwant\n%s", text, tt.text)
			}
			if tt.want != nil && (len(set.Limits) != 1 || !reflect.DeepEqual(set.Limits[0].Exceptions, tt.want)) {
				t.Errorf("got %+v", set.Limits)
			}
		})
	}
}

func TestExceptionsOfGatewayRules(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"paramFlowItemList": []`:                               ``,
		`"paramFlowItemList": [{"object": "a", "count": 1}]`:    `error: paramFlowItemList: is for rules with a paramItem; fix: remove it, or add the paramItem`,
		host(`a.example`):                                       ``,
		host(`A.example`):                                       `error: paramFlowItemList[0].object: "A.example" never matches: hosts are compared in the spelling "a.example"; fix: write "a.example"`,
		host(`*.example`):                                       `error: paramFlowItemList[0].object: "*.example" is no host, and an exception is for one; fix: add an item for each host`,
		client(`::1`):                                           ``,
		client(`0:0:0:0:0:0:0:1`):                               `error: paramFlowItemList[0].object: "0:0:0:0:0:0:0:1" never matches: client addresses are compared in the spelling "::1"; fix: write "::1"`,
		header(` a`):                                            `error: paramFlowItemList[0].object: " a" never applies: the blanks around a header are no part of it; fix: remove the blanks`,
		pattern(`a`, `exact`) + exceptionFor(`b`):               `warning: paramFlowItemList[0].object: "b" is not limited by this rule at all: it does not match the pattern`,
		pattern(`a`, `prefix`) + exceptionFor(`ab`):             ``,
		pattern(`a`, `contains`) + exceptionFor(`ba`):           ``,
		pattern(`[ab]`, `regex`) + exceptionFor(`a`):            ``,
		`"paramItem": {"parseStrategy": 9}` + exceptionFor(`a`): `error: paramItem.parseStrategy: unknown number 9; there are 0 client_ip, 1 host, 2 header, 3 url_param, 4 cookie, path_param`,
	} {
		_, text := problems(t, "gw-flow-rules.json", `[{"resource": "a", "count": 2, `+fields+`}]`, Options{})
		if got := withoutSpots(text); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", fields, got, want)
		}
	}
}

func exceptionFor(value string) string {
	return `, "paramFlowItemList": [{"object": "` + value + `", "count": 1}]`
}

func host(value string) string {
	return `"paramItem": {"parseStrategy": "host"}` + exceptionFor(value)
}

func client(value string) string {
	return `"paramItem": {"parseStrategy": "client_ip"}` + exceptionFor(value)
}

func header(value string) string {
	return `"paramItem": {"parseStrategy": "header", "fieldName": "x"}` + exceptionFor(value)
}

func pattern(pattern, match string) string {
	return `"paramItem": {"parseStrategy": "header", "fieldName": "x", "pattern": "` + pattern + `", "matchStrategy": "` + match + `"}`
}

// The burst of a rule that blocks all other values is that of its exceptions.
func TestBurstOfExceptions(t *testing.T) {
	t.Parallel()
	set, text := problems(t, "param-flow-rules.json", `[{"resource": "a", "count": 0, "burstCount": 3, "paramIdx": 0, "paramFlowItemList": [{"object": "a", "count": 1}]}]`, Options{})
	if text != "" || set.Limits[0].Burst != 3 {
		t.Errorf("%s %+v", text, set.Limits)
	}
	_, text = problems(t, "param-flow-rules.json", `[{"resource": "a", "count": 0, "burstCount": 3, "paramIdx": 0, "paramFlowItemList": [{"object": "a", "count": 0}]}]`, Options{})
	if !strings.Contains(text, "a count of 0 blocks everything") {
		t.Error(text)
	}
}

func TestClassValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		class  int64
		object string
		want   string // with | between
		reason string
	}{
		{classString, " 7.0 ", " 7.0 ", ""},
		{classInt, "7", "7", ""},
		{classInt, "+007", "7", ""},
		{classInt, "-0", "0", ""},
		{classInt, "7.0", "", `"7.0" is no int; write "7", or classType double`},
		{classInt, "2147483648", "", `"2147483648" is no int; `},
		{classInt, " 7", "", `" 7" is no int; `},
		{classLong, "9223372036854775807", "9223372036854775807", ""},
		{classShort, "32768", "", `"32768" is no short; `},
		{classByte, "-128", "-128", ""},
		{classByte, "128", "", `"128" is no byte; `},
		{classDouble, "7", "7|7.0", ""},
		{classDouble, "7.50", "7.5", ""},
		{classDouble, "1e3", "1000|1000.0", ""},
		{classDouble, "-0.0", "0|0.0", ""},
		{classDouble, "NaN", "", `"NaN" is no double in decimal; `},
		{classDouble, "0x1p3", "", `"0x1p3" is no double in decimal; `},
		{classDouble, "1e300", "", `"1e300" has more than 64 digits in decimal; write classType String, and the value as requests have it`},
		{classFloat, "0.1", "0.1", ""},
		{classFloat, "16777217", "16777216|16777216.0", ""},
		{classFloat, "1e39", "", `"1e39" is no float in decimal; `},
		{classBoolean, "TRUE", "true", ""},
		{classBoolean, "yes", "", `"yes" is no boolean; write "true" or "false"`},
		{classChar, "é", "é", ""},
		{classChar, "", "", `"" is no char, which is one character; write classType String`},
		{classChar, "ab", "", `"ab" is no char, which is one character; write classType String`},
		{classChar, "😀", "", `"😀" is no char, which is one character; write classType String`},
	} {
		values, reason, fix := classValues(tt.class, tt.object)
		if reason != "" {
			reason += "; " + fix
		}
		if got := strings.Join(values, "|"); got != tt.want || reason != tt.reason {
			t.Errorf("%s %q: got %q, %q", classTypes.nameOf(tt.class), tt.object, got, reason)
		}
	}
}

// What the texts of a number are, reading them gives the number back, and another way of writing the
// number gives the same texts.
func TestClassValuesOfNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(-1e15, 1e15).Draw(t, "value")
		for _, verb := range []byte{'g', 'f', 'e'} {
			values, reason, _ := classValues(classDouble, strconv.FormatFloat(v, verb, -1, 64))
			if reason != "" && len(strconv.FormatFloat(v, 'f', -1, 64)) <= maxNumberText {
				t.Fatal(reason)
			}
			for _, text := range values {
				if back, err := strconv.ParseFloat(text, 64); err != nil || back != v || !isNumber(text) {
					t.Fatalf("%v is %q", v, text)
				}
			}
		}
		n := rapid.Int64().Draw(t, "n")
		if values, _, _ := classValues(classLong, strconv.FormatInt(n, 10)); !slices.Equal(values, []string{strconv.FormatInt(n, 10)}) {
			t.Fatalf("%d is %v", n, values)
		}
	})
}

// Attributes that come in one spelling are compared in it.
func TestExceptionsOfAttributes(t *testing.T) {
	t.Parallel()
	for key, values := range map[string]map[string]string{
		"path":   {"/a": ``, "/a//b": `"/a//b" never matches: paths are compared in the spelling "/a/b"; fix: write "/a/b"`, "a": `"a" does not begin with /, as every path does; fix: write "/a"`, "": ``},
		"method": {"GET": ``, "get": `"get" never matches: methods are compared in the spelling "GET"; fix: write "GET"`},
		"tenant": {"Acme": ``, " ": ``},
		"origin": {"*": ``},
	} {
		for value, want := range values {
			_, text := problems(t, "param-flow-rules.json", `[{"resource": "a", "count": 2, "paramKey": "`+key+`"`+exceptionFor(value)+`}]`, Options{})
			if want != "" {
				want = "error: paramFlowItemList[0].object: " + want
			}
			if got := withoutSpots(text); got != want {
				t.Errorf("%s %q: got\n%s\nwant\n%s", key, value, got, want)
			}
		}
	}
}
