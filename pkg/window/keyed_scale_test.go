package window

import (
	"runtime"
	"strconv"
	"testing"
	"time"
)

// TestKeyedManyValues: a million values do not make a table of any kind forget those that are
// blocked, whether they found room or not; its memory stays within what it said, and goes again.
func TestKeyedManyValues(t *testing.T) {
	const values = 1_000_000 / scale
	for _, kind := range keyedKinds() {
		sizes := []int{values / 4}
		if kind.name == "word" {
			sizes = append(sizes, DefaultMaxKeys/scale)
		}
		for _, maxKeys := range sizes {
			t.Run(kind.name+"/"+strconv.Itoa(maxKeys), func(t *testing.T) { manyValues(t, kind, maxKeys, values) })
		}
	}
}

func manyValues(t *testing.T, kind keyedKind, maxKeys, values int) {
	before := heap()
	c := keyedConfig{maxKeys: maxKeys}
	k, table, call := kind.table(t, c)
	fresh := k.Stats()
	exhaust := func(now int64, key Key, want int, untracked bool) {
		t.Helper()
		for i := range want {
			if ok, u := call.acquire(now, key); !ok || u != untracked {
				t.Fatalf("hit %d of %d: %v, untracked %v", i+1, want, ok, u)
			}
		}
	}
	tracked := k.Hash("tracked")
	exhaust(epoch, tracked, kind.limit, false)

	// The values come over almost all of the time for which a value is blocked.
	now, step := epoch, (int64(kind.hold)-1)/int64(values)
	value := []byte("value ")
	var room, admitted int
	var untracked Key // a value that found none
	var since int64
	for i := range values {
		now += step
		value = strconv.AppendInt(value[:6], int64(i), 10)
		key := k.Hash(string(value))
		ok, u := call.acquire(now, key)
		switch {
		case !u:
			room++
		case ok:
			admitted++
		}
		if u && untracked == 0 {
			if !ok {
				t.Fatal("the first value without room is refused, for what nobody did")
			}
			untracked, since = key, now
			exhaust(now, key, kind.sketched-1, true)
		}
		if i%1000 != 0 {
			continue
		}
		if ok, u := call.acquire(now, tracked); ok || u {
			t.Fatalf("after %d values the blocked one got %v, untracked %v", i, ok, u)
		}
		if ok, _ := call.acquire(now, untracked); untracked != 0 && ok && now < since+int64(kind.hold) {
			t.Fatalf("after %d values the one without room passes again", i)
		}
	}
	full := k.Stats()
	used := heap() - before
	runtime.KeepAlive(k)
	most := min(maxKeys, values)
	switch {
	case full.Keys > int64(maxKeys) || full.Keys < int64(most)*999/1000:
		t.Errorf("%+v, want about %d keys", full, most)
	case full.MaxBytes != kind.maxBytes(c) || full.Bytes > full.MaxBytes:
		t.Errorf("%d bytes, of at most %d; the configuration said %d", full.Bytes, full.MaxBytes, kind.maxBytes(c))
	case used > full.MaxBytes*21/20+1<<16:
		t.Errorf("%d bytes on the heap, want at most %d", used, full.MaxBytes)
	case maxKeys < values && untracked == 0:
		t.Error("every value found room, so nothing was tried")
	}

	later := now + 3*int64(time.Minute)
	k.Maintain(later)
	after := k.Stats()
	if after.Keys != 0 || after.Bytes != fresh.Bytes {
		t.Errorf("after Maintain %+v, want no key and %d bytes", after, fresh.Bytes)
	}
	left := heap() - before
	runtime.KeepAlive(k)
	if left > fresh.Bytes*21/20+1<<17 {
		t.Errorf("%d bytes on the heap after Maintain, want about %d", left, fresh.Bytes)
	}
	exhaust(later, tracked, kind.limit, false)
	checkTable(t, table)
	t.Logf("%d values: %d found room, %d passed without, %d refused; bytes: %d empty, %d full of at most %d (heap %d), %d after Maintain (heap %d)",
		values, room, admitted, values-room-admitted, fresh.Bytes, full.Bytes, full.MaxBytes, used, after.Bytes, left)
}
