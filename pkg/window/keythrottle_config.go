package window

import (
	"hash/maphash"
	"unsafe"
)

// KeyThrottleConfig says what a KeyThrottle is to be. The zero value is valid.
type KeyThrottleConfig struct {
	MaxKeys  int // most keys that have an entry at a time; 0: DefaultMaxKeys
	Overflow Overflow
	Budget   *KeyBudget   // bounds the keys of several tables together; nil: no such bound
	Seed     maphash.Seed // secret; the zero value: one of the table's own
}

// MaxBytes returns the memory that a table of this configuration, which NewKeyThrottle accepts,
// takes at its full size, with its sketch: 32 bytes a slot, and 4 for that.
func (c KeyThrottleConfig) MaxBytes() int64 { return c.table().maxBytes() }

// NewKeyThrottle returns an empty table. The error is ErrMaxKeys.
func NewKeyThrottle(now int64, c KeyThrottleConfig) (*KeyThrottle, error) {
	size, err := c.table().size()
	if err != nil {
		return nil, err
	}
	return newKeyThrottle(now, c, size), nil
}

func newKeyThrottle(now int64, c KeyThrottleConfig, size tableSize) *KeyThrottle {
	t := &KeyThrottle{}
	t.init(now, c.table(), size, &t.over.sketch)
	return t
}

// throttleWords is how many words a throttleState takes beside the state word.
const throttleWords = 4

func (c KeyThrottleConfig) table() tableConfig {
	return tableConfig{
		form: form{side: throttleWords}, width: 1, maxKeys: c.MaxKeys, overflow: c.Overflow, budget: c.Budget,
		seed: c.Seed, cell: promiseCell, bytes: unsafe.Sizeof(KeyThrottle{}),
	}
}
