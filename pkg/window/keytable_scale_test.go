package window

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestKeyTableManyValues: 500 000 values do not make the table forget the one that is blocked,
// whether they find room or not.
func TestKeyTableManyValues(t *testing.T) {
	t.Parallel()
	const values, limit = 500_000 / scale, 5
	for name, c := range map[string]KeyTableConfig{
		"all find room":     {Layout: LayoutWord},
		"few do":            {Layout: LayoutWord, MaxKeys: 50_000 / scale},
		"few do, allow":     {Layout: LayoutWord, MaxKeys: 50_000 / scale, Overflow: OverflowAllow},
		"few do, wide":      {Layout: LayoutWide, MaxKeys: 50_000 / scale},
		"some, in 10 slots": {SampleCount: 10, Layout: LayoutWide, MaxKeys: 200_000 / scale},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.SampleCount, c.Interval = max(c.SampleCount, 2), time.Minute
			k, err := NewKeyTable(epoch, c)
			if err != nil {
				t.Fatal(err)
			}
			blocked := k.Hash("blocked")
			for range limit {
				k.TryAcquire(epoch, blocked, 1, limit)
			}
			// The values come over almost one interval, at the end of which the charges still count.
			step := (int64(c.Interval) - 1) / values
			now := epoch
			value := []byte("value ")
			tracked := int64(0)
			for i := range int64(values) {
				now += step
				value = strconv.AppendInt(value[:6], i, 10)
				if _, r := k.TryAcquire(now, k.Hash(string(value)), 1, limit); !r.Untracked {
					tracked++
				} else if c.Overflow == OverflowAllow && !r.OK {
					t.Fatalf("untracked: %+v", r)
				}
				if i%1000 != 0 {
					continue
				}
				if _, r := k.TryAcquire(now, blocked, 1, limit); r != (Result{}) {
					t.Fatalf("after %d values the blocked one got %+v", i, r)
				}
			}
			s := k.Stats()
			most := int64(k.keys.Max)
			if s.Keys != tracked+1 || s.Keys > most || tracked+s.Overflows != values || s.Bytes > s.MaxBytes {
				t.Errorf("%d values tracked, %+v", tracked, s)
			}
			if want := min(most, values+1); s.Keys < want*999/1000 {
				t.Errorf("%d keys, want about %d", s.Keys, want)
			}
			t.Logf("%d keys, %d overflows, %d bytes, %.1f bytes a key, %.0f%% of the slots taken",
				s.Keys, s.Overflows, s.Bytes, float64(s.Bytes)/float64(s.Keys), 100*float64(s.Keys)/float64(s.Slots))
			k.Maintain(now + 2*int64(c.Interval))
			if r := k.Peek(now+2*int64(c.Interval), blocked, limit, limit); !r.OK || r.Untracked {
				t.Errorf("two intervals later it got %+v", r)
			}
		})
	}
}

// TestKeyTableBytesPerKey holds a table of default size to its memory at a load of 70 %, and Stats
// to the truth.
func TestKeyTableBytesPerKey(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	k, err := NewKeyTable(epoch, KeyTableConfig{
		SampleCount: 2, Interval: time.Second, Layout: LayoutWord, MaxKeys: DefaultMaxKeys / scale, Overflow: OverflowBlock,
	})
	if err != nil {
		t.Fatal(err)
	}
	slots := int(k.Stats().MaxBytes / 16)
	for i := range slots * 7 / 10 {
		k.TryAcquire(epoch, testKey(i), 1, 5)
	}
	s := k.Stats()
	if s.Overflows > 5 {
		t.Errorf("%d of %d keys found no room, want next to none: the groups fill unevenly", s.Overflows, slots*7/10)
	}
	used := heap() - before
	runtime.KeepAlive(k)
	perKey := float64(used) / float64(s.Keys)
	t.Logf("%d keys in %d slots, %d found no room: %d bytes by Stats, %d on the heap, %.1f a key",
		s.Keys, s.Slots, s.Overflows, s.Bytes, used, perKey)
	if perKey > 24 {
		t.Errorf("%.1f bytes a key, want at most 24", perKey)
	}
	if off := used - s.Bytes; max(off, -off) > s.Bytes/20+1<<16 {
		t.Errorf("Stats says %d bytes, the heap %d", s.Bytes, used)
	}
}
