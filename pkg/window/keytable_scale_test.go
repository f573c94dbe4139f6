package window

import (
	"runtime"
	"testing"
	"time"
)

// TestKeyTableBytesPerKey holds a table of default size to its memory at a load of 70 %, and Stats
// to the truth.
func TestKeyTableBytesPerKey(t *testing.T) {
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
