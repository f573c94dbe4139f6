package rule

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestEveryDeclaredField gives each field of each schema a value of the wrong type. A field that is
// declared must be read, and then complains; or it is refused by name; or it is reported as ignored.
func TestEveryDeclaredField(t *testing.T) {
	t.Parallel()
	everyField(t, &gatewaySchema, `{"resource": "a", "count": 1, "burst": 0, FIELD}`, "gw-flow-rules.json", "[%s]")
	everyField(t, &paramSchema, `{"parseStrategy": 0, FIELD}`, "gw-flow-rules.json", `[{"resource": "a", "count": 1, "paramItem": %s}]`)
	everyField(t, &responseSchema, `{"body": "a", FIELD}`, "gw-flow-rules.json", `[{"resource": "a", "count": 1, "burst": 0, "blockResponse": %s}]`)
	everyField(t, &apiSchema, `{"apiName": "a", "predicateItems": [{"pattern": "/a"}], FIELD}`, "gw-api-definitions.json", "[%s]")
	everyField(t, &itemSchema, `{"pattern": "/a", FIELD}`, "gw-api-definitions.json", `[{"apiName": "a", "predicateItems": [%s]}]`)
	everyField(t, &flowSchema, `{"resource": "a", "count": 1, "strategy": 0, FIELD}`, "flow-rules.json", "[%s]")
	everyField(t, &paramFlowSchema, `{"resource": "a", "count": 1, "paramIdx": 0, FIELD}`, "param-flow-rules.json", "[%s]")
	everyField(t, &exceptionSchema, `{"object": "a", "count": 1, FIELD}`, "param-flow-rules.json", `[{"resource": "a", "count": 1, "paramIdx": 0, "paramFlowItemList": [%s]}]`)
	everyField(t, &degradeSchema, `{"resource": "a", "count": 1, "timeWindow": 1, FIELD}`, "degrade-rules.json", "[%s]")
	everyField(t, &slidingSchema, `{"type": "count", FIELD}`, "degrade-rules.json", `[{"resource": "a", "count": 1, "timeWindow": 1, "slidingWindow": %s}]`)
	everyField(t, &authoritySchema, `{"resource": "a", "limitApp": "b", FIELD}`, "authority-rules.json", "[%s]")
	everyField(t, &systemSchema, `{"qps": 1, FIELD}`, "system-rules.json", "[%s]")
	everyField(t, &bundleSchema, `{"gatewayFlowRules": [], FIELD}`, "b.json", "%s")
}

func everyField[T any](t *testing.T, s *schema[T], mapping, file, around string) {
	t.Helper()
	names := make(map[string]bool)
	for _, fd := range s.fields {
		if names[fd.name] {
			t.Errorf("%s: field %s is declared twice", s.what, fd.name)
		}
		names[fd.name] = true
		if fd.doc == "" {
			t.Errorf("%s: field %s has no description", s.what, fd.name)
		}
		if fd.typ == "" && fd.enum == nil && !fd.ignored && fd.refused == "" {
			t.Errorf("%s: field %s has no type", s.what, fd.name)
		}
		if !fd.ignored && fd.refused == "" && fd.upstream == "" {
			t.Errorf("%s: field %s does not say what Sentinel does", s.what, fd.name)
		}
		if (fd.typ == typeMapping || fd.typ == typeMappings) && fd.nested == nil {
			t.Errorf("%s: field %s does not say what is in it", s.what, fd.name)
		}
		if fd.min > fd.max || fd.typ == typeInteger && fd.def != "" && !(&node{kind: numberNode, text: fd.def}).within(fd.min, fd.max) {
			t.Errorf("%s: field %s: %s is not from %d to %d", s.what, fd.name, fd.def, fd.min, fd.max)
		}
		// No field takes a list of lists of nulls. The field must not be there already.
		text := strings.Replace(mapping, "FIELD", fmt.Sprintf("%q: [[null]]", fd.name), 1)
		for _, had := range []string{`"resource": "a", `, `"limitApp": "b", `, `"qps": 1, `, `"count": 1, `, `"timeWindow": 1, `, `"type": "count", `, `"burst": 0, `, `"strategy": 0, `, `"body": "a", `, `"parseStrategy": 0, `, `"paramIdx": 0, `, `"object": "a", `, `"apiName": "a", `, `"predicateItems": [{"pattern": "/a"}], `, `"pattern": "/a", `, `"gatewayFlowRules": [], `} {
			if strings.HasPrefix(had, fmt.Sprintf("%q", fd.name)) {
				text = strings.Replace(text, had, "", 1)
			}
		}
		_, ps := Load([]File{{file, []byte(fmt.Sprintf(around, text))}}, Options{})
		var got []Problem
		for _, p := range ps {
			if strings.HasSuffix("."+strings.TrimSuffix(p.Field, "[0]"), "."+fd.name) {
				got = append(got, p)
			}
		}
		if len(got) != 1 {
			t.Errorf("%s: field %s of a wrong type: problems %v", s.what, fd.name, ps)
			continue
		}
		switch p := got[0]; {
		case fd.ignored:
			if p.Severity != Warning || !strings.Contains(p.Message, "ignored") {
				t.Errorf("%s: ignored field %s: %v", s.what, fd.name, p)
			}
		case fd.refused != "":
			if p.Severity != Error || strings.Contains(p.Message, "unknown field") {
				t.Errorf("%s: refused field %s: %v", s.what, fd.name, p)
			}
		case p.Severity != Error || strings.Contains(p.Message, "unknown field"):
			t.Errorf("%s: field %s: %v", s.what, fd.name, p)
		}
	}
}

