package engine_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// manyOf has a rule of each kind, by its number, as a file writes it; the file's name says the kind. An item
// stands for an API group and a rule for it.
var manyOf = []struct{ name, file, rule, item string }{
	{"route", "gw-flow-rules.json", `{"resource": "route-%05d", "count": 100}`, ""},
	{"per-value", "gw-flow-rules.json", `{"resource": "route-%05d", "count": 100, "paramItem": {"parseStrategy": 2, "fieldName": "x-user-id"}}`, ""},
	{"api-prefix", "rules.json", "", `{"pattern": "/other-%05d/**", "matchStrategy": 1}`},
	{"api-below", "rules.json", "", `{"pattern": "/orders/*/other-%05d", "matchStrategy": 1}`},
	{"api-regex", "rules.json", "", `{"pattern": "/other-%05d/[0-9]+", "matchStrategy": 2}`},
	{"api-regex-bare", "rules.json", "", `{"pattern": ".*/other-%05d", "matchStrategy": 2}`},
	{"flow", "flow-rules.json", `{"resource": "route-%05d", "count": 100}`, ""},
	{"flow-warm-up", "flow-rules.json", `{"resource": "route-%05d", "count": 100, "controlBehavior": 1}`, ""},
	{"flow-regex", "flow-rules.json", `{"resource": "other-%05d-[a-z]+", "regex": true, "count": 100}`, ""},
	{"flow-regex-bare", "flow-rules.json", `{"resource": "[a-z]+-other-%05d", "regex": true, "count": 100}`, ""},
	{"param-flow", "param-flow-rules.json", `{"resource": "route-%05d", "count": 100, "paramIdx": 0, "paramFlowItemList": [{"object": "1", "count": 5, "classType": "int"}]}`, ""},
	{"degrade", "degrade-rules.json", `{"resource": "route-%05d", "grade": 1, "count": 0.5, "timeWindow": 10}`, ""},
	{"authority", "authority-rules.json", `{"resource": "route-%05d", "limitApp": "a,b", "strategy": 1}`, ""},
	{"system", "system-rules.json", `{"id": "system-%05d", "qps": 100}`, ""},
}

// manyRules writes n rules of a kind.
func manyRules(kind string, n int) rule.File {
	for _, k := range manyOf {
		if k.name != kind {
			continue
		}
		rules, groups := make([]string, n), make([]string, n)
		for i := range rules {
			if k.item == "" {
				rules[i] = fmt.Sprintf(k.rule, i)
				continue
			}
			rules[i] = fmt.Sprintf(`{"resource": "api-%05d", "resourceMode": "api", "count": 100}`, i)
			groups[i] = fmt.Sprintf(`{"apiName": "api-%05d", "predicateItems": [`+k.item+`]}`, i, i)
		}
		list := "[" + strings.Join(rules, ",\n") + "]"
		if k.item != "" {
			list = `{"gatewayFlowRules": ` + list + `, "apiDefinitions": [` + strings.Join(groups, ",\n") + "]}"
		}
		return rule.File{Name: k.file, Data: []byte(list)}
	}
	panic("no kind " + kind)
}

func heldBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkCompile is what ten thousand rules of a kind cost: the time to read them and to compile them, and the
// memory that the model and the compiled rules hold before the first request.
func BenchmarkCompile(b *testing.B) {
	const n = 10_000
	for _, k := range manyOf {
		b.Run(k.name, func(b *testing.B) {
			files := []rule.File{manyRules(k.name, n)}
			var e *engine.Engine
			var set rule.Set
			before := heldBytes()
			for b.Loop() {
				var ps rule.Problems
				if set, ps = rule.Load(files, rule.Options{}); ps.Err() != nil {
					b.Fatal(ps.Err())
				}
				e = engine.New(engine.Options{})
				if _, err := e.Apply(start, set); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(heldBytes()-before)/n, "B/rule")
			b.ReportMetric(float64(e.Regexps()), "tried")
			runtime.KeepAlive(set)
		})
	}
}

// BenchmarkDecideAmong is a decision by two rules, one of them per user, among others that do not concern it.
func BenchmarkDecideAmong(b *testing.B) {
	const own = `[{"resource": "orders", "count": 10000000}, {"resource": "orders", "count": 10000000, "paramItem": {"parseStrategy": 2, "fieldName": "x-user-id"}}]`
	for _, kind := range []string{"route", "api-prefix", "api-below", "api-regex", "api-regex-bare", "flow-regex", "flow-regex-bare"} {
		for _, n := range []int{0, 1, 10, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s=%d", kind, n), func(b *testing.B) {
				set, ps := rule.Load([]rule.File{{Name: "own-gw-flow-rules.json", Data: []byte(own)}, manyRules(kind, n)}, rule.Options{})
				if ps.Err() != nil {
					b.Fatal(ps.Err())
				}
				e := newEngine(b, set)
				inputs := benchInputs()
				var bag attr.Bag
				c := engine.Call{Domain: "shop", Items: make([]engine.Request, 1)}
				now, i := start, 0
				b.ReportAllocs()
				for b.Loop() {
					fillBag(&bag, &c.Items[0], inputs[i%benchKeys])
					e.Decide(now, &c)
					if c.Overall != engine.Pass {
						b.Fatalf("decision %d was refused", i)
					}
					now += benchStep
					i++
				}
				b.ReportMetric(float64(e.Regexps()), "tried")
			})
		}
	}
}
