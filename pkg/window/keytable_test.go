package window

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// smallKeyTable returns a table of one shard with 16 slots that cannot grow.
func smallKeyTable(t rapid.TB, now int64, c KeyTableConfig) *KeyTable {
	t.Helper()
	return shapedKeyTable(t, now, c, tableSize{1, 2, 2})
}

func shapedKeyTable(t rapid.TB, now int64, c KeyTableConfig, s tableSize) *KeyTable {
	t.Helper()
	k, err := newKeyTable(now, c, s)
	if err != nil {
		t.Fatalf("newKeyTable(%+v): %v", c, err)
	}
	return k
}

// layouts are windows that fit both layouts, under each.
func layouts() map[string]KeyTableConfig {
	return map[string]KeyTableConfig{
		"word": {SampleCount: 2, Interval: time.Second, Layout: LayoutWord},
		"wide": {SampleCount: 2, Interval: time.Second, Layout: LayoutWide},
	}
}

func TestKeyTableShape(t *testing.T) {
	t.Parallel()
	ok := KeyTableConfig{SampleCount: 2, Interval: time.Second}
	for name, test := range map[string]struct {
		change func(*KeyTableConfig)
		want   error
	}{
		"good":           {func(*KeyTableConfig) {}, nil},
		"one key":        {func(c *KeyTableConfig) { c.MaxKeys = 1 }, nil},
		"no sample":      {func(c *KeyTableConfig) { c.SampleCount = 0 }, ErrShape},
		"many samples":   {func(c *KeyTableConfig) { c.SampleCount, c.Layout = 61, LayoutWide }, ErrShape},
		"no interval":    {func(c *KeyTableConfig) { c.Interval = 0 }, ErrShape},
		"fraction":       {func(c *KeyTableConfig) { c.Interval = 3 * time.Millisecond }, ErrShape},
		"long":           {func(c *KeyTableConfig) { c.Interval = 1 << 62 }, ErrShape},
		"negative keys":  {func(c *KeyTableConfig) { c.MaxKeys = -1 }, ErrMaxKeys},
		"many keys":      {func(c *KeyTableConfig) { c.MaxKeys = MaxMaxKeys + 1 }, ErrMaxKeys},
		"strict word":    {func(c *KeyTableConfig) { c.Mode = Strict }, ErrLayout},
		"word of three":  {func(c *KeyTableConfig) { c.SampleCount, c.Interval = 3, 3*time.Second }, ErrLayout},
		"wide of sixty":  {func(c *KeyTableConfig) { c.SampleCount, c.Interval, c.Layout = 60, time.Minute, LayoutWide }, nil},
		"strict, single": {func(c *KeyTableConfig) { c.SampleCount, c.Mode = 1, Strict }, nil},
	} {
		c := ok
		test.change(&c)
		k, err := NewKeyTable(epoch, c)
		if !errors.Is(err, test.want) || (err == nil) != (k != nil) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

func TestLayoutFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		sampleCount int
		mode        Mode
		limit       int64
		want        Layout
	}{
		{1, Aligned, 1, LayoutWord},
		{2, Aligned, 1<<24 - 1, LayoutWord},
		{2, Aligned, 1 << 24, LayoutWide},
		{1, Strict, 5, LayoutWord},
		{2, Strict, 5, LayoutWide},
		{3, Aligned, 5, LayoutWide},
	} {
		if got := LayoutFor(test.sampleCount, test.mode, test.limit); got != test.want {
			t.Errorf("LayoutFor(%d, %d, %d) = %d, want %d", test.sampleCount, test.mode, test.limit, got, test.want)
		}
	}
}

