//go:build interleave

package window

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// These tests set the scheduler of step.go, so none of them is parallel.
//
// A call on a table makes dozens of accesses, too many to try all orders of three calls. Tried is
// every order in which a thread is interrupted, while it could have gone on, at most so many times
// in all: what goes wrong in any order mostly goes wrong in one of few interruptions.

// crossing is a moment of an order: the threads that may go on, and which of them does.
type crossing struct {
	options []int
	taken   int
}

// switches runs every order with at most bound interruptions. start makes a fresh state and returns
// the threads, what must hold at any moment and what must hold at the end.
func switches(bound int, start func() (bodies []func(), during, after func() error)) (orders int, err error) {
	var way []crossing
	for {
		if err := follow(&way, bound, start); err != nil {
			var order []int
			for _, c := range way {
				order = append(order, c.options[c.taken])
			}
			return orders, fmt.Errorf("order %d, threads %v: %w", orders, order, err)
		}
		orders++
		for len(way) > 0 && way[len(way)-1].taken == len(way[len(way)-1].options)-1 {
			way = way[:len(way)-1]
		}
		if len(way) == 0 {
			return orders, nil
		}
		way[len(way)-1].taken++
	}
}

// wait is what a parked thread waits for: a mutex, or nothing but its turn.
type wait struct {
	mu    *sync.Mutex
	ended bool
}

func (w wait) over() bool {
	if w.ended {
		return false
	}
	if w.mu == nil {
		return true
	}
	if !w.mu.TryLock() {
		return false
	}
	w.mu.Unlock()
	return true
}

// follow goes way from a fresh state, and from its end on takes the first option at every crossing,
// which it adds to way.
func follow(way *[]crossing, bound int, start func() ([]func(), func() error, func() error)) error {
	bodies, during, after := start()
	resume := make([]func() wait, len(bodies))
	parked := make([]wait, len(bodies))
	for i, body := range bodies {
		var park func(*atomic.Uint64, *sync.Mutex)
		next, stop := iter.Pull(func(yield func(wait) bool) {
			park = func(_ *atomic.Uint64, mu *sync.Mutex) { yield(wait{mu: mu}) }
			turn = park
			body()
		})
		defer stop()
		resume[i] = func() wait {
			turn = park
			w, more := next()
			turn = nil
			w.ended = !more
			return w
		}
		parked[i] = resume[i]()
	}
	running, interruptions := -1, 0
	for depth := 0; ; depth++ {
		if err := during(); err != nil {
			return errors.Join(err, finish(parked, resume))
		}
		if depth == len(*way) {
			var options []int
			goesOn := running >= 0 && parked[running].over()
			if goesOn {
				options = append(options, running)
			}
			for i, w := range parked {
				if w.over() && i != running && (!goesOn || interruptions < bound) {
					options = append(options, i)
				}
			}
			if len(options) == 0 {
				if slices.ContainsFunc(parked, func(w wait) bool { return !w.ended }) {
					return errors.New("deadlock")
				}
				return after()
			}
			*way = append(*way, crossing{options: options})
		}
		c := (*way)[depth]
		next := c.options[c.taken]
		if running >= 0 && next != running && parked[running].over() {
			interruptions++
		}
		running = next
		parked[running] = resume[running]()
	}
}

// finish brings all threads to their end.
func finish(parked []wait, resume []func() wait) error {
	for slices.ContainsFunc(parked, wait.over) {
		for i := range parked {
			for parked[i].over() {
				parked[i] = resume[i]()
			}
		}
	}
	return nil
}

// keyScript is what one thread does, at a time given in slots after the start.
type keyScript struct {
	op   string // acquire, cancel (acquire, then refund), release, maintain, grow, shrink, hasty
	key  int
	slot int64
}

// keyScene is a small table and the threads that use it at once.
type keyScene struct {
	layout  Layout
	small   bool // it does not grow, so that keys find no room
	limit   int64
	before  []keyScript
	threads []keyScript
}

// keyPlay is one run of a scene.
type keyPlay struct {
	keyScene
	t        *KeyTable
	admitted map[int]map[uint64]int64 // by key and slot; of a cancelled call until its refund starts
	released map[int]bool
}

func (s keyScene) explore(bound int) (int, error) {
	return switches(bound, func() ([]func(), func() error, func() error) {
		p := &keyPlay{keyScene: s, admitted: map[int]map[uint64]int64{}, released: map[int]bool{}}
		c := KeyTableConfig{SampleCount: 2, Interval: 2 * sceneKeyWidth, Layout: s.layout}
		size := tableSize{1, 1, 2}
		if s.small {
			size.most = 1
		}
		t, err := newKeyTable(sceneKeyStart, c, size)
		if err != nil {
			panic(err)
		}
		p.t = t
		for _, k := range s.before {
			p.perform(k)
		}
		var bodies []func()
		for _, k := range s.threads {
			bodies = append(bodies, func() { p.perform(k) })
		}
		return bodies, p.during, p.after
	})
}

