package window

import (
	"errors"
	"hash/maphash"
	"time"
	"unsafe"
)

// Layout is how a KeyTable keeps the window of a key.
type Layout uint8

// The layouts.
const (
	// LayoutWord packs windows of at most two live slots and limits below 2^24 in one word, which
	// is changed without a lock: 16 bytes a slot of the table.
	LayoutWord Layout = iota
	// LayoutWide serves every window: 16 bytes and 4 for each live slot, changed under a lock.
	LayoutWide
)

// ErrLayout is returned for a table whose windows have too many slots for its layout.
var ErrLayout = errors.New("the word layout holds windows of at most two slots")

// KeyTableConfig says what a KeyTable is to be.
type KeyTableConfig struct {
	SampleCount int           // 1 to MaxSampleCount
	Interval    time.Duration // SampleCount times a whole number of milliseconds
	Mode        Mode
	Layout      Layout // as LayoutFor says
	MaxKeys     int    // most keys that have an entry at a time; 0: DefaultMaxKeys
	Overflow    Overflow
	Budget      *KeyBudget   // bounds the keys of several tables together; nil: no such bound
	Seed        maphash.Seed // secret; the zero value: one of the table's own
}

// LayoutFor returns the layout of windows whose limit is never above limit.
func LayoutFor(sampleCount int, mode Mode, limit int64) Layout {
	if liveSlots(sampleCount, mode) <= 2 && limit <= maxWordLimit {
		return LayoutWord
	}
	return LayoutWide
}

// MaxBytes returns the memory that a table of this configuration, which NewKeyTable accepts, takes
// at its full size, with its sketch: 2 bytes a slot of the table for that, and 2 more for each slot
// of a window that counts.
func (c KeyTableConfig) MaxBytes() int64 { return c.table().maxBytes() }

// NewKeyTable returns an empty table. The error is ErrShape, as of NewLeapArray, ErrMaxKeys or
// ErrLayout.
func NewKeyTable(now int64, c KeyTableConfig) (*KeyTable, error) {
	size, err := c.table().size()
	if err != nil {
		return nil, err
	}
	return newKeyTable(now, c, size)
}

// newKeyTable makes a table of the given size.
func newKeyTable(now int64, c KeyTableConfig, size tableSize) (*KeyTable, error) {
	if !validShape(c.SampleCount, c.Interval) {
		return nil, ErrShape
	}
	live := liveSlots(c.SampleCount, c.Mode)
	if c.Layout == LayoutWord && live > 2 {
		return nil, ErrLayout
	}
	t := &KeyTable{over: slotSketch{width: 1, live: live}}
	t.init(now, c.table(), size, &t.over.sketch)
	return t, nil
}

// table is the configuration of what keyed tables have in common. A tick is a slot.
func (c KeyTableConfig) table() tableConfig {
	live := liveSlots(c.SampleCount, c.Mode)
	f := form{packed: c.Layout == LayoutWord, live: live}
	if !f.packed {
		f.side = live
	}
	return tableConfig{
		form: f, width: int64(c.Interval) / int64(max(c.SampleCount, 1)), maxKeys: c.MaxKeys,
		overflow: c.Overflow, budget: c.Budget, seed: c.Seed,
		cell: slotCell(live), bytes: unsafe.Sizeof(KeyTable{}),
	}
}

// validShape says whether a window can have that many slots in that interval.
func validShape(sampleCount int, interval time.Duration) bool {
	return sampleCount >= 1 && sampleCount <= MaxSampleCount && interval > 0 && interval <= maxInterval &&
		interval%(time.Duration(sampleCount)*time.Millisecond) == 0
}

func liveSlots(sampleCount int, mode Mode) int {
	if mode == Strict {
		return sampleCount + 1
	}
	return sampleCount
}
