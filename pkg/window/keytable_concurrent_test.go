package window

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestKeyTableConcurrentExact: many callers at one moment get the limit of a key, no more and no
// less, while the table grows under them and the first of them makes the entry.
func TestKeyTableConcurrentExact(t *testing.T) {
	t.Parallel()
	const limit = 100
	for name, c := range layouts() {
		for round := range 50 {
			k := shapedKeyTable(t, epoch, c, tableSize{1, 1, 64})
			now := epoch + int64(3*time.Second)
			var admitted atomic.Int64
			var start, done sync.WaitGroup
			start.Add(1)
			for g := range goroutines {
				done.Go(func() {
					start.Wait()
					for i := range 5 {
						if _, r := k.TryAcquire(now, testKey(round), 1, limit); r.OK {
							admitted.Add(1)
						}
						k.TryAcquire(now, testKey(1000+5*g+i), 1, limit)
					}
				})
			}
			start.Done()
			done.Wait()
			if got := admitted.Load(); got != limit {
				t.Fatalf("%s: %d admitted, want %d", name, got, limit)
			}
			if s := k.Stats(); s.Keys != 1+5*goroutines || s.Slots < s.Keys {
				t.Fatalf("%s: %+v, want %d keys", name, s, 1+5*goroutines)
			}
			checkTable(t, &k.table)
		}
	}
}

// TestKeyTableConcurrentBound: 16 callers share 16 keys, while each of them also comes with keys
// that nobody has seen, late, gives back, and maintains; the table grows, shrinks and hands entries
// on. No key is admitted more than the limit in any run of consecutive slots.
func TestKeyTableConcurrentBound(t *testing.T) {
	t.Parallel()
	const (
		callers = 16
		keys    = 16
		limit   = 20
		calls   = 6000
		width   = time.Millisecond
	)
	for name, c := range map[string]KeyTableConfig{
		"word, one slot":     {SampleCount: 1, Layout: LayoutWord},
		"word, two slots":    {SampleCount: 2, Layout: LayoutWord},
		"word, strict":       {SampleCount: 1, Mode: Strict, Layout: LayoutWord},
		"wide, three slots":  {SampleCount: 3, Layout: LayoutWide},
		"wide, strict of 10": {SampleCount: 10, Mode: Strict, Layout: LayoutWide},
		"word without room":  {SampleCount: 2, Layout: LayoutWord, MaxKeys: 12},
		"wide without room":  {SampleCount: 3, Layout: LayoutWide, MaxKeys: 12},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.Interval = time.Duration(c.SampleCount) * width
			c.Budget = &KeyBudget{Max: 1 << 20}
			k := shapedKeyTable(t, epoch, c, tableSize{1, 2, 12})
			live := uint64(k.form.live)
			type charge struct {
				key int
				seq uint64
			}
			var clock, grown atomic.Int64
			clock.Store(epoch)
			charged := make([]map[charge]int64, callers)
			var done sync.WaitGroup
			for g := range callers {
				charged[g] = map[charge]int64{}
				done.Go(func() {
					random := rand.New(rand.NewPCG(1, uint64(g)))
					for i := range calls {
						now := clock.Add(random.Int64N(int64(c.Interval) / 250))
						if random.IntN(8) == 0 {
							now -= random.Int64N(5 * int64(c.Interval))
						}
						if i%2 == 0 { // a wave of new keys, then none for a while
							if i/500%2 == 0 {
								k.TryAcquire(now, testKey(1000+g*calls+i), 1, limit)
							}
							continue
						}
						if random.IntN(100) == 0 {
							grown.Store(max(grown.Load(), k.Stats().Slots))
							k.Maintain(now)
						}
						key, n := random.IntN(keys), 1+random.Int64N(3)
						p, r := k.TryAcquire(now, testKey(key), n, limit)
						switch {
						case !r.OK:
							k.Peek(now, testKey(key), n, limit)
						case random.IntN(8) == 0:
							k.Refund(now, p)
						default:
							charged[g][charge{key, p.seq}] += n
						}
					}
				})
			}
			done.Wait()
			checkTable(t, &k.table)

			admitted := map[charge]int64{}
			for _, m := range charged {
				for at, n := range m {
					admitted[at] += n
				}
			}
			full := 0
			for at := range admitted {
				sum := int64(0)
				for i := range live {
					sum += admitted[charge{at.key, at.seq + i}]
				}
				if sum > limit {
					t.Fatalf("key %d: %d admitted from slot %d on, limit %d", at.key, sum, at.seq, limit)
				}
				if sum > limit-4 {
					full++
				}
			}
			if full == 0 {
				t.Error("the limit was never reached, so nothing was tried")
			}
			if s := k.Stats(); c.MaxKeys != 0 && s.Overflows < 1000 {
				t.Errorf("%+v: there was room", s)
			}
			if grown.Load() <= 16 && c.MaxKeys == 0 {
				t.Errorf("the table had %d slots at most: it never grew", grown.Load())
			}
			k.Maintain(clock.Load() + int64(c.Interval) + int64(2*width))
			if s := k.Stats(); s.Keys != 0 || s.Slots != 0 || c.Budget.Used() != 0 {
				t.Errorf("after all has left: %+v, %d of the budget used", s, c.Budget.Used())
			}
		})
	}
}
