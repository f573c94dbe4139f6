package window

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// smallKeyInflight returns a table of one shard with 16 slots that cannot grow.
func smallKeyInflight(c KeyInflightConfig) *KeyInflight {
	return newKeyInflight(c, tableSize{1, 2, 2})
}

func TestKeyInflightTwin(t *testing.T) {
	t.Parallel()
	type admitted struct {
		calls KeyCalls
		id    int64
	}
	rapid.Check(t, func(t *rapid.T) {
		c := KeyInflightConfig{
			MaxKeys:  rapid.SampledFrom([]int{3, 12, 1000}).Draw(t, "maxKeys"),
			Overflow: rapid.SampledFrom([]Overflow{OverflowSketch, OverflowBlock, OverflowAllow}).Draw(t, "overflow"),
		}
		if rapid.Bool().Draw(t, "budget") {
			c.Budget = &KeyBudget{Max: 10}
		}
		a := newKeyInflight(c, rapid.SampledFrom([]tableSize{{1, 2, 2}, {1, 1, 1}, {1, 1, 7}, {2, 1, 3}}).Draw(t, "size"))
		twins := map[int]*twin.Inflight{}
		live := map[int][]admitted{}
		keys := rapid.SampledFrom([]int{3, 20, 60}).Draw(t, "keys")
		sum := int64(0)
		for i := range rapid.IntRange(1, 150).Draw(t, "calls") {
			id := rapid.IntRange(0, keys-1).Draw(t, "key")
			b := twins[id]
			if b == nil {
				b = &twin.Inflight{}
				twins[id] = b
			}
			switch op := rapid.SampledFrom([]string{"acquire", "acquire", "acquire", "release", "release", "maintain"}).Draw(t, "op"); {
			case op == "maintain":
				a.Maintain(epoch)
			case op == "release" && len(live[id]) > 0:
				one := live[id][0]
				live[id] = live[id][1:]
				sum -= int64(one.calls.n)
				a.Release(one.calls)
				b.End(one.id)
			case op == "acquire":
				n, limit := rapid.Int64Range(0, 4).Draw(t, "n"), rapid.Int64Range(0, 6).Draw(t, "limit")
				peek := a.Peek(testKey(id), n, limit)
				before := b.Current()
				slots := a.Stats().Slots
				calls, r := a.TryAcquire(testKey(id), n, limit)
				want := Result{Remaining: max(limit-before, 0)}
				if want.OK = n >= 1 && before+n <= limit; want.OK {
					want.Remaining -= n
				}
				if calls.Counted() != (r.OK && (!r.Untracked || c.Overflow == OverflowSketch)) {
					t.Fatalf("call %d: %+v, but its calls are %+v", i, r, calls)
				}
				if peek.OK != r.OK && slots == a.Stats().Slots {
					t.Fatalf("call %d: Peek = %+v, then TryAcquire %+v", i, peek, r)
				}
				exact := !r.Untracked && !a.over.used.Load()
				switch {
				case exact && r != want:
					t.Fatalf("call %d: TryAcquire = %+v, want %+v", i, r, want)
				case calls.Counted() && !want.OK:
					t.Fatalf("call %d: key %d has %d of %d under way and got %d more: %+v", i, id, before, limit, n, r)
				case c.Overflow == OverflowBlock && r.Untracked && r.OK:
					t.Fatalf("call %d: let in without room", i)
				}
				if calls.Counted() {
					b.TryAcquire(int64(i), n, limit)
					live[id] = append(live[id], admitted{calls, int64(i)})
					sum += n
				}
			}
			if a.Current() != sum {
				t.Fatalf("call %d: %d under way, want %d", i, a.Current(), sum)
			}
		}
		for _, rest := range live {
			for _, one := range rest {
				a.Release(one.calls)
			}
		}
		a.Maintain(epoch)
		if st := a.Stats(); a.Current() != 0 || st.Keys != 0 || a.over.used.Load() || c.Budget.Used() != 0 {
			t.Fatalf("after all have ended %d are under way, %+v, sketch in use: %v, budget %d", a.Current(), st, a.over.used.Load(), c.Budget.Used())
		}
	})
}

// TestKeyInflightKeepsWhatIsUnderWay: however many other keys come, and whatever is cleared
// meanwhile, a key with a call under way keeps its count; once the call has ended its place is free.
func TestKeyInflightKeepsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	a := smallKeyInflight(KeyInflightConfig{Overflow: OverflowBlock})
	held, r := a.TryAcquire(testKey(0), 1, 1)
	if !r.OK {
		t.Fatal("the first is refused")
	}
	for i := 1; i < 1000; i++ {
		calls, r := a.TryAcquire(testKey(i), 1, 1)
		if i%7 == 0 {
			a.Maintain(epoch)
		}
		if !r.OK {
			t.Fatalf("key %d finds no room, though the calls of all others but one have ended", i)
		}
		a.Release(calls)
		if a.Peek(testKey(0), 1, 1).OK {
			t.Fatalf("forgotten when key %d came", i)
		}
	}
	a.Release(held)
	if got := a.Peek(testKey(0), 1, 1); got != (Result{OK: true, Remaining: 1}) {
		t.Errorf("after its end: %+v", got)
	}
}

