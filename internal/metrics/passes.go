package metrics

import (
	"sync"

	"github.com/sidecard/sidecard/pkg/engine"
)

// passes tells how many requests rules let pass without making them wait. The zero value is ready.
//
// A rule counts all that pass, and then those of them that it made wait. A scrape between the two
// takes one that waits for one that does not, and the next would have one less, which Prometheus
// takes for a counter that started anew. So what was shown is shown until there is more.
type passes struct {
	mu    sync.Mutex
	shown map[*engine.Counters]int64 // of the rules of the newest scrape; guarded by mu
}

// read returns the passes of each rule, in their order.
func (p *passes) read(rules []engine.RuleState) []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]int64, len(rules))
	next := make(map[*engine.Counters]int64, len(rules))
	for i, r := range rules {
		c := r.Rule.Counters
		n := c.Passed.Load()
		out[i] = max(n-c.Waited.Load(), p.shown[c])
		next[c] = out[i]
	}
	p.shown = next
	return out
}
