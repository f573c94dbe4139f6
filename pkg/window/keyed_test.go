package window

import (
	"runtime"
	"testing"
	"time"
)

// keyed is a keyed table as an engine sees it, whatever it keeps of a key.
type keyed interface {
	Hash(value string) Key
	MissingKey() Key
	Maintain(now int64)
	Close()
	Stats() KeyStats
}

// keyedKind is a kind of table, and what a test of all kinds needs of it.
type keyedKind struct {
	name string
	// table makes one, and returns the budget that a call on a key asks for one hit of.
	table func(t testing.TB, c keyedConfig) (keyed, *table, keyedBudget)
	// limit is what a key is admitted at first, with an entry and without; at the times before hold
	// no more.
	limit, sketched int
	hold            time.Duration
	minute          int // what a key is admitted at most in a minute, wherever that begins
	maxBytes        func(c keyedConfig) int64
}

// keyedConfig is what all kinds are configured with.
type keyedConfig struct {
	maxKeys  int
	overflow Overflow
	size     tableSize // zero: as maxKeys says
}

// keyedBudget calls a table for one hit, or for a hit and its refund.
type keyedBudget struct {
	acquire func(now int64, k Key) (ok, untracked bool)
	peek    func(now int64, k Key) (ok, untracked bool)
	cancel  func(now int64, k Key)
}

// keyedKinds are one of each, at 5 a minute; the queue promises one moment a minute.
func keyedKinds() []keyedKind {
	window := func(name string, s KeyTableConfig) keyedKind {
		s.Interval = time.Minute
		config := func(c keyedConfig) KeyTableConfig {
			s.MaxKeys, s.Overflow = c.maxKeys, c.overflow
			return s
		}
		return keyedKind{
			name: name, limit: 5, sketched: 5, hold: time.Minute, minute: 10,
			maxBytes: func(c keyedConfig) int64 { return config(c).MaxBytes() },
			table: func(t testing.TB, c keyedConfig) (keyed, *table, keyedBudget) {
				k, err := newKeyTable(epoch, config(c), c.sized(t, config(c).table()))
				if err != nil {
					t.Fatal(err)
				}
				return k, &k.table, keyedBudget{
					func(now int64, key Key) (bool, bool) {
						_, r := k.TryAcquire(now, key, 1, 5)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) (bool, bool) {
						r := k.Peek(now, key, 1, 5)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) {
						p, _ := k.TryAcquire(now, key, 1, 5)
						k.Refund(now, p)
					},
				}
			},
		}
	}
	minutely := Rate{1, 1, time.Minute}
	queue := func(c keyedConfig) KeyThrottleConfig {
		return KeyThrottleConfig{MaxKeys: c.maxKeys, Overflow: c.overflow}
	}
	five := Rate{5, 1, time.Minute}
	bucket := func(c keyedConfig) KeyBucketConfig {
		return KeyBucketConfig{Interval: time.Minute, MaxKeys: c.maxKeys, Overflow: c.overflow}
	}
	burst := func(c keyedConfig) KeyBurstConfig {
		return KeyBurstConfig{SampleCount: 2, Interval: time.Minute, MaxKeys: c.maxKeys, Overflow: c.overflow}
	}
	return []keyedKind{
		window("word", KeyTableConfig{SampleCount: 2, Layout: LayoutWord}),
		window("wide", KeyTableConfig{SampleCount: 10, Layout: LayoutWide}),
		{
			name: "queue", limit: 1, sketched: 1, hold: time.Minute, minute: 1,
			maxBytes: func(c keyedConfig) int64 { return queue(c).MaxBytes() },
			table: func(t testing.TB, c keyedConfig) (keyed, *table, keyedBudget) {
				k := newKeyThrottle(epoch, queue(c), c.sized(t, queue(c).table()))
				return k, &k.table, keyedBudget{
					func(now int64, key Key) (bool, bool) {
						_, w, untracked := k.Acquire(now, key, 1, minutely, 0, false)
						return w.OK, untracked
					},
					func(now int64, key Key) (bool, bool) {
						w, untracked := k.Peek(now, key, 1, 1, minutely, 0, false)
						return w.OK, untracked
					},
					func(now int64, key Key) {
						p, _, _ := k.Acquire(now, key, 1, minutely, 0, false)
						k.Refund(now, p)
					},
				}
			},
		},
		{
			name: "bucket", limit: 7, sketched: 5, hold: time.Minute, minute: 14,
			maxBytes: func(c keyedConfig) int64 { return bucket(c).MaxBytes() },
			table: func(t testing.TB, c keyedConfig) (keyed, *table, keyedBudget) {
				k, err := newKeyBucket(epoch, bucket(c), c.sized(t, bucket(c).table()))
				if err != nil {
					t.Fatal(err)
				}
				return k, &k.table, keyedBudget{
					func(now int64, key Key) (bool, bool) {
						_, r := k.TryAcquire(now, key, 1, five, 2)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) (bool, bool) {
						r := k.Peek(now, key, 1, five, 2)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) {
						p, _ := k.TryAcquire(now, key, 1, five, 2)
						k.Refund(now, p)
					},
				}
			},
		},
		{
			name: "burst", limit: 7, sketched: 5, hold: time.Minute / 5, minute: 12,
			maxBytes: func(c keyedConfig) int64 { return burst(c).MaxBytes() },
			table: func(t testing.TB, c keyedConfig) (keyed, *table, keyedBudget) {
				k, err := newKeyBurst(epoch, burst(c), c.sized(t, burst(c).table()))
				if err != nil {
					t.Fatal(err)
				}
				return k, &k.table, keyedBudget{
					func(now int64, key Key) (bool, bool) {
						_, r := k.TryAcquire(now, key, 1, 5, 2)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) (bool, bool) {
						r := k.Peek(now, key, 1, 5, 2)
						return r.OK, r.Untracked
					},
					func(now int64, key Key) {
						p, _ := k.TryAcquire(now, key, 1, 5, 2)
						k.Refund(now, p)
					},
				}
			},
		},
	}
}

func (c keyedConfig) sized(t testing.TB, config tableConfig) tableSize {
	if c.size != (tableSize{}) {
		return c.size
	}
	size, err := config.size()
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// heap is the memory in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
