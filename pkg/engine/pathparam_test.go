package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/internal/testkit/match"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

func pathSet(t testing.TB, bundle string) rule.Set {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "b.yaml", Data: []byte(bundle)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return set
}

// visits decides a request for each path, and says by y or n which of them passed.
func visits(e *engine.Engine, method string, paths ...string) string {
	var b strings.Builder
	for _, p := range paths {
		var bag attr.Bag
		bag.Add("route", "r")
		bag.Add("path", p)
		bag.Add("method", method)
		c := engine.Call{Items: make([]engine.Request, 1)}
		bag.Request(&c.Items[0])
		c.Items[0].Hits = 1
		if e.Decide(start, &c); c.Overall == engine.Pass {
			b.WriteByte('y')
		} else {
			b.WriteByte('n')
		}
	}
	return b.String()
}

func TestPathParamOfTemplate(t *testing.T) {
	t.Parallel()
	e := newEngine(t, pathSet(t, `
gatewayFlowRules:
- {resource: r, count: 1, paramItem: {parseStrategy: path_param, fieldName: id, template: "/orders/{id}/**"}, paramFlowItemList: [{object: "a/b", count: 2}]}
`))
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"/orders/7", "/orders/7/x", "/orders/8", "/orders/8"}, "ynyn"},
		{[]string{"/orders", "/orders", "/", "/other/7", "/other/7"}, "yyyyy"}, // no value, so not limited
		{[]string{"/orders/a%2fb", "/orders/a%2Fb/", "/orders//./a%2Fb", "/orders/a/b"}, "yyny"},
		{[]string{"/orders/%39", "/orders/9;v=1", "/x/../orders/9?x=1"}, "ynn"},
		{[]string{"/orders/%2539", "/orders/%2539"}, "yn"}, // %39, not 9
		{[]string{"/orders/a+b", "/orders/a%2Bb", "/orders/a%20b"}, "yny"},
	} {
		if got := visits(e, "GET", tt.paths...); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.paths, got, tt.want)
		}
	}
	if n := e.Rules()[0].Rule.Missing.Load(); n != 5 {
		t.Errorf("%d without the parameter", n)
	}
}

// Of the items of a group that match, the first one in the file that has the variable gives the value.
func TestPathParamOfGroup(t *testing.T) {
	t.Parallel()
	e := newEngine(t, pathSet(t, `
apiDefinitions:
- apiName: shop
  predicateItems:
  - {pattern: "/health"}
  - {pattern: "/v1/{id}/**", matchStrategy: prefix, methods: [POST]}
  - {pattern: "/v1/*/{id}", matchStrategy: prefix}
  - {pattern: "/v2/**", matchStrategy: prefix}
- apiName: other
  predicateItems: [{pattern: "/{id}/**", matchStrategy: prefix}]
gatewayFlowRules:
- {resource: shop, resourceMode: api, count: 1, onMissing: limit, paramItem: {parseStrategy: path_param, fieldName: id}}
- {resource: other, resourceMode: api, count: 100, paramItem: {parseStrategy: path_param, fieldName: id}}
`))
	for _, tt := range []struct {
		method string
		paths  []string
		want   string
	}{
		{"GET", []string{"/v1/a/b", "/v1/c/b", "/v1/a/c"}, "yny"},  // b, b, c
		{"POST", []string{"/v1/x/b", "/v1/x/c", "/v1/b/z"}, "ynn"}, // x, x, b
		{"GET", []string{"/v2/q", "/v2/p", "/health"}, "ynn"},      // all of them without
		{"GET", []string{"/v3/q", "/v3/q"}, "yy"},                  // not of the group
	} {
		if got := visits(e, tt.method, tt.paths...); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.method, tt.paths, got, tt.want)
		}
	}
}

// Where the path or an item could not be looked at, the value is unknown, and the rule refuses.
func TestPathParamBeyondBounds(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("a", 70_000)
	byTemplate := newEngine(t, pathSet(t, `
gatewayFlowRules:
- {resource: r, count: 1, paramItem: {parseStrategy: path_param, fieldName: id, template: "/{id}"}}
`))
	if got := visits(byTemplate, "GET", long, "/a"); got != "ny" {
		t.Errorf("by template: %s", got)
	}
	byGroup := newEngine(t, pathSet(t, `
apiDefinitions:
- {apiName: g, predicateItems: [{pattern: "/a**", matchStrategy: prefix}, {pattern: "/{id:[a-z/]+}/**", matchStrategy: prefix}]}
gatewayFlowRules:
- {resource: g, resourceMode: api, count: 5, paramItem: {parseStrategy: path_param, fieldName: id}}
`))
	if got := visits(byGroup, "GET", long, "/a/", strings.Repeat("/a/a", 15_000)); got != "nyn" {
		t.Errorf("by group: %s", got)
	}
}