func (n *node) within(minimum, maximum int64) bool {
	v, reason := parseInteger(n.text)
	return reason == "" && v >= minimum && v <= maximum
}

// TestEveryEnumerationMember reads each value by number, by name and by its other name.
func TestEveryEnumerationMember(t *testing.T) {
	t.Parallel()
	all := []*enumeration{resourceModes, grades, controlBehaviors, paramBehaviors, classTypes, relations, matchStrategies, pathMatches, intervalUnits, windowModes, missingChoices, originChoices, authorityStrategies, overflowChoices, paramCodeTables, degradeGrades, openAtChoices, slidingTypes, &strategyTables[0], &strategyTables[1]}
	for _, e := range all {
		for _, want := range e.members {
			forms := []*node{{kind: stringNode, text: want.name}}
			if want.alias != "" {
				forms = append(forms, &node{kind: stringNode, text: want.alias})
			}
			if !e.byName && want.number != noNumber {
				forms = append(forms, &node{kind: numberNode, text: fmt.Sprint(want.number)}, &node{kind: numberNode, text: fmt.Sprintf("%d.0", want.number)})
			}
			for _, n := range forms {
				if got, reason := e.find(n); !reflect.DeepEqual(got, want) || reason != "" {
					t.Errorf("find(%s) = %+v, %q, want %+v", n.text, got, reason, want)
				}
			}
		}
	}
}

func TestDefaultsAreTheDeclaredOnes(t *testing.T) {
	t.Parallel()
	var def strings.Builder
	for _, fd := range gatewaySchema.fields {
		// The count of samples, the two ways to write an interval and the lease depend on other fields.
		if fd.def != "" && !strings.HasPrefix(fd.name, "interval") && fd.name != "onMissing" && fd.name != "maxKeys" && fd.name != "overflow" && fd.name != "leaseMs" {
			fmt.Fprintf(&def, ", %q: %s", fd.name, fd.def)
		}
	}
	bare, text := problems(t, "gw-flow-rules.json", `[{"resource": "a", "count": 1}]`, Options{})
	full, textFull := problems(t, "gw-flow-rules.json", `[{"resource": "a", "count": 1`+def.String()+`}]`, Options{})
	if text != "" || textFull != "" || len(bare.Limits) != 1 {
		t.Fatalf("%s\n%s", text, textFull)
	}
	if !reflect.DeepEqual(bare.Limits, full.Limits) {
		t.Errorf("without defaults\n%+v\nwith them\n%+v", bare.Limits, full.Limits)
	}
}

func TestSuggestions(t *testing.T) {
	t.Parallel()
	tests := []struct{ word, want string }{
		{"intervalsec", "intervalSec"},
		{"interval_sec", "intervalSec"},
		{"ressource", "resource"},
		{"resourcemode", "resourceMode"},
		{"cuont", "count"},
		{"paramitem", "paramItem"},
		{"maxQueueingTimeMs", "maxQueueingTimeoutMs"},
		{"zz", ""},
		{strings.Repeat("resource", 100), ""},
	}
	for _, tt := range tests {
		if got := nearest(tt.word, gatewaySchema.names()); got != tt.want {
			t.Errorf("nearest(%q) = %q, want %q", tt.word, got, tt.want)
		}
	}
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"ab", "", 2}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"abc", "abc", 0}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