// TestKeyInflightOverflow: keys beyond the table are bounded as those in it are, and what they have
// under way goes on counting when they find room.
func TestKeyInflightOverflow(t *testing.T) {
	t.Parallel()
	a := smallKeyInflight(KeyInflightConfig{})
	var entries []KeyCalls
	i := 0
	for ; ; i++ {
		calls, r := a.TryAcquire(testKey(i), 1, 2)
		if r.Untracked {
			a.Release(calls)
			break
		}
		entries = append(entries, calls)
	}
	late := testKey(i)
	first, r1 := a.TryAcquire(late, 1, 2)
	second, r2 := a.TryAcquire(late, 1, 2)
	_, r3 := a.TryAcquire(late, 1, 2)
	if !r1.OK || !r2.OK || r3.OK || !r1.Untracked || !r3.Untracked {
		t.Fatalf("in the sketch: %+v, %+v, %+v", r1, r2, r3)
	}
	for _, calls := range entries {
		a.Release(calls)
	}
	a.Maintain(epoch)
	if a.Peek(late, 1, 2).OK {
		t.Error("what the key has under way was forgotten when there was room for it")
	}
	a.Release(first)
	third, r := a.TryAcquire(late, 1, 2)
	if r != (Result{OK: true}) || third.sketched {
		t.Errorf("with room and one in the sketch: %+v, %+v", r, third)
	}
	a.Release(second)
	a.Release(third)
	a.Maintain(epoch)
	if a.Current() != 0 || a.over.used.Load() || a.Stats().Keys != 0 {
		t.Errorf("at the end %d are under way, %+v", a.Current(), a.Stats())
	}
	a.Release(KeyCalls{})
	if a.Current() != 0 {
		t.Error("the zero KeyCalls released something")
	}
}

// TestKeyInflightConcurrent: callers of a few keys in a table that has no room for all of them.
func TestKeyInflightConcurrent(t *testing.T) {
	t.Parallel()
	a := newKeyInflight(KeyInflightConfig{}, tableSize{2, 1, 1})
	const keys, limit = 40, 3
	var mu sync.Mutex
	under := make([]int64, keys)
	done := make(chan struct{})
	var sweep sync.WaitGroup
	sweep.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				a.Maintain(epoch)
			}
		}
	})
	inFlight(t, func() func() {
		k := rand.IntN(keys)
		calls, r := a.TryAcquire(testKey(k), 1, limit)
		if !r.OK {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if under[k]++; under[k] > limit {
			t.Errorf("key %d has %d under way", k, under[k])
		}
		return func() {
			mu.Lock()
			under[k]--
			mu.Unlock()
			a.Release(calls)
		}
	}, a.Current, goroutines)
	close(done)
	sweep.Wait()
	a.Maintain(epoch)
	if a.Current() != 0 || a.Stats().Keys != 0 || a.over.used.Load() {
		t.Errorf("at the end %d are under way, %+v", a.Current(), a.Stats())
	}
}

func TestKeyInflightLayout(t *testing.T) {
	t.Parallel()
	a, err := NewKeyInflight(KeyInflightConfig{MaxKeys: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Stats().MaxBytes, (KeyInflightConfig{MaxKeys: 1 << 16}).MaxBytes(); got != want {
		t.Errorf("Stats().MaxBytes = %d, configured %d", got, want)
	}
	if _, err := NewKeyInflight(KeyInflightConfig{MaxKeys: MaxMaxKeys + 1}); err != ErrMaxKeys {
		t.Errorf("too many keys: %v", err)
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestKeyInflightAllocatesNothing(t *testing.T) {
	for name, a := range map[string]*KeyInflight{
		"entry":  smallKeyInflight(KeyInflightConfig{}),
		"sketch": smallKeyInflight(KeyInflightConfig{MaxKeys: 1}),
	} {
		if name == "sketch" {
			a.TryAcquire(testKey(1), 1, 1) // the only entry
			a.TryAcquire(testKey(2), 1, 1) // the first without room, for which the sketch is made
		}
		if got := testing.AllocsPerRun(1000, func() {
			calls, r := a.TryAcquire(testKey(3), 1, 1)
			if !r.OK {
				panic(fmt.Sprint(name, r))
			}
			a.Peek(testKey(3), 1, 1)
			a.Release(calls)
		}); got != 0 {
			t.Errorf("%s: %v allocations", name, got)
		}
	}
}

func BenchmarkKeyInflight(b *testing.B) {
	a, err := NewKeyInflight(KeyInflightConfig{})
	if err != nil {
		b.Fatal(err)
	}
	i := 0
	for b.Loop() {
		calls, _ := a.TryAcquire(testKey(i&0xffff), 1, 10)
		a.Release(calls)
		i++
	}
}
