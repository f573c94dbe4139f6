package window

import (
	"hash/maphash"
	"time"
	"unsafe"
)

// KeyBucketConfig says what a KeyBucket is to be.
type KeyBucketConfig struct {
	Interval time.Duration // Interval*Denominator of the rates; a whole number of milliseconds
	MaxKeys  int           // most keys that have an entry at a time; 0: DefaultMaxKeys
	Overflow Overflow
	Budget   *KeyBudget   // bounds the keys of several tables together; nil: no such bound
	Seed     maphash.Seed // secret; the zero value: one of the table's own
}

const (
	// bucketWords is how many words a bucketState takes beside the state word.
	bucketWords = 5
	// The window of keys without room: three slots of half an interval always cover a whole one.
	bucketSamples = 2
	bucketLive    = bucketSamples + 1
)

// MaxBytes returns the memory that a table of this configuration, which NewKeyBucket accepts, takes
// at its full size, with its sketch: 36 bytes a slot, and 8 for that.
func (c KeyBucketConfig) MaxBytes() int64 { return c.table().maxBytes() }

// NewKeyBucket returns an empty table. The error is ErrMaxKeys, or ErrShape if the interval is not
// a positive number of milliseconds (and below 36 years).
func NewKeyBucket(now int64, c KeyBucketConfig) (*KeyBucket, error) {
	size, err := c.table().size()
	if err != nil {
		return nil, err
	}
	return newKeyBucket(now, c, size)
}

func newKeyBucket(now int64, c KeyBucketConfig, size tableSize) (*KeyBucket, error) {
	if !validShape(1, c.Interval) {
		return nil, ErrShape
	}
	t := &KeyBucket{over: slotSketch{width: uint64(c.Interval) / bucketSamples, live: bucketLive}}
	t.init(now, c.table(), size, &t.over.sketch)
	return t, nil
}

func (c KeyBucketConfig) table() tableConfig {
	return tableConfig{
		form: form{side: bucketWords}, width: 1, maxKeys: c.MaxKeys, overflow: c.Overflow, budget: c.Budget,
		seed: c.Seed, cell: slotCell(bucketLive), bytes: unsafe.Sizeof(KeyBucket{}),
	}
}