func TestKeyTableEdges(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := smallKeyTable(t, epoch, c)
			key := k.Hash("a")
			for _, test := range []struct{ n, limit, remaining int64 }{
				{0, 5, 5}, {-1, 5, 5}, {6, 5, 5}, {1, 0, 0}, {1, -5, 0}, {1 << 62, 5, 5}, {-1 << 63, 5, 5}, {1<<63 - 1, 5, 5},
			} {
				want := Result{Remaining: test.remaining}
				if got := k.Peek(epoch, key, test.n, test.limit); got != want {
					t.Errorf("Peek(%d, %d) = %+v, want %+v", test.n, test.limit, got, want)
				}
				if p, got := k.TryAcquire(epoch, key, test.n, test.limit); got != want || p != (KeyPermit{}) {
					t.Errorf("TryAcquire(%d, %d) = %+v, %+v, want %+v", test.n, test.limit, p, got, want)
				}
			}
			k.Release(epoch, key, 5)
			k.Refund(epoch, KeyPermit{})
			if got := k.Stats().Keys; got != 0 {
				t.Errorf("%d entries, want none: refusals take none", got)
			}
			if _, r := k.TryAcquire(epoch, key, 3, 5); r != (Result{OK: true, Remaining: 2}) {
				t.Errorf("TryAcquire(3, 5) = %+v", r)
			}
			if r := k.Peek(epoch, key, 1<<63-1, 5); r != (Result{Remaining: 2}) {
				t.Errorf("Peek(2^63-1, 5) = %+v", r)
			}
			if r := k.Peek(epoch, key, 1, 2); r != (Result{}) {
				t.Errorf("Peek(1, 2) with 3 charged = %+v", r)
			}
			k.Release(epoch, key, 1<<63-1)
			k.Release(epoch, key, -1)
			if r := k.Peek(epoch, key, 5, 5); r != (Result{OK: true, Remaining: 5}) {
				t.Errorf("Peek(5, 5) after a great release = %+v", r)
			}
			checkTable(t, &k.table)
		})
	}
}

// TestKeyTableLargestLimit fills a window to the largest limit of each layout.
func TestKeyTableLargestLimit(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		want := int64(MaxLimit)
		if c.Layout == LayoutWord {
			want = 1<<24 - 1
		}
		k := smallKeyTable(t, epoch, c)
		k.TryAcquire(epoch, 1, 1000, want)
		now := epoch + int64(c.Interval)/2
		if _, r := k.TryAcquire(now, 1, want-1000, 1<<62); r != (Result{OK: true}) {
			t.Errorf("%s: %+v, want room for %d", name, r, want-1000)
		}
		if _, r := k.TryAcquire(now, 1, 1, 1<<62); r != (Result{}) {
			t.Errorf("%s: %+v above the largest limit", name, r)
		}
		if r := k.Peek(now+int64(c.Interval)/2, 1, 1000, 1<<62); r != (Result{OK: true, Remaining: 1000}) {
			t.Errorf("%s: %+v when the first slot has left", name, r)
		}
		if d, ok := k.Until(now, 1, 1, 1<<62); d != c.Interval/2 || !ok {
			t.Errorf("%s: Until = %v, %v", name, d, ok)
		}
	}
}

func TestKeyTableHash(t *testing.T) {
	t.Parallel()
	c := layouts()["word"]
	k, other := smallKeyTable(t, epoch, c), smallKeyTable(t, epoch, c)
	if first := k.Hash("a"); first != k.Hash("a") || first == k.Hash("b") || k.Hash("") == k.MissingKey() {
		t.Error("equal values have equal keys, other values others")
	}
	long := strings.Repeat("x", 1<<16)
	if k.Hash(long+"a") == k.Hash(long+"b") {
		t.Error("long values are hashed whole")
	}
	if k.Hash("a") == other.Hash("a") {
		t.Error("two tables share a seed that nobody gave them")
	}
	if pair := k.HashPair("a", "b"); pair != k.HashPair("a", "b") || pair == k.HashPair("b", "a") || pair == k.HashPair("ab", "") || pair == k.HashPair("", "ab") || k.HashPair("a", "a") == k.HashPair("b", "b") {
		t.Error("the key of a pair is that of both, in their order")
	}
	c.Seed = k.seed
	if same := smallKeyTable(t, epoch, c); same.Hash("a") != k.Hash("a") {
		t.Error("two tables with one seed differ")
	}
	if keyOf(0) == 0 || keyOf(0) == missingKey || keyOf(uint64(missingKey)) == missingKey || keyOf(7) != 7 {
		t.Error("a hash stays what it is, unless it is reserved")
	}
	// The key of no value is a key like any other, and the zero key acts as it.
	if _, r := k.TryAcquire(epoch, k.MissingKey(), 2, 3); !r.OK {
		t.Errorf("MissingKey: %+v", r)
	}
	if r := k.Peek(epoch, 0, 1, 3); r != (Result{OK: true, Remaining: 1}) {
		t.Errorf("zero key: %+v", r)
	}
	if r := k.Peek(epoch, k.Hash(""), 1, 3); r != (Result{OK: true, Remaining: 3}) {
		t.Errorf("empty value: %+v", r)
	}
}

