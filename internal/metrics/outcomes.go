package metrics

import (
	"sync"

	"github.com/sidecard/sidecard/pkg/engine"
)

// outcomes tells what became of requests by the rules that let them pass. The zero value is ready.
//
// A rule takes back what it counted of a call that is given up, and between two of its counters a scrape may
// come. Prometheus takes a counter that has gone down for one that started anew. So what was shown is shown until
// there is more.
type outcomes struct {
	mu    sync.Mutex
	shown map[*engine.Counters]outcome // of the rules of the newest scrape; guarded by mu
}

// outcome is what a rule let pass at once, made wait, and would have refused were it not in shadow.
type outcome struct{ passed, waited, shadowBlocked int64 }

// read returns the outcomes of each rule, in their order.
func (o *outcomes) read(rules []engine.RuleState) []outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]outcome, len(rules))
	next := make(map[*engine.Counters]outcome, len(rules))
	for i, r := range rules {
		c := r.Rule.Counters
		passed, was := c.Passed.Load(), o.shown[c]
		waited := c.Waited.Load()
		out[i] = outcome{
			passed:        max(passed-waited, was.passed),
			waited:        max(waited, was.waited),
			shadowBlocked: max(c.ShadowBlock.Load(), was.shadowBlocked),
		}
		next[c] = out[i]
	}
	o.shown = next
	return out
}
