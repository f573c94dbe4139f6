package rule

import "testing"

func TestPathParamProblems(t *testing.T) {
	t.Parallel()
	const group = `{"apiDefinitions": [{"apiName": "orders", "predicateItems": [{"pattern": "/health"}, {"pattern": "/orders/{id}/**", "matchStrategy": 1}, {"pattern": "/{a}-{b}", "matchStrategy": 1}, {"pattern": "/old/[0-9]+", "matchStrategy": 2}]}], "gatewayFlowRules": [`
	route := func(item string) string {
		return `{"gatewayFlowRules": [{"resource": "r", "count": 1, "paramItem": {` + item + `}}]}`
	}
	api := func(name, item string) string {
		return group + `{"resource": "` + name + `", "resourceMode": "api", "count": 1, "paramItem": {` + item + `}}]}`
	}
	const crowded = ` in a segment with other variables or wildcards`
	tests := []struct{ name, file, want string }{
		{"a template", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/orders/{id}"`), ``},
		{"fixed text around it", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/orders/no-{id}.json"`), ``},
		{"an expression", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/**/{id:[0-9]{1,9}}/*"`), ``},
		{"the group's", api("orders", `"parseStrategy": "path_param", "fieldName": "id"`), ``},
		{"a template for a group", api("orders", `"parseStrategy": "path_param", "fieldName": "x", "template": "/orders/{x}"`), ``},

		{"no template", route(`"parseStrategy": "path_param", "fieldName": "id"`), `error: gatewayFlowRules[0].paramItem.fieldName: nothing says where in the path of a route {id} stands; fix: add a template, such as /orders/{id}`},
		{"an empty template is none", route(`"parseStrategy": "path_param", "fieldName": "id", "template": ""`), `error: gatewayFlowRules[0].paramItem.fieldName: nothing says where in the path of a route {id} stands; fix: add a template, such as /orders/{id}`},
		{"another name", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/orders/{no}"`), `error: gatewayFlowRules[0].paramItem.template: "/orders/{no}" has no {id}; fix: write {id} where the value stands`},
		{"no variable", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/orders/id"`), `error: gatewayFlowRules[0].paramItem.template: "/orders/id" has no {id}; fix: write {id} where the value stands`},
		{"two in a segment", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/{id}-{no}"`), `error: gatewayFlowRules[0].paramItem.template: "/{id}-{no}" has {id}` + crowded + `, so that nobody can tell where its value ends; fix: give it a segment of its own; fixed text around it is fine`},
		{"a wildcard beside it", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/{id}*"`), `error: gatewayFlowRules[0].paramItem.template: "/{id}*" has {id}` + crowded + `, so that nobody can tell where its value ends; fix: give it a segment of its own; fixed text around it is fine`},
		{"no path", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "orders/{id}"`), `error: gatewayFlowRules[0].paramItem.template: "orders/{id}" does not begin with /, as every path does; fix: write "/orders/{id}"`},
		{"open brace", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/orders/{id"`), `error: gatewayFlowRules[0].paramItem.template: "/orders/{id" has no {id}; fix: write {id} where the value stands`},
		{"bad expression", route(`"parseStrategy": "path_param", "fieldName": "id", "template": "/{id:[}"`), `error: gatewayFlowRules[0].paramItem.template: "[" is no regular expression: missing closing ]: [`},
		{"a name that is none", route(`"parseStrategy": "path_param", "fieldName": "{id}", "template": "/{id}"`), `error: gatewayFlowRules[0].paramItem.fieldName: "{id}" cannot be the name of a variable; fix: write what stands between { and }, without an expression`},
		{"template of a header", route(`"parseStrategy": "header", "fieldName": "id", "template": "/{id}"`), `error: gatewayFlowRules[0].paramItem.template: is for parseStrategy path_param; fix: remove it`},
		{"not in the group", api("orders", `"parseStrategy": "path_param", "fieldName": "no"`), `error: gatewayFlowRules[0].paramItem.fieldName: no item of the API group "orders" has {no} in a pattern of matchStrategy prefix; fix: write {no} there, or add a template to the rule`},
		{"in company in the group", api("orders", `"parseStrategy": "path_param", "fieldName": "a"`), `error: gatewayFlowRules[0].paramItem.fieldName: the item at b.json:1:138 has {a}` + crowded + `; fix: give it a segment of its own there, or add a template to the rule`},
		{"no such group", api("order", `"parseStrategy": "path_param", "fieldName": "id"`), `warning: gatewayFlowRules[0].resource: no API group "order" is defined: the rule never applies; fix: write "orders", or define it in a file named …gw-api-definitions`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, text := problems(t, "b.json", tt.file, Options{})
			if got := withoutSpots(text); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestPathParamID(t *testing.T) {
	t.Parallel()
	set, text := problems(t, "b.json", `{"paramCodes": "url-first", "gatewayFlowRules": [{"resource": "r", "count": 1, "paramItem": {"parseStrategy": 1, "fieldName": "id", "template": "/o/{id}"}}]}`, Options{})
	if text != "" {
		t.Fatal(text)
	}
	if r := set.Limits[0]; r.ID != "gw-flow/route/r/qps/reject/1s/aligned/path_param:id/in:%2Fo%2F{id}" || *r.Param != (ParamItem{Source: SourcePathParam, FieldName: "id", Template: "/o/{id}"}) {
		t.Errorf("%s %+v", r.ID, r.Param)
	}
}

func TestPlaceOf(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]variablePlace{
		"/{id}": variableAlone, "/a/{id}/b": variableAlone, "/{id:a/b}": variableAlone, "/x{id}y": variableAlone, "/{no}/{id}": variableAlone,
		"/{id}{no}": variableCrowded, "/{id}?": variableCrowded, "/*{id}": variableCrowded,
		"/{id}/{id}-{x}": variableCrowded, "/{id}-{x}/{id}": variableAlone, // the last one counts
		"/id": variableAbsent, "/{idx}": variableAbsent, "/{x:{id}}": variableAbsent, "/**": variableAbsent,
	} {
		if got := placeOf(pattern, "id"); got != want {
			t.Errorf("%s: got %d, want %d", pattern, got, want)
		}
	}
}
