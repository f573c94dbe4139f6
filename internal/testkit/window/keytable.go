package window

import "time"

// KeyTable is the twin of window.KeyTable: a map without bounds that forgets nothing. Of each key
// it knows how much every slot since the beginning was charged.
type KeyTable struct {
	width  int64
	live   int64 // slots that count
	newest int64 // slot: the table's clock
	keys   map[string]map[int64]int64
}

// NewKeyTable returns an empty table of windows of sampleCount slots, or one more if strict.
func NewKeyTable(now int64, sampleCount int, interval time.Duration, strict bool) *KeyTable {
	t := &KeyTable{width: int64(interval) / int64(sampleCount), live: int64(sampleCount), keys: map[string]map[int64]int64{}}
	if strict {
		t.live++
	}
	t.Maintain(now)
	return t
}

// Maintain moves the table's clock to now. Only that and charges move it.
func (t *KeyTable) Maintain(now int64) { t.newest = t.slot(now) }

// Peek tells what TryAcquire would, with the room there is before.
func (t *KeyTable) Peek(now int64, key string, n, limit int64) (ok bool, remaining int64) {
	room := limit - t.Held(now, key)
	return n > 0 && n <= room, max(room, 0)
}

// TryAcquire charges n if key's window then holds at most limit, and returns the slot that it
// charged and the room left.
func (t *KeyTable) TryAcquire(now int64, key string, n, limit int64) (slot int64, ok bool, remaining int64) {
	ok, remaining = t.Peek(now, key, n, limit)
	if !ok {
		return 0, false, remaining
	}
	t.Maintain(now)
	if t.keys[key] == nil {
		t.keys[key] = map[int64]int64{}
	}
	t.keys[key][t.newest] += n
	return t.newest, true, remaining - n
}

// Refund takes n out of the slot, or all that it holds, unless the slot no longer counts.
func (t *KeyTable) Refund(now int64, key string, slot, n int64) {
	if held := t.keys[key]; held != nil && slot > t.slot(now)-t.live {
		held[slot] -= min(n, held[slot])
	}
}

// Release takes up to n out of key's window, the newest slots first.
func (t *KeyTable) Release(now int64, key string, n int64) {
	held := t.keys[key]
	for s := t.slot(now); s > t.slot(now)-t.live && held != nil; s-- {
		less := min(n, held[s])
		held[s] -= less
		n -= less
	}
}

// Until tries every moment at which something may change.
func (t *KeyTable) Until(now int64, key string, n, limit int64) (time.Duration, bool) {
	if n < 1 || n > limit {
		return 0, false
	}
	if t.Held(now, key)+n <= limit {
		return 0, true
	}
	for s := t.slot(now) + 1; ; s++ {
		if t.Held(s*t.width, key)+n <= limit {
			return time.Duration(s*t.width - now), true
		}
	}
}

// Reset tries every slot from the oldest on.
func (t *KeyTable) Reset(now int64, key string) time.Duration {
	for s := t.slot(now) - t.live + 1; s <= t.slot(now); s++ {
		if t.keys[key][s] > 0 {
			return time.Duration((s+t.live)*t.width - now)
		}
	}
	return 0
}

// Held is what key's window holds.
func (t *KeyTable) Held(now int64, key string) int64 {
	var sum int64
	for s := t.slot(now) - t.live + 1; s <= t.slot(now); s++ {
		sum += t.keys[key][s]
	}
	return sum
}

func (t *KeyTable) slot(now int64) int64 { return max(now/t.width, t.newest) }
