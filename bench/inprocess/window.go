package inprocess

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/pkg/window"
)

// tick is the virtual time between two calls of a window: rotations are in the figure as often as at ten
// million calls a second.
const tick = 100

// casLoop is the least that admits exactly: it reads one word, compares it with a limit and swaps it.
// No other word shares its cache line.
type casLoop struct {
	_    [64]byte
	word atomic.Uint64
	_    [64]byte
}

// admit is called as a window is, not inlined.
//
//go:noinline
func (c *casLoop) admit(n, limit uint64) bool {
	for {
		w := c.word.Load()
		if w+n > limit {
			return false
		}
		if c.word.CompareAndSwap(w, w+n) {
			return true
		}
	}
}

func windows(ctx context.Context, o Options, f *Figures) error {
	const slots = 10
	admits, err := window.NewLeapArray(epoch, slots, time.Second, window.Aligned)
	if err != nil {
		return err
	}
	refuses, err := window.NewLeapArray(epoch, slots, time.Second, window.Aligned)
	if err != nil {
		return err
	}
	var cas casLoop
	var wrong bool
	toAdmit, toRefuse := int64(epoch), int64(epoch)
	err = series(ctx, o, map[*[]float64]func(int){
		&f.CAS: func(int) { wrong = !cas.admit(1, 1<<62) || wrong },
		&f.Admit: func(int) {
			toAdmit += tick
			_, r := admits.TryAcquire(toAdmit, 1, window.MaxLimit)
			wrong = !r.OK || wrong
		},
		&f.Refuse: func(int) {
			toRefuse += tick
			_, r := refuses.TryAcquire(toRefuse, 1, 0)
			wrong = r.OK || wrong
		},
	})
	if err == nil && wrong {
		err = errors.New("a window admitted what it should not, or refused what it should not")
	}
	return err
}

// keyTable measures a table of the small form, which is that of a user's rule: admissions to Options.Table
// keys in no order that a cache could follow, and its bytes once it is filled to 70 %.
func keyTable(ctx context.Context, o Options, f *Figures) error {
	const limit = 10_000_000
	t, err := window.NewKeyTable(epoch, window.KeyTableConfig{SampleCount: 2, Interval: time.Hour, Layout: window.LayoutWord})
	if err != nil {
		return err
	}
	for i := range o.Table {
		t.TryAcquire(epoch, key(i), 1, limit)
	}
	next, refused := 0, false
	err = series(ctx, o, map[*[]float64]func(int){&f.KeyAdmit: func(int) {
		_, r := t.TryAcquire(epoch, key(next), 1, limit)
		refused = !r.OK || refused
		if next++; next == o.Table {
			next = 0
		}
	}})
	if err != nil {
		return err
	}
	s := t.Stats()
	for i := o.Table; 10*s.Keys < 7*s.Slots; s = t.Stats() {
		t.TryAcquire(epoch, key(i), 1, limit)
		i++
	}
	if refused || s.Overflows > 0 {
		return errors.New("a key found no room")
	}
	f.KeyBytes = float64(s.Bytes) / float64(s.Keys)
	return nil
}

// key returns a key as KeyTable.Hash would for some value: its bits are spread by the finalizer of
// SplitMix64.
func key(i int) window.Key {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return window.Key(z ^ z>>31)
}
