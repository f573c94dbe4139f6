package rule

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules is 10 000 rules, half of them per value of a header.
func manyRules() string {
	var b strings.Builder
	b.WriteString("[")
	for i := range 10_000 {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, `  {"resource": "route-%d", "resourceMode": 0, "grade": 1, "count": %d, "intervalSec": 1, "controlBehavior": 0, "burst": 0`, i/2, i+1)
		if i%2 == 1 {
			b.WriteString(`, "paramItem": {"parseStrategy": 2, "fieldName": "x-user-id", "pattern": "v[0-9]+", "matchStrategy": 2}`)
		}
		b.WriteString("}")
	}
	b.WriteString("]\n")
	return b.String()
}

func benchmarkLoad(b *testing.B, name string) {
	data := []byte(manyRules())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		set, ps := Load([]File{{name, data}}, Options{})
		if ps.Err() != nil || len(set.Limits) != 10_000 {
			b.Fatal(ps.Err())
		}
	}
}

func BenchmarkLoadJSON10000(b *testing.B) { benchmarkLoad(b, "gw-flow-rules.json") }
func BenchmarkLoadYAML10000(b *testing.B) { benchmarkLoad(b, "gw-flow-rules.yaml") }
