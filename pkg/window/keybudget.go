package window

import "sync/atomic"

// KeyBudget bounds the keys of several tables together. Max is set before first use and not
// changed; the zero value has room for none, a nil budget for any number. A KeyBudget is safe for
// concurrent use.
type KeyBudget struct {
	Max  int64
	used atomic.Int64
}

// Used returns how many keys are taken from the budget now.
func (b *KeyBudget) Used() int64 {
	if b == nil {
		return 0
	}
	return b.used.Load()
}

// full says whether a take would fail now.
func (b *KeyBudget) full() bool { return b != nil && b.used.Load() >= b.Max }

// take takes one key, if there is room.
func (b *KeyBudget) take() bool {
	if b == nil {
		return true
	}
	for {
		used := b.used.Load()
		if used >= b.Max {
			return false
		}
		if b.used.CompareAndSwap(used, used+1) {
			return true
		}
	}
}

// give returns n keys that were taken.
func (b *KeyBudget) give(n int64) {
	if b != nil {
		b.used.Add(-n)
	}
}
