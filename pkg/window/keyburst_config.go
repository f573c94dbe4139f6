package window

import (
	"hash/maphash"
	"time"
	"unsafe"
)

// KeyBurstConfig says what a KeyBurst is to be.
type KeyBurstConfig struct {
	SampleCount int           // 1 to MaxSampleCount
	Interval    time.Duration // SampleCount times a whole number of milliseconds
	Mode        Mode
	MaxKeys     int // most keys that have an entry at a time; 0: DefaultMaxKeys
	Overflow    Overflow
	Budget      *KeyBudget   // bounds the keys of several tables together; nil: no such bound
	Seed        maphash.Seed // secret; the zero value: one of the table's own
}

// burstWords is how many words a burstEntry takes beside the state word, apart from its counts.
const burstWords = 6

// MaxBytes returns the memory that a table of this configuration, which NewKeyBurst accepts, takes
// at its full size, with its sketch: 40 bytes a slot and 4 for each slot of a window that counts,
// and for the sketch 4 and 2 for each sample.
func (c KeyBurstConfig) MaxBytes() int64 { return c.table().maxBytes() }

// NewKeyBurst returns an empty table. The error is ErrShape, as of NewLeapArray, or ErrMaxKeys.
func NewKeyBurst(now int64, c KeyBurstConfig) (*KeyBurst, error) {
	size, err := c.table().size()
	if err != nil {
		return nil, err
	}
	return newKeyBurst(now, c, size)
}

func newKeyBurst(now int64, c KeyBurstConfig, size tableSize) (*KeyBurst, error) {
	if !validShape(c.SampleCount, c.Interval) {
		return nil, ErrShape
	}
	t := &KeyBurst{
		over:     slotSketch{width: uint64(c.Interval) / uint64(c.SampleCount), live: liveSlots(c.SampleCount, Strict)},
		interval: int64(c.Interval),
		live:     liveSlots(c.SampleCount, c.Mode),
	}
	t.init(now, c.table(), size, &t.over.sketch)
	return t, nil
}

func (c KeyBurstConfig) table() tableConfig {
	return tableConfig{
		form: form{side: burstWords + liveSlots(c.SampleCount, c.Mode)}, width: 1, maxKeys: c.MaxKeys,
		overflow: c.Overflow, budget: c.Budget, seed: c.Seed,
		cell: slotCell(liveSlots(c.SampleCount, Strict)), bytes: unsafe.Sizeof(KeyBurst{}),
	}
}
