package metrics

import "sync"

// Other is the value of the labels resource and rule under which those are counted together that found no
// series of their own.
const Other = "(other)"

// maxSeries is how many rules, and how many resources, have series of their own. They come from files that
// somebody wrote, but a program may have written them.
const maxSeries = 1000

// counts are what a rule or a resource has counted. What each of them is, its kind says.
type counts [8]int64

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

func (a *counts) sub(b counts) {
	for i := range a {
		a[i] -= b[i]
	}
}

// ledger adds up what items I with the same labels L have counted, so that no sum ever goes down: Prometheus
// would take that for a counter that started anew, and show a burst of traffic that never was. Items leave, as
// rules do at a reload, and their counters with them; what those had counted stays in the sum, which is shown
// again when an item with these labels comes back. An item may also take back some of what it counted.
//
// It keeps most sums. An item that comes when there are as many, all of items that are there, is counted with
// others under the labels other. Of the sums whose items have left, the oldest gives way.
type ledger[I, L comparable] struct {
	count func(I) counts // reads an item's counters, also after it has left
	other L
	most  int

	mu       sync.Mutex        // guards what follows
	accounts map[I]*account[L] // of the items that were there at the last reading
	sums     map[L]*sum
	turn     int64 // of reading
}

// account is what one item has counted, as far as it was shown.
type account[L comparable] struct {
	asked  L // the labels of the item
	labels L // those under which it is counted
	shown  counts
	before counts // shown under the labels that the item had before
}

// sum is what all items with the same labels have counted.
type sum struct {
	past  counts // by items that have left
	items int    // that are there
	left  int64  // turn in which the last of them was found to have left
}

// entry is an item and its labels.
type entry[I, L comparable] struct {
	item   I
	labels L
}

func newLedger[I, L comparable](most int, other L, count func(I) counts) *ledger[I, L] {
	return &ledger[I, L]{count: count, other: other, most: most, accounts: make(map[I]*account[L]), sums: make(map[L]*sum)}
}

// read returns the labels under which each item is counted, and the sums of these labels. It calls list under its
// lock, so that no reading is of items that are older than those of the one before. Each item is there once.
func (l *ledger[I, L]) read(list func() []entry[I, L]) ([]L, map[L]counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn++
	items := list()
	l.close(items)
	l.open(items)
	labels := make([]L, len(items))
	totals := make(map[L]counts, len(l.sums))
	for i, e := range items {
		a := l.accounts[e.item]
		a.shown.raise(l.count(e.item))
		labels[i] = a.labels
		total, begun := totals[a.labels]
		if !begun {
			total = l.sums[a.labels].past
		}
		total.add(a.shown)
		total.sub(a.before)
		totals[a.labels] = total
	}
	return labels, totals
}

// close ends the accounts of items that have left, or that have other labels now.
func (l *ledger[I, L]) close(items []entry[I, L]) {
	stays := make(map[I]bool, len(items))
	for _, e := range items {
		stays[e.item] = true
	}
	for item, a := range l.accounts {
		if !stays[item] {
			l.settle(item, a)
			delete(l.accounts, item)
		}
	}
}

// settle adds what an item has counted under its labels to what is past.
func (l *ledger[I, L]) settle(item I, a *account[L]) {
	a.shown.raise(l.count(item))
	s := l.sums[a.labels]
	s.past.add(a.shown)
	s.past.sub(a.before)
	s.items--
	s.left = l.turn
}

// open begins accounts for the items that have come or changed their labels, first for those whose sums are there,
// so that no other item takes their place.
func (l *ledger[I, L]) open(items []entry[I, L]) {
	for _, all := range []bool{false, true} {
		for _, e := range items {
			a := l.accounts[e.item]
			if a != nil && a.asked == e.labels || !all && l.sums[e.labels] == nil {
				continue
			}
			var before counts
			if a != nil {
				l.settle(e.item, a)
				before = a.shown
			}
			l.accounts[e.item] = &account[L]{asked: e.labels, labels: l.place(e.labels), shown: before, before: before}
		}
	}
}

// place counts one more item under its labels, or under others if there is no room for theirs, and returns them.
func (l *ledger[I, L]) place(labels L) L {
	s := l.sums[labels]
	if s == nil && !l.room() {
		labels = l.other
		s = l.sums[labels]
	}
	if s == nil {
		s = new(sum)
		l.sums[labels] = s
	}
	s.items++
	return labels
}

// room says whether there is room for one more sum, for which it drops one whose items have left.
func (l *ledger[I, L]) room() bool {
	if len(l.sums) < l.most {
		return true
	}
	var oldest *sum
	var labels L
	for k, s := range l.sums {
		if s.items == 0 && k != l.other && (oldest == nil || s.left < oldest.left) {
			oldest, labels = s, k
		}
	}
	delete(l.sums, labels)
	return oldest != nil
}
