package window

import (
	"hash/maphash"
	"math"
	"unsafe"
)

// KeyInflightConfig says what a KeyInflight is to be. The zero value is valid.
type KeyInflightConfig struct {
	MaxKeys  int // most keys that have an entry at a time; 0: DefaultMaxKeys
	Overflow Overflow
	Budget   *KeyBudget   // bounds the keys of several tables together; nil: no such bound
	Seed     maphash.Seed // secret; the zero value: one of the table's own
}

// MaxBytes returns the memory that a table of this configuration, which NewKeyInflight accepts,
// takes at its full size, with its sketch: 20 bytes a slot, and 2 for that.
func (c KeyInflightConfig) MaxBytes() int64 { return c.table().maxBytes() }

// NewKeyInflight returns an empty table. The error is ErrMaxKeys.
func NewKeyInflight(c KeyInflightConfig) (*KeyInflight, error) {
	size, err := c.table().size()
	if err != nil {
		return nil, err
	}
	return newKeyInflight(c, size), nil
}

func newKeyInflight(c KeyInflightConfig, size tableSize) *KeyInflight {
	t := &KeyInflight{}
	t.init(0, c.table(), size, &t.over.sketch)
	return t
}

// table gives the table ticks that never pass: its entries expire by what is released, not by time.
func (c KeyInflightConfig) table() tableConfig {
	return tableConfig{
		form: form{side: 1}, width: math.MaxInt64, maxKeys: c.MaxKeys, overflow: c.Overflow, budget: c.Budget,
		seed: c.Seed, cell: 1, bytes: unsafe.Sizeof(KeyInflight{}),
	}
}
