package rule

import (
	"strings"
	"testing"
	"time"
)

func TestWaitsBeyondEnvoys(t *testing.T) {
	t.Parallel()
	const gateway, flow = "gw-flow-rules.json", "flow-rules.json"
	const beyond = " for which Envoy's timeout lets a call wait: what would wait longer is refused; fix: write "
	const longer = "a longer timeout in Envoy's filter and in envoyTimeout"
	for _, tt := range []struct {
		name, file, data string
		wait             time.Duration
		want             string
	}{
		{"not known", gateway, `[{"resource": "a", "count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 5000}]`, 0, ""},
		{"as long", gateway, `[{"resource": "a", "count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 995}]`, 995 * time.Millisecond, ""},
		{"longer", gateway, `[{"resource": "a", "count": 10, "controlBehavior": 2, "maxQueueingTimeoutMs": 996}]`, 995 * time.Millisecond,
			`1:79: warning: [0].maxQueueingTimeoutMs: a maxQueueingTimeoutMs of 996 is beyond the 995ms` + beyond + "maxQueueingTimeoutMs 995 or less, or " + longer},
		{"by default", flow, `[{"resource": "a", "count": 10, "controlBehavior": 2}]`, 15 * time.Millisecond,
			`1:52: warning: [0].controlBehavior: a maxQueueingTimeMs of 500 is beyond the 15ms` + beyond + "maxQueueingTimeMs 15 or less, or " + longer},
		{"warming up as well", flow, `[{"resource": "a", "count": 10, "controlBehavior": 3}]`, 15 * time.Millisecond,
			`1:52: warning: [0].controlBehavior: a maxQueueingTimeMs of 500 is beyond the 15ms` + beyond + "maxQueueingTimeMs 15 or less, or " + longer},
		{"nothing is left", gateway, `[{"resource": "a", "count": 10, "controlBehavior": 2}]`, 1, `1:52: warning: [0].controlBehavior: a maxQueueingTimeoutMs of 500 is beyond the 1ns` + beyond + longer},
		{"does not queue", gateway, `[{"resource": "a", "count": 10, "maxQueueingTimeoutMs": 5000}]`, time.Millisecond, ""},
	} {
		if _, got := problems(t, tt.file, tt.data, Options{MaxWait: tt.wait}); strings.TrimPrefix(got, tt.file+":") != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