// TestKeyTableReleaseReach: a release takes nothing out of slots that have left by its own time,
// though another call, which comes late, still sees them.
func TestKeyTableReleaseReach(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		k := smallKeyTable(t, epoch, c)
		slot := int64(c.Interval) / 2
		k.TryAcquire(epoch, 1, 2, 9)
		k.TryAcquire(epoch+slot, 1, 3, 9)
		for i, want := range []int64{4, 4, 7, 9} {
			if r := k.Peek(epoch+slot, 1, 1, 9); r.Remaining != want {
				t.Errorf("%s: step %d: %d left, want %d", name, i, r.Remaining, want)
			}
			switch i {
			case 0:
				k.Release(epoch+3*slot, 1, 9)
			case 1:
				k.Release(epoch+2*slot, 1, 9)
			case 2:
				k.Release(epoch, 1, 9)
			}
		}
	}
}

// TestKeyTableWritesNothing compares all memory around calls that must not write.
func TestKeyTableWritesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range layouts() {
		k := shapedKeyTable(t, epoch, c, tableSize{1, 1, 4})
		for i := range 6 {
			k.TryAcquire(epoch, testKey(i), 3, 3)
		}
		var before []uint64
		memory := func() []uint64 {
			s := k.shards[0].store.Load()
			m := []uint64{k.latest.Load(), uint64(k.keys.Used()), uint64(k.overflows.Load()), uint64(len(s.groups))}
			for i := range len(s.groups) * groupSlots {
				key, state := s.slot(i)
				m = append(m, key.Load(), state.Load())
			}
			for _, n := range s.side {
				m = append(m, uint64(n))
			}
			return m
		}
		before = memory()
		for i := range 10 {
			for _, now := range []int64{epoch, epoch + int64(c.Interval)/2, epoch + 5*int64(c.Interval)} {
				k.Peek(now, testKey(i), 1, 3)
				k.Until(now, testKey(i), 1, 3)
				k.Reset(now, testKey(i))
				k.TryAcquire(now, testKey(i), 4, 3)
				k.Release(now, testKey(i), 0)
				k.Refund(now, KeyPermit{})
			}
			k.TryAcquire(epoch+int64(c.Interval)/2, testKey(i%6), 1, 3)
			k.Release(epoch, testKey(6+i), 1)
		}
		after := memory()
		for i := range before {
			if before[i] != after[i] {
				t.Errorf("%s: word %d was %#x, is %#x", name, i, before[i], after[i])
			}
		}
	}
}

func TestKeyTableLayout(t *testing.T) {
	t.Parallel()
	if got := unsafe.Sizeof(group{}); got != 2*cacheLine {
		t.Errorf("a group takes %d bytes, want %d", got, 2*cacheLine)
	}
	if got := unsafe.Sizeof(shard{}); got != cacheLine {
		t.Errorf("a shard takes %d bytes, want %d", got, cacheLine)
	}
}

func TestKeyTableAllocatesNothing(t *testing.T) {
	for name, c := range layouts() {
		k := smallKeyTable(t, epoch, c)
		now := epoch
		value := "a value of some length, longer than what fits in a few words"
		if got := testing.AllocsPerRun(1000, func() {
			now += int64(7 * time.Millisecond)
			key := k.Hash(value)
			k.Peek(now, key, 1, 20)
			p, _ := k.TryAcquire(now, key, 1, 20)
			q, _ := k.TryAcquire(now, key, 30, 20)
			k.TryAcquire(now, testKey(int(now/int64(time.Second))), 1, 20)
			k.Until(now, key, 20, 20)
			k.Reset(now, key)
			k.Refund(now, p)
			k.Refund(now, q)
			k.Release(now, key, 1)
			k.Maintain(now)
			k.Stats()
		}); got != 0 {
			t.Errorf("%s: %v allocations, want 0", name, got)
		}
	}
}
