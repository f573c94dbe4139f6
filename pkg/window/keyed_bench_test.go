package window

import (
	"testing"
)

// BenchmarkKeyed measures calls on tables of each kind: on keys that have an entry, each of which
// goes to another key, in no order that a cache could follow; and on keys without room, which are
// counted in the sketch.
func BenchmarkKeyed(b *testing.B) {
	const keys = 100_000
	for _, kind := range keyedKinds() {
		for _, c := range []struct {
			name  string
			times int // that a key is charged before
			from  int // first key
			call  func(keyedBudget, Key)
		}{
			{"admit and refund", 0, 0, func(call keyedBudget, k Key) { call.cancel(epoch, k) }},
			{"refuse", kind.limit, 0, func(call keyedBudget, k Key) { call.acquire(epoch, k) }},
			{"peek", 0, 0, func(call keyedBudget, k Key) { call.peek(epoch, k) }},
			{"without room/admit and refund", 0, keys, func(call keyedBudget, k Key) { call.cancel(epoch, k) }},
			{"without room/peek", 0, keys, func(call keyedBudget, k Key) { call.peek(epoch, k) }},
		} {
			b.Run(kind.name+"/"+c.name, func(b *testing.B) {
				_, table, call := kind.table(b, keyedConfig{maxKeys: keys})
				for i := range keys {
					call.acquire(epoch, testKey(i))
					for range c.times - 1 {
						call.acquire(epoch, testKey(i))
					}
				}
				for i := keys; table.Stats().Overflows < 2; i++ {
					call.acquire(epoch, testKey(10*keys+i))
				}
				b.ReportAllocs()
				b.ResetTimer()
				for i := 0; b.Loop(); i++ {
					c.call(call, testKey(c.from+i*7919%keys))
				}
			})
		}
	}
}