const (
	sceneKeyWidth = time.Millisecond
	// sceneKeyStart is in the last slot before the tags wrap.
	sceneKeyStart = (epoch/int64(sceneKeyWidth)>>16+1)<<16*int64(sceneKeyWidth) - 1
)

func (p *keyPlay) perform(k keyScript) {
	now := sceneKeyStart + k.slot*int64(sceneKeyWidth)
	key := testKey(k.key)
	sh := &p.t.shards[0]
	switch k.op {
	case "acquire", "cancel", "hasty":
		acquire := p.t.TryAcquire
		if k.op == "hasty" {
			acquire = p.hasty
		}
		permit, r := acquire(now, key, 1, p.limit)
		if !r.OK {
			return
		}
		if p.admitted[k.key] == nil {
			p.admitted[k.key] = map[uint64]int64{}
		}
		p.admitted[k.key][permit.seq]++
		if k.op == "cancel" {
			p.admitted[k.key][permit.seq]--
			p.released[k.key] = true
			p.t.Refund(now, permit)
		}
	case "release":
		p.released[k.key] = true
		p.t.Release(now, key, 1)
	case "maintain":
		p.t.Maintain(now)
	case "grow", "shrink":
		lock(&sh.mu)
		n := 1
		if k.op == "grow" {
			n = 2
		}
		sh.resize(n, p.t.form)
		sh.mu.Unlock()
	}
}

// hasty is a TryAcquire of a key with an entry that asks for the slot before it loads the state.
func (p *keyPlay) hasty(now int64, k Key, n, limit int64) (KeyPermit, Result) {
	seq := p.t.seq(p.t.own(now))
	state, w := p.t.shards[0].read(k)
	at := p.t.form.wordAt(w, seq)
	r := answer(wordTotal(at), n, limit)
	if !r.OK {
		return KeyPermit{}, r
	}
	p.t.advance(seq)
	step(state)
	if !state.CompareAndSwap(w, at+uint64(n)) {
		return KeyPermit{}, Result{}
	}
	return KeyPermit{key: k, seq: seq, n: n}, r
}

// during: no state is ahead of the table's clock, and nothing is admitted beyond the limit.
func (p *keyPlay) during() error {
	s := p.t.shards[0].store.Load()
	for i := range len(s.groups) * groupSlots {
		_, state := s.slot(i)
		if w := state.Load(); w != vacant && p.layout == LayoutWord && wordAge(w, p.t.latest.Load()) > 1<<15 {
			return fmt.Errorf("state %#x is ahead of the clock", w)
		}
	}
	for key, slots := range p.admitted {
		for seq, n := range slots {
			if sum := n + slots[seq+1]; sum > p.limit && !p.released[key] {
				return fmt.Errorf("key %d: %d admitted in two slots", key, sum)
			}
		}
	}
	return nil
}

// after: the table holds what was admitted and still counts, no more and no less.
func (p *keyPlay) after() error {
	latest := p.t.latest.Load()
	for key, slots := range p.admitted {
		if p.released[key] && slices.ContainsFunc(p.threads, func(k keyScript) bool { return k.op == "release" }) {
			continue
		}
		want := p.limit - slots[latest] - slots[latest-1]
		r := p.t.Peek(sceneKeyStart, testKey(key), 1, p.limit)
		// An entry keeps what it took over from the sketch, though it was given back there since.
		if r.Remaining != want && !(p.small && p.released[key] && r.Remaining < want) {
			return fmt.Errorf("key %d: %+v at the end, want %d left", key, r, want)
		}
	}
	return checkAtRest(p.t)
}

// checkAtRest is checkKeyTable for a caller without a test at hand.
func checkAtRest(t *KeyTable) (err error) {
	entries := int64(0)
	sh := &t.shards[0]
	s := sh.store.Load()
	seen := map[uint64]bool{}
	for i := range len(s.groups) * groupSlots {
		key, state := s.slot(i)
		k := key.Load()
		if (k == 0) != (state.Load() == vacant) {
			return fmt.Errorf("slot %d has key %#x and state %#x", i, k, state.Load())
		}
		if k == 0 {
			continue
		}
		if seen[k] {
			return fmt.Errorf("key %#x has two entries", k)
		}
		seen[k] = true
		entries++
	}
	if entries != sh.keys || entries != t.keys.Used() {
		return fmt.Errorf("%d entries, counted %d and %d", entries, sh.keys, t.keys.Used())
	}
	return nil
}

