package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKeyedConcurrentExact: many callers at one moment get what a key is admitted, no more and no
// less: one that has an entry, one that gets it from one of them, and one without room.
func TestKeyedConcurrentExact(t *testing.T) {
	t.Parallel()
	for _, kind := range keyedKinds() {
		for round := range 20 {
			k, table, call := kind.table(t, keyedConfig{size: tableSize{1, 2, 2}})
			for i := range 15 {
				call.acquire(epoch, testKey(i))
			}
			keys := []struct {
				key  Key
				want int64 // more
				got  atomic.Int64
			}{
				{key: testKey(round % 15), want: int64(kind.limit) - 1},
				{key: testKey(100), want: int64(kind.limit)},
				{key: testKey(101), want: int64(kind.sketched)},
			}
			call.acquire(epoch, keys[1].key)
			keys[1].want--
			var start, done sync.WaitGroup
			start.Add(1)
			for range goroutines {
				done.Go(func() {
					start.Wait()
					for range 3 {
						for i := range keys {
							if ok, _ := call.acquire(epoch, keys[i].key); ok {
								keys[i].got.Add(1)
							}
						}
					}
				})
			}
			start.Done()
			done.Wait()
			for i := range keys {
				if got := keys[i].got.Load(); got != keys[i].want {
					t.Fatalf("%s, round %d: key %d was admitted %d, want %d", kind.name, round, i, got, keys[i].want)
				}
			}
			if s := k.Stats(); s.Keys != 16 {
				t.Fatalf("%s: %+v", kind.name, s)
			}
			checkTable(t, table)
		}
	}
}

// TestKeyedConcurrentBound: callers share keys, while waves of others take the room and leave it,
// and the table is resized and maintained. Keys lose their entries, are counted without, and get
// entries again; none is admitted more in any minute than it may be.
func TestKeyedConcurrentBound(t *testing.T) {
	t.Parallel()
	const (
		callers = 8
		keys    = 24
		rounds  = 400
		step    = 5 * time.Second
	)
	for _, kind := range keyedKinds() {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			k, table, call := kind.table(t, keyedConfig{size: tableSize{1, 1, 2}})
			var admitted [keys][rounds]atomic.Int64
			var tracked, sketched atomic.Int64
			for round := range rounds {
				now := epoch + int64(round)*int64(step)
				var done sync.WaitGroup
				for g := range callers {
					done.Go(func() {
						random := rand.New(rand.NewPCG(uint64(round), uint64(g)))
						for i := range 30 {
							switch key := random.IntN(keys); random.IntN(10) {
							case 0:
								call.cancel(now, testKey(key))
							case 1:
								k.Maintain(now)
							case 2: // a wave of new keys, then none for a while
								if round/15%2 == 0 {
									call.acquire(now, testKey(1000+(round*callers+g)*30+i))
								}
							default:
								ok, untracked := call.acquire(now, testKey(key))
								if !ok {
									continue
								}
								admitted[key][round].Add(1)
								if untracked {
									sketched.Add(1)
								} else {
									tracked.Add(1)
								}
							}
						}
					})
				}
				done.Wait()
				checkTable(t, table)
			}
			full := 0
			for key := range keys {
				for round := range rounds {
					sum := 0
					for i := round; i < min(round+int(time.Minute/step), rounds); i++ {
						sum += int(admitted[key][i].Load())
					}
					if sum > kind.minute {
						t.Fatalf("key %d: %d admitted in the minute from round %d on, want at most %d", key, sum, round, kind.minute)
					}
					if sum >= kind.limit {
						full++
					}
				}
			}
			if full == 0 || tracked.Load() == 0 || sketched.Load() == 0 {
				t.Errorf("the limit was reached %d times, %d admitted with an entry and %d without: nothing was tried", full, tracked.Load(), sketched.Load())
			}
			t.Logf("%d admitted with an entry, %d without", tracked.Load(), sketched.Load())
		})
	}
}
