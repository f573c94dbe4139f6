package window

import (
	"errors"
	"hash/maphash"
	"math/bits"
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

// Overflow is the answer of a KeyTable for keys that find no room.
type Overflow uint8

// The answers.
const (
	OverflowBlock Overflow = iota // refuse
	OverflowAllow                 // admit, without counting
)

// DefaultMaxKeys is the MaxKeys of a configuration that names none.
const DefaultMaxKeys = 1 << 20

// MaxMaxKeys is the largest MaxKeys.
const MaxMaxKeys = 1 << 27

// ErrMaxKeys is returned for a table of too many keys.
var ErrMaxKeys = errors.New("maxKeys must be 1 to 134217728")

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
// at its full size.
func (c KeyTableConfig) MaxBytes() int64 {
	shards, _, most := c.sizes()
	f := form{layout: c.Layout, live: liveSlots(c.SampleCount, c.Mode)}
	return tableBytes(shards) + int64(shards*most)*f.groupBytes()
}

const (
	startSlots = 1024 // slots of a new table, over all shards
	maxShards  = 64
	// shardSlots is the least number of slots of a shard, at full size, that makes it worth having
	// more than one: with fewer, some shards would fill long before the table has MaxKeys.
	shardSlots = 4096
)

// NewKeyTable returns an empty table. The error is ErrShape, as of NewLeapArray, ErrMaxKeys or
// ErrLayout.
func NewKeyTable(now int64, c KeyTableConfig) (*KeyTable, error) {
	if k := c.maxKeys(); k < 1 || k > MaxMaxKeys {
		return nil, ErrMaxKeys
	}
	shards, start, most := c.sizes()
	return newKeyTable(now, c, shards, start, most)
}

// sizes returns the number of shards, and of the groups of one at first and at most. A table with
// MaxKeys keys has three of four slots taken; above that, the chance that both groups of a key are
// full rises quickly (0.02 % at 80 %, 0.7 % at 90 %).
func (c KeyTableConfig) sizes() (shards, start, most int) {
	slots := (c.maxKeys()*4 + 2) / 3
	shards = min(maxShards, 1<<(bits.Len(uint(slots/shardSlots|1))-1))
	most = (slots + shards*groupSlots - 1) / (shards * groupSlots)
	return shards, min(most, startSlots/groupSlots/shards), most
}

func (c KeyTableConfig) maxKeys() int {
	if c.MaxKeys == 0 {
		return DefaultMaxKeys
	}
	return c.MaxKeys
}

// newKeyTable makes a table of the given sizes; MaxKeys is valid.
func newKeyTable(now int64, c KeyTableConfig, shards, start, most int) (*KeyTable, error) {
	if c.SampleCount < 1 || c.SampleCount > MaxSampleCount || c.Interval <= 0 || c.Interval > maxInterval ||
		c.Interval%(time.Duration(c.SampleCount)*time.Millisecond) != 0 {
		return nil, ErrShape
	}
	f := form{layout: c.Layout, live: liveSlots(c.SampleCount, c.Mode)}
	if f.layout == LayoutWord && f.live > 2 {
		return nil, ErrLayout
	}
	if c.Seed == (maphash.Seed{}) {
		c.Seed = maphash.MakeSeed()
	}
	t := &KeyTable{
		seed:     c.Seed,
		width:    int64(c.Interval) / int64(c.SampleCount),
		form:     f,
		overflow: c.Overflow,
		shift:    uint8(64 - bits.Len(uint(shards-1))),
		start:    start,
		most:     most,
		shards:   make([]shard, shards),
		budget:   c.Budget,
	}
	t.latest.Store(t.own(now))
	t.keys.Max = int64(c.maxKeys())
	for i := range t.shards {
		t.shards[i].budget = c.Budget
		t.shards[i].store.Store(newStore(start, f))
	}
	return t, nil
}

func liveSlots(sampleCount int, mode Mode) int {
	if mode == Strict {
		return sampleCount + 1
	}
	return sampleCount
}

// tableBytes is the memory of a table without its groups.
func tableBytes(shards int) int64 {
	return int64(unsafe.Sizeof(KeyTable{})) + int64(shards)*int64(unsafe.Sizeof(shard{})+unsafe.Sizeof(store{}))
}