// full fills the one group but for its first entries: keys 100 and on, charged in the slot.
func full(slot int64, first ...keyScript) []keyScript {
	for len(first) < groupSlots {
		first = append(first, keyScript{"acquire", 100 + len(first), slot})
	}
	return first
}

// TestInterleaveKeyTable tries the races between calls on an entry and those that make it, hand it
// on, drop it and move it.
func TestInterleaveKeyTable(t *testing.T) {
	a0 := keyScript{"acquire", 0, 0}
	for _, s := range []keyScene{
		// Both make the entry.
		{limit: 1, threads: []keyScript{{"acquire", 0, 0}, {"acquire", 0, 1}, {"acquire", 0, 2}}},
		{limit: 2, threads: []keyScript{{"cancel", 0, 0}, {"acquire", 0, 1}, {"release", 0, 0}}},
		// The entry has expired: it is charged anew, by one who is late too, or handed on.
		{limit: 1, before: full(1, a0), threads: []keyScript{{"acquire", 0, 2}, {"acquire", 1, 2}, {"acquire", 0, 1}}},
		{limit: 2, before: full(1, a0), threads: []keyScript{{"acquire", 0, 0}, {"acquire", 1, 2}, {"cancel", 0, 2}}},
		{limit: 2, before: full(1, a0), threads: []keyScript{{"acquire", 1, 2}, {"acquire", 2, 2}, {"acquire", 0, 3}}},
		// It is dropped, while late callers come back to it.
		{limit: 1, before: []keyScript{a0}, threads: []keyScript{{"maintain", 0, 2}, {"acquire", 0, 1}, {"acquire", 0, 2}}},
		{limit: 1, before: []keyScript{a0}, threads: []keyScript{{"maintain", 0, 2}, {"acquire", 0, 1}, {"acquire", 0, 1}}},
		{limit: 2, before: []keyScript{a0}, threads: []keyScript{{"maintain", 0, 1}, {"cancel", 0, 1}, {"acquire", 0, 2}}},
		// It is moved.
		{limit: 2, before: []keyScript{a0}, threads: []keyScript{{"grow", 0, 0}, {"acquire", 0, 0}, {"cancel", 0, 1}}},
		{limit: 2, before: []keyScript{a0}, threads: []keyScript{{"grow", 0, 0}, {"shrink", 0, 0}, {"acquire", 0, 1}}},
		{limit: 1, before: []keyScript{a0}, threads: []keyScript{{"grow", 0, 0}, {"release", 0, 0}, {"acquire", 0, 1}}},
		{limit: 1, before: full(0), threads: []keyScript{{"acquire", 1, 0}, {"acquire", 101, 1}, {"acquire", 1, 1}}},
		// It finds no room, is counted in the sketch, and takes the entry of another that has expired.
		{small: true, limit: 1, before: full(0), threads: []keyScript{{"acquire", 1, 0}, {"acquire", 1, 1}, {"acquire", 1, 2}}},
		{small: true, limit: 2, before: full(0), threads: []keyScript{{"cancel", 1, 1}, {"acquire", 1, 1}, {"acquire", 1, 2}}},
		{small: true, limit: 1, before: full(0), threads: []keyScript{{"acquire", 1, 1}, {"acquire", 101, 2}, {"acquire", 1, 2}}},
		{small: true, limit: 1, before: full(1, a0), threads: []keyScript{{"acquire", 1, 1}, {"acquire", 0, 1}, {"acquire", 1, 2}}},
		{small: true, limit: 1, before: full(0, keyScript{"acquire", 1, 0}), threads: []keyScript{{"maintain", 0, 2}, {"acquire", 2, 1}, {"acquire", 2, 2}}},
		{small: true, limit: 2, before: append(full(0), keyScript{"acquire", 1, 0}), threads: []keyScript{{"maintain", 0, 2}, {"acquire", 1, 1}, {"cancel", 1, 2}}},
	} {
		for _, layout := range []Layout{LayoutWord, LayoutWide} {
			s.layout = layout
			n, err := s.explore(2)
			if err != nil {
				t.Errorf("%+v: %v", s, err)
			}
			t.Logf("layout %d, %v: %d orders", layout, s.threads, n)
		}
	}
}

// TestInterleaveKeyTableFindsKnownFault: the scheduler would notice.
func TestInterleaveKeyTableFindsKnownFault(t *testing.T) {
	s := keyScene{limit: 1, before: []keyScript{{"acquire", 0, 0}}, threads: []keyScript{{"hasty", 0, 1}, {"acquire", 0, 2}}}
	_, err := s.explore(2)
	if err == nil || !strings.Contains(err.Error(), "admitted") {
		t.Errorf("err = %v, want that too many were admitted", err)
	}
	t.Log(err)
}
