package window

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func benchKeyTable(b *testing.B, layout Layout, keys int) *KeyTable {
	b.Helper()
	k, err := NewKeyTable(epoch, KeyTableConfig{SampleCount: 2, Interval: time.Hour, Layout: layout})
	if err != nil {
		b.Fatal(err)
	}
	for i := range keys {
		k.TryAcquire(epoch, testKey(i), 1, maxWordLimit)
	}
	b.ReportAllocs()
	b.ResetTimer()
	return k
}

// BenchmarkKeyTable measures calls on keys that have an entry; each goes to another key, in no
// order that a cache could follow.
func BenchmarkKeyTable(b *testing.B) {
	for name, layout := range map[string]Layout{"word": LayoutWord, "wide": LayoutWide} {
		for _, keys := range []int{1_000, 700_000} {
			b.Run(fmt.Sprintf("%s/admit/keys=%d", name, keys), func(b *testing.B) {
				k := benchKeyTable(b, layout, keys)
				for i := 0; b.Loop(); i++ {
					if _, r := k.TryAcquire(epoch, testKey(i*7919%keys), 1, maxWordLimit); !r.OK {
						b.Fatal(r)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/refuse/keys=%d", name, keys), func(b *testing.B) {
				k := benchKeyTable(b, layout, keys)
				for i := 0; b.Loop(); i++ {
					if _, r := k.TryAcquire(epoch, testKey(i*7919%keys), 1, 1); r.OK {
						b.Fatal(r)
					}
				}
			})
		}
		b.Run(name+"/admit/parallel/keys=700000", func(b *testing.B) {
			const keys = 700_000
			k := benchKeyTable(b, layout, keys)
			var from atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for i := int(from.Add(1_000_003)); pb.Next(); i++ {
					k.TryAcquire(epoch, testKey(i*7919%keys), 1, maxWordLimit)
				}
			})
		})
	}
}

// BenchmarkKeyTableInsert measures first charges of keys: into a table that grows to its full size,
// whose growth is in the figure, and into one that is full of entries that have expired.
func BenchmarkKeyTableInsert(b *testing.B) {
	const keys = 1_000_000
	for name, interval := range map[string]time.Duration{"grow": time.Hour, "reuse": time.Second} {
		b.Run(name, func(b *testing.B) {
			c := KeyTableConfig{SampleCount: 2, Interval: interval, Layout: LayoutWord}
			k, err := NewKeyTable(epoch, c)
			if err != nil {
				b.Fatal(err)
			}
			now := epoch
			b.ReportAllocs()
			i := 0
			for ; b.Loop(); i++ {
				if i%keys == 0 {
					now += 2 * int64(interval)
					if name == "grow" {
						k, _ = NewKeyTable(now, c)
					}
				}
				k.TryAcquire(now, testKey(i), 1, 5)
			}
			b.ReportMetric(float64(k.Stats().Overflows)/float64(min(i, keys)), "overflows/key")
		})
	}
}

func BenchmarkKeyTableHash(b *testing.B) {
	k := benchKeyTable(b, LayoutWord, 0)
	for b.Loop() {
		k.Hash("user-12345678")
	}
}

// BenchmarkKeyTableMaintain looks at a million entries, none of which has expired.
func BenchmarkKeyTableMaintain(b *testing.B) {
	k := benchKeyTable(b, LayoutWord, 1_000_000)
	for b.Loop() {
		k.Maintain(epoch)
	}
}
