package metrics

import (
	"sync"

	"github.com/sidecard/sidecard/pkg/engine"
)

// Other is the value of the labels resource and rule under which the rules are counted together that
// found no series of their own.
const Other = "(other)"

// maxSeries is how many rules have series of their own. Rules come from files that somebody wrote, but
// a program may have written them.
const maxSeries = 1000

// The counts of a rule that a ledger keeps.
const (
	passedAtOnce = iota
	waited
	blocked
	shadowBlocked
	missed
	untracked
	races
	unused
	countCount
)

type counts [countCount]int64

// countsOf reads the counters of a rule. A rule takes back what it counted of a call that is given up, and a
// read may come between two of its counters, of which one is part of the other: what is lower than it was
// is made up for by raise.
func countsOf(c *engine.Counters) counts {
	passed := c.Passed.Load()
	late := c.Waited.Load()
	return counts{passed - late, late, c.Blocked.Load(), c.ShadowBlock.Load(), c.Missing.Load(), c.Untracked.Load(), c.LostRaces.Load(), c.UnusedPlaces.Load()}
}

// raise makes a no smaller than b.
func (a *counts) raise(b counts) {
	for i := range a {
		a[i] = max(a[i], b[i])
	}
}

func (a *counts) add(b counts) {
	for i := range a {
		a[i] += b[i]
	}
}

// ledger adds up what the rules with the same labels have counted, so that no sum ever goes down:
// Prometheus would take that for a counter that started anew, and show a burst of traffic that never was.
// Rules leave at a reload, and their counters with them; what those had counted stays in the sum, which
// is shown again when a rule with these labels comes back.
//
// It keeps most sums. A rule that comes when there are as many, all of rules in force, is counted with
// others under the labels other. Of the sums whose rules have left, the oldest gives way.
type ledger[K comparable] struct {
	labels func(*engine.CompiledRule) K
	other  K
	most   int

	mu       sync.Mutex                       // guards what follows
	accounts map[*engine.Counters]*account[K] // of the rules in force when it was last read
	sums     map[K]*sum
	turn     int64 // of reading
}

// account is what one rule has counted, as far as it was shown.
type account[K comparable] struct {
	labels K
	shown  counts
}

// sum is what all rules with the same labels have counted.
type sum struct {
	past  counts // by rules that have left
	rules int    // in force
	left  int64  // turn in which the last of them was found to have left
}

// entry is one rule in force and the labels of its series.
type entry[K comparable] struct {
	labels K
	state  engine.RuleState
}

func newLedger[K comparable](most int, other K, labels func(*engine.CompiledRule) K) *ledger[K] {
	return &ledger[K]{
		labels: labels, other: other, most: most,
		accounts: make(map[*engine.Counters]*account[K]), sums: make(map[K]*sum),
	}
}

// read returns the rules in force with their labels, and the sums of these labels. It calls rules under
// its lock, so that no reading is of rules that are older than those of the one before.
func (l *ledger[K]) read(rules func() []engine.RuleState) ([]entry[K], map[K]counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	inForce := rules()
	l.close(inForce)
	l.open(inForce)
	entries := make([]entry[K], len(inForce))
	totals := make(map[K]counts, len(l.sums))
	for i, r := range inForce {
		a := l.accounts[r.Rule.Counters]
		a.shown.raise(countsOf(r.Rule.Counters))
		entries[i] = entry[K]{a.labels, r}
		total, begun := totals[a.labels]
		if !begun {
			total = l.sums[a.labels].past
		}
		total.add(a.shown)
		totals[a.labels] = total
	}
	return entries, totals
}

// close adds what rules that have left had counted to what is past.
func (l *ledger[K]) close(inForce []engine.RuleState) {
	stays := make(map[*engine.Counters]bool, len(inForce))
	for _, r := range inForce {
		stays[r.Rule.Counters] = true
	}
	for c, a := range l.accounts {
		if stays[c] {
			continue
		}
		a.shown.raise(countsOf(c))
		s := l.sums[a.labels]
		s.past.add(a.shown)
		s.rules--
		s.left = l.turn
		delete(l.accounts, c)
	}
}

// open begins accounts for the rules that have come, first for those whose sums are there, so that no other
// rule takes their place.
func (l *ledger[K]) open(inForce []engine.RuleState) {
	for _, all := range []bool{false, true} {
		for _, r := range inForce {
			labels := l.labels(r.Rule)
			if l.accounts[r.Rule.Counters] == nil && (all || l.sums[labels] != nil) {
				l.begin(r.Rule.Counters, labels)
			}
		}
	}
}

// begin begins the account of a rule.
func (l *ledger[K]) begin(c *engine.Counters, labels K) {
	s := l.sums[labels]
	if s == nil && !l.room() {
		labels = l.other
		s = l.sums[labels]
	}
	if s == nil {
		s = new(sum)
		l.sums[labels] = s
	}
	s.rules++
	l.accounts[c] = &account[K]{labels: labels}
}

// room says whether there is room for one more sum, for which it drops one whose rules have left.
func (l *ledger[K]) room() bool {
	if len(l.sums) < l.most {
		return true
	}
	var oldest *sum
	var labels K
	for k, s := range l.sums {
		if s.rules == 0 && k != l.other && (oldest == nil || s.left < oldest.left) {
			oldest, labels = s, k
		}
	}
	delete(l.sums, labels)
	return oldest != nil
}
