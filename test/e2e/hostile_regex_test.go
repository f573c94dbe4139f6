//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// Three hundred expressions over a path of 58 KiB would take longer than Envoy waits for an answer,
// and then the request would pass. The daemon tries those that it can afford and refuses for the rest,
// so the request is refused whichever of them it matches.
func TestHostileExpressions(t *testing.T) {
	t.Parallel()
	const expressions = 300
	var groups, flows []string
	for n := range expressions {
		id := fmt.Sprintf("group-%03d", n)
		groups = append(groups, fmt.Sprintf(`{"apiName": %q, "predicateItems": [{"pattern": "/([a-z]+[0-9]?)*x%d", "matchStrategy": "regex"}]}`, id, n))
		flows = append(flows, fmt.Sprintf(`{"id": %q, "resource": %q, "resourceMode": 1, "count": 0, "intervalSec": 1}`, id, id))
	}
	s := ready(t, rules(t,
		"gw-flow-rules.json", "["+strings.Join(flows, ",\n")+"]",
		"gw-api-definitions.json", "["+strings.Join(groups, ",\n")+"]"))
	long := "/" + strings.Repeat("ab", 29<<10)
	hostileRun(t, s, http1Table(t, s, []http1Row{
		{"no expression matches", get("/orders"), free},
		{"the last one matches", get("/abx299"), limited("group-299")},
		{"58 KiB, the last one would match", get(long + "x299"), refused("group-004", "input-too-large")},
		{"58 KiB, the first one matches", get(long + "x0"), limited("group-000")},
		{"58 KiB, none would match", get(long), refused("group-004", "input-too-large")},
	}))
}
