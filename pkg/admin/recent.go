package admin

import (
	"sync"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

const (
	// recentSpan is how far back what rules do now is told of, at least where somebody has looked before. Nobody need
	// look: what was counted is noted as often as the history of resources is gathered.
	recentSpan = 10 * time.Second
	// recentStep is how far apart notes are at least, so that many who look at a time make no more of them.
	recentStep = 2 * time.Second
)

// Recent is what a rule did in the last seconds, in requests.
type Recent struct {
	Seconds     float64 `json:"seconds"` // how many; 0: nothing is known yet
	Passed      int64   `json:"passed"`
	Blocked     int64   `json:"blocked"`
	Waited      int64   `json:"waited"`
	ShadowBlock int64   `json:"shadowBlock"`
	// BlockedAt is when it was last noted that the rule has refused, at most the time of a note late; absent: never.
	BlockedAt *time.Time `json:"blockedAt,omitempty"`
}

// recent tells what rules did of late, by what they had counted a while ago. The zero value knows of nothing; its
// methods are safe for concurrent use.
type recent struct {
	mu        sync.Mutex
	notes     []note // the oldest first
	blockedAt map[ruleKey]int64
}

// note is what all rules had counted at some time. A rule that is not there had counted nothing.
type note struct {
	at    int64
	tally map[ruleKey]tally
}

// tally is what a rule has counted since it came into force.
type tally struct{ passed, blocked, waited, shadow int64 }

func tallyOf(r *engine.CompiledRule) tally {
	return tally{r.Passed.Load(), r.Blocked.Load(), r.Waited.Load(), r.ShadowBlock.Load()}
}

// since returns what was counted after base. Of a rule that started anew that is all it has.
func (t tally) since(base tally) tally {
	d := tally{t.passed - base.passed, t.blocked - base.blocked, t.waited - base.waited, t.shadow - base.shadow}
	if min(d.passed, d.blocked, d.waited, d.shadow) < 0 {
		return t
	}
	return d
}

// gather notes what the rules have counted, if it is time to.
func (r *recent) gather(now int64, states []engine.RuleState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(now, states)
}

// of returns what each of the rules did of late, in their order.
func (r *recent) of(now int64, states []engine.RuleState) []Recent {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(now, states)
	base := r.notes[0]
	out := make([]Recent, len(states))
	for i, st := range states {
		key := ruleKey{st.Rule.Domain, st.Rule.ID}
		d := tallyOf(st.Rule).since(base.tally[key])
		out[i] = Recent{
			Seconds: time.Duration(now - base.at).Seconds(),
			Passed:  d.passed, Blocked: d.blocked, Waited: d.waited, ShadowBlock: d.shadow,
		}
		if noted, ok := r.blockedAt[key]; ok {
			out[i].BlockedAt = new(at(noted))
		}
	}
	return out
}

// note adds a note, unless there is a fresh one, and drops those that are not needed: the oldest that stays is that
// which was made recentSpan ago or the last before.
func (r *recent) note(now int64, states []engine.RuleState) {
	n := len(r.notes)
	if n == 0 || now-r.notes[n-1].at >= int64(recentStep) {
		fresh := note{now, make(map[ruleKey]tally)}
		blockedAt := make(map[ruleKey]int64)
		for _, st := range states {
			key, t := ruleKey{st.Rule.Domain, st.Rule.ID}, tallyOf(st.Rule)
			if t != (tally{}) {
				fresh.tally[key] = t
			}
			if noted, ok := r.blockedAt[key]; ok {
				blockedAt[key] = noted
			}
			if n > 0 && t.since(r.notes[n-1].tally[key]).blocked > 0 {
				blockedAt[key] = now
			}
		}
		r.notes, r.blockedAt = append(r.notes, fresh), blockedAt
	}
	drop := 0
	for drop+1 < len(r.notes) && now-r.notes[drop+1].at >= int64(recentSpan) {
		drop++
	}
	r.notes = append(r.notes[:0], r.notes[drop:]...)
}
