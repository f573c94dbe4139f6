package window

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// Overflow is what a keyed table does about keys that find no room.
type Overflow uint8

// The policies.
const (
	// OverflowSketch counts such keys together, so that each is charged at least for what it did
	// itself: it may be refused for what others did, and never gets more than a key with an entry.
	OverflowSketch Overflow = iota
	OverflowBlock           // refuses them
	OverflowAllow           // admits them without counting, unless they ask for what never fits
)

// DefaultMaxKeys is the MaxKeys of a configuration that names none.
const DefaultMaxKeys = 1 << 20

// MaxMaxKeys is the largest MaxKeys.
const MaxMaxKeys = 1 << 27

// ErrMaxKeys is returned for a table of too many keys.
var ErrMaxKeys = errors.New("maxKeys must be 1 to 134217728")

const (
	startSlots = 1024 // slots of a table, over all shards, once each of them has had an entry
	maxShards  = 64
	// shardSlots is the least number of slots of a shard, at full size, that makes it worth having
	// more than one: with fewer, some shards would fill long before the table has MaxKeys.
	shardSlots = 4096
)

// tableConfig is what the configurations of all keyed tables come down to.
type tableConfig struct {
	form     form
	width    int64 // nanoseconds of a tick
	maxKeys  int   // 0: DefaultMaxKeys
	overflow Overflow
	budget   *KeyBudget
	seed     maphash.Seed
	cell     int     // 32-bit words of a cell of the sketch
	bytes    uintptr // of the struct that the table is part of
}

// tableSize is how many shards a table has, and how many groups each of them with its first entry and at
// most.
type tableSize struct{ shards, start, most int }

func (s tableSize) slots() int { return s.shards * s.most * groupSlots }

// size returns the size of a table. With MaxKeys keys three of four slots are taken; above that,
// the chance that both groups of a key are full rises quickly (0.02 % at 80 %, 0.7 % at 90 %).
func (c tableConfig) size() (tableSize, error) {
	if c.maxKeys < 0 || c.maxKeys > MaxMaxKeys {
		return tableSize{}, ErrMaxKeys
	}
	slots := (c.bound()*4 + 2) / 3
	shards := min(maxShards, 1<<(bits.Len(uint(slots/shardSlots|1))-1))
	most := (slots + shards*groupSlots - 1) / (shards * groupSlots)
	return tableSize{shards, min(most, startSlots/groupSlots/shards), most}, nil
}

func (c tableConfig) bound() int {
	if c.maxKeys == 0 {
		return DefaultMaxKeys
	}
	return c.maxKeys
}

// maxBytes is the memory of a table of valid configuration at full size, with its sketch.
func (c tableConfig) maxBytes() int64 {
	s, _ := c.size()
	n := c.fixedBytes(s.shards) + int64(s.shards)*c.form.storeBytes(s.most)
	if c.overflow == OverflowSketch {
		n += sketchBytes(s.slots(), c.cell)
	}
	return n
}

// fixedBytes is the memory of a table without its groups and its sketch.
func (c tableConfig) fixedBytes(shards int) int64 {
	return int64(c.bytes) + int64(unsafe.Sizeof(group{})) + int64(shards)*int64(unsafe.Sizeof(shard{})) + int64(shards+1)*int64(unsafe.Sizeof(store{}))
}

// init makes t an empty table. sketch is that of the table that t is part of.
func (t *table) init(now int64, c tableConfig, s tableSize, sketch *sketch) {
	if c.seed == (maphash.Seed{}) {
		c.seed = maphash.MakeSeed()
	}
	t.seed, t.width, t.form, t.overflow, t.budget = c.seed, c.width, c.form, c.overflow, c.budget
	t.shift = uint8(64 - bits.Len(uint(s.shards-1)))
	t.start, t.most = s.start, s.most
	t.fixed = c.fixedBytes(s.shards)
	t.shards = make([]shard, s.shards)
	if c.overflow == OverflowSketch {
		sketch.init(s.slots(), c.cell, c.seed)
		t.sketch = sketch
	}
	t.latest.Store(t.own(now))
	t.keys.Max = int64(c.bound())
	t.blank = newBlank()
	for i := range t.shards {
		t.shards[i].budget = c.budget
		t.shards[i].store.Store(t.blank)
	}
}