// Any rule over any items limits each value of the twin's.
func TestPathParamAgainstTwin(t *testing.T) {
	t.Parallel()
	segment := rapid.SampledFrom([]string{"a", "b", "*", "**", "{id}", "{no}", "{id:a+}"})
	rapid.Check(t, func(t *rapid.T) {
		def := api("g", rapid.SliceOfN(rapid.Custom(func(t *rapid.T) rule.PredicateItem {
			it := rule.PredicateItem{Pattern: "/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "pattern"), "/"), Match: rule.PathPrefix}
			if rapid.IntRange(0, 3).Draw(t, "method") == 0 {
				it.Methods = []string{"POST"}
			}
			return it
		}), 1, 5).Draw(t, "items")...)
		r := ofAPI(perUser("p", "g", 1))
		r.Param = &rule.ParamItem{Source: rule.SourcePathParam, FieldName: "id"}
		e := engine.New(engine.Options{})
		if _, err := e.Apply(start, rule.Set{APIs: []rule.APIDefinition{def}, Limits: []rule.LimitRule{r}}); err != nil {
			t.Fatal(err)
		}
		used := make(map[string]bool)
		for range 10 {
			path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "aa", "b", "c"}), 1, 5).Draw(t, "path"), "/")
			method := rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "by")
			want := "y"
			if v, there := variableOf(def.Items, method, path); there {
				if used[v] {
					want = "n"
				}
				used[v] = true
			}
			if got := visits(e, method, path); got != want {
				t.Fatalf("%s %s: %s, want %s", method, path, got, want)
			}
		}
	})
}

// variableOf is {id} of the first item that matches and has it.
func variableOf(items []rule.PredicateItem, method, path string) (string, bool) {
	for _, it := range items {
		if len(it.Methods) > 0 && it.Methods[0] != method {
			continue
		}
		matched, took := match.AntSegments(it.Pattern, path)
		for i := len(it.Pattern); matched && i >= 0; i-- {
			for _, own := range []string{"{id}", "{id:a+}"} { // of several the last one counts
				if strings.HasPrefix(it.Pattern[i:], own) {
					return took[own], true
				}
			}
		}
	}
	return "", false
}

func TestPathParamAllocatesNothing(t *testing.T) {
	e := newEngine(t, pathSet(t, `
apiDefinitions:
- {apiName: g, predicateItems: [{pattern: "/orders/{id}/**", matchStrategy: prefix}]}
gatewayFlowRules:
- {resource: g, resourceMode: api, count: 100, paramItem: {parseStrategy: path_param, fieldName: id}, paramFlowItemList: [{object: "7/", count: 1}]}
- {resource: r, count: 100, paramItem: {parseStrategy: path_param, fieldName: no, template: "/**/{no:[a-z%0-9A-F]+}"}}
paramFlowRules:
- {resource: r, count: 100, paramIdx: -1, paramFlowItemList: [{object: "7", count: 1}]}
- {resource: r, count: 100, paramKey: tenant}
`))
	var bag attr.Bag
	c := engine.Call{Items: make([]engine.Request, 1)}
	paths := make([]string, 100)
	for i := range paths {
		paths[i] = fmt.Sprintf("/orders/%d%%2F/x%%41", i)
	}
	now, n := start, 0
	decide := func() {
		bag.Reset()
		bag.Add("route", "r")
		bag.Add("path", paths[n%len(paths)])
		bag.Add("arg.0", "x")
		bag.Add("arg.1", paths[n%10][8:9])
		bag.Add("tenant", "t")
		bag.Request(&c.Items[0])
		c.Items[0].Hits = 1
		e.Decide(now, &c)
		now += ms
		n++
	}
	for range 1000 {
		decide()
	}
	if got := testing.AllocsPerRun(1000, decide); got != 0 {
		t.Errorf("%v allocations", got)
	}
	for _, r := range e.Rules() {
		if r.Rule.Missing.Load() > 0 || r.Keys.Keys == 0 {
			t.Errorf("%s did not take part", r.Rule.ID)
		}
	}
}
