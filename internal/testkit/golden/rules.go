package golden

import (
	"encoding/json"
	"fmt"
	"maps"
)

// ruleFiles turns the rules of a trace into rule files of this project, by name.
func (t *Trace) ruleFiles(rules []map[string]any) (map[string][]map[string]any, error) {
	files := make(map[string][]map[string]any)
	for _, given := range rules {
		r := maps.Clone(given)
		kind, _ := r["type"].(string)
		delete(r, "type")
		name := fileNames[kind]
		if name == "" {
			if err := t.foreign(files, r); err != nil {
				return nil, err
			}
			continue
		}
		if kind != "SystemRule" && r["resource"] == nil {
			r["resource"] = resource
		}
		for key, value := range t.With {
			r[key] = value
		}
		switch {
		case kind == "DegradeRule":
			r["id"] = t.breaker(len(files[name]))
		case isAPI(r):
			files[apiFile] = []map[string]any{apiGroup}
		}
		if name == "flow-rules.json" {
			delete(r, "coldFactor") // of the whole process in Sentinel, where it is 3 too
		}
		files[name] = append(files[name], r)
	}
	return files, nil
}

const (
	resource = "R"
	apiPath  = "/r"
	apiFile  = "gw-api-definitions.json"
)

// apiGroup is the one that rules with the resource mode of API groups are of.
var apiGroup = map[string]any{"apiName": resource, "predicateItems": []any{map[string]any{"pattern": apiPath, "matchStrategy": 0}}}

func isAPI(r map[string]any) bool { return fmt.Sprint(r["resourceMode"]) == "1" }

var fileNames = map[string]string{
	"GatewayFlowRule": "gw-flow-rules.json",
	"FlowRule":        "flow-rules.json",
	"ParamFlowRule":   "param-flow-rules.json",
	"DegradeRule":     "degrade-rules.json",
	"SystemRule":      "system-rules.json",
	"AuthorityRule":   "authority-rules.json",
}

// breaker is the id of the nth degrade rule.
func (t *Trace) breaker(n int) string { return fmt.Sprintf("%s-%d", t.ID, n) }

// foreign adds the rules that mean what r means in the words of another limiter.
func (t *Trace) foreign(files map[string][]map[string]any, r map[string]any) error {
	switch t.Group {
	case "leaparray":
		const name = "gw-flow-rules.json"
		files[name] = append(files[name], map[string]any{
			"resource": resource, "count": leapArrayCount, "intervalSec": number(r, "intervalInMs", 0) / 1000, "sampleCount": r["sampleCount"],
		})
	case "resilience4j":
		files["degrade-rules.json"] = t.resilience4j(r)
	default:
		return fmt.Errorf("%s: rules of group %s", t.ID, t.Group)
	}
	return nil
}

// leapArrayCount is a limit that no trace of a window reaches, so that what remains tells what is counted.
const leapArrayCount = 1000

// resilience4j turns a circuit breaker of resilience4j, which judges by errors and slow calls at once, into degrade
// rules for each of the two.
func (t *Trace) resilience4j(r map[string]any) []map[string]any {
	size := number(r, "slidingWindowSize", 100)
	half := number(r, "permittedNumberOfCallsInHalfOpenState", 10)
	base := map[string]any{
		"resource":         resource,
		"minRequestAmount": number(r, "minimumNumberOfCalls", 100),
		"timeWindow":       number(r, "waitDurationInOpenStateMs", 60_000) / 1000,
		"halfOpenRequests": half,
	}
	if r["slidingWindowType"] == "TIME_BASED" { // in seconds, one slot each
		base["statIntervalMs"], base["sampleCount"] = size*1000, size
	} else {
		base["slidingWindow"] = map[string]any{"type": "count", "size": size}
	}
	for key, value := range t.With {
		base[key] = value
	}
	var rules []map[string]any
	add := func(grade string, count any) map[string]any {
		one := maps.Clone(base)
		one["id"], one["grade"], one["count"] = t.breaker(len(rules)), grade, count
		rules = append(rules, one)
		return one
	}
	if limit := number(r, "slowCallDurationThresholdMs", 0); limit > 0 {
		add("slow_ratio", limit)["slowRatioThreshold"] = float64(number(r, "slowCallRateThreshold", 100)) / 100
	}
	add("error_ratio", float64(number(r, "failureRateThreshold", 50))/100)
	return rules
}

// number returns a whole number of a rule.
func number(r map[string]any, key string, otherwise int64) int64 {
	if n, ok := r[key].(json.Number); ok {
		if v, err := n.Int64(); err == nil {
			return v
		}
	}
	return otherwise
}
