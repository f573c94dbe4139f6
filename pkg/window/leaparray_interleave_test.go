//go:build interleave

package window

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// These tests set the scheduler of step.go, so none of them is parallel.

// script is what one thread does, at a time given in slots after the start.
type script struct {
	op   string // acquire, cancel (acquire, then refund), release, maintain, hasty
	slot int64
	n    int64
}

func (s script) String() string { return fmt.Sprintf("%s(%d)@%d", s.op, s.n, s.slot) }

// scene is a window and the threads that use it at once.
type scene struct {
	sampleCount int
	mode        Mode
	limit       int64
	before      int64 // charged in the first slot before the threads start
	threads     []script
}

func (s scene) String() string {
	return fmt.Sprintf("%d slots, mode %d, limit %d, before %d, threads %v", s.sampleCount, s.mode, s.limit, s.before, s.threads)
}

const sceneWidth = time.Millisecond

// sceneStart is in the last slot before the sequence numbers wrap.
const sceneStart = (epoch/int64(sceneWidth)>>32+1)<<32*int64(sceneWidth) - 1

// play is one run of a scene.
type play struct {
	scene
	a        *LeapArray
	released int64
	charges  []charge
}

// charge is the result of one admitted acquire.
type charge struct {
	seq      uint32
	n        int64
	refunded bool // or about to be
}

// explore tries every order, tells outcome how each ended, and returns how many it followed to the
// end, and the first error.
func (s scene) explore(merge bool, outcome func(string)) (int, error) {
	var p *play
	var e explorer
	e = explorer{
		merge:   merge,
		threads: len(s.threads),
		start: func() ([]*atomic.Uint64, []func()) {
			p = s.newPlay()
			memory := []*atomic.Uint64{&p.a.word, &p.a.previous}
			for i := range p.a.slots {
				memory = append(memory, &p.a.slots[i])
			}
			var bodies []func()
			for i, t := range s.threads {
				bodies = append(bodies, func() { p.perform(t, func(v uint64) { e.know(i, v) }) })
			}
			return memory, bodies
		},
		during: func() error { return p.during() },
		after: func() error {
			outcome(p.outcome())
			return p.after()
		},
	}
	err := e.run()
	return e.orders, err
}

func (s scene) newPlay() *play {
	a, err := NewLeapArray(sceneStart, s.sampleCount, time.Duration(s.sampleCount)*sceneWidth, s.mode)
	if err != nil {
		panic(err)
	}
	p := &play{scene: s, a: a}
	if s.before > 0 {
		p.perform(script{"acquire", 0, s.before}, func(uint64) {})
	}
	return p
}

// perform does what a script says; know is told what is left of what its calls have seen.
func (p *play) perform(t script, know func(uint64)) {
	now := sceneStart + t.slot*int64(sceneWidth)
	switch t.op {
	case "acquire", "cancel", "hasty":
		acquire := p.a.TryAcquire
		if t.op == "hasty" {
			acquire = p.hasty
		}
		permit, r := acquire(now, t.n, p.limit)
		if !r.OK {
			know(0)
			return
		}
		know(pack(permit.seq, permit.n+1))
		cancel := t.op == "cancel"
		p.charges = append(p.charges, charge{permit.seq, t.n, cancel})
		if !cancel {
			return
		}
		p.a.Refund(now, permit)
	case "release":
		p.released += t.n
		p.a.Release(now, t.n)
	case "maintain":
		p.a.Maintain(now)
	}
	know(1 << 63)
}

// hasty is TryAcquire with the known fault: it takes its charge out of total as soon as it finds
// its slot gone, while word may still show the old sequence.
func (p *play) hasty(now, n, limit int64) (Permit, Result) {
	w := p.a.advance(p.a.seq(now))
	head, total := unpack(w)
	if r := answer(total, n, limit); !r.OK {
		return Permit{}, r
	}
	step(&p.a.word)
	if !p.a.word.CompareAndSwap(w, w+uint64(n)) {
		return Permit{}, Result{}
	}
	slot := &p.a.slots[head&p.a.mask]
	step(slot)
	v := slot.Load()
	if tag, _ := unpack(v); tag == head {
		step(slot)
		if slot.CompareAndSwap(v, v+uint64(n)) {
			return Permit{head, uint32(n)}, Result{OK: true}
		}
	}
	p.a.lower(uint32(n))
	return Permit{seq: head}, Result{OK: true}
}

// admitted sums what was charged to the slots live at head and not given back.
func (p *play) admitted(head uint32) int64 {
	sum := int64(0)
	for _, c := range p.charges {
		if !c.refunded && head-c.seq < p.a.live {
			sum += c.n
		}
	}
	return sum
}

// during holds the invariant: total is at least what the live slots hold, and at least what was
// admitted to them.
func (p *play) during() error {
	head, total := unpack(p.a.word.Load())
	sum := int64(0)
	for i := range p.a.live {
		count, _ := p.a.count(head - i)
		sum += int64(count)
	}
	// A slot that a rotation has taken is still live, and holds nothing.
	if int64(total) < sum {
		return fmt.Errorf("total %d, slots hold %d", total, sum)
	}
	if n := p.admitted(head) - p.released; int64(total) < n {
		return fmt.Errorf("total %d, admitted %d", total, n)
	}
	return nil
}

// after holds the bound, that nothing was lost or left over, and that somebody was let in.
func (p *play) after() error {
	for _, c := range p.charges {
		// Of all runs of live slots, those that end with a slot that was charged hold the most.
		if n := p.admitted(c.seq) - p.released; n > p.limit {
			return fmt.Errorf("%d admitted in the slots up to %d", n, c.seq)
		}
	}
	head, total := unpack(p.a.word.Load())
	sum := int64(0)
	for i := range p.a.live {
		count, ok := p.a.count(head - i)
		if !ok {
			return fmt.Errorf("slot %d of head %d has another tag", head-i, head)
		}
		sum += int64(count)
	}
	if int64(total) != sum {
		return fmt.Errorf("at rest, total is %d, slots hold %d", total, sum)
	}
	if n := p.admitted(head); sum > n || sum < n-p.released {
		return fmt.Errorf("slots hold %d of %d admitted, %d released", sum, n, p.released)
	}
	wants := func(t script) bool { return t.op != "release" && t.op != "maintain" && t.n <= p.limit }
	if len(p.charges) == 0 && slices.ContainsFunc(p.threads, wants) {
		return fmt.Errorf("nobody was admitted to an empty window")
	}
	if r := p.a.Peek(sceneStart+1000*int64(sceneWidth), p.limit, p.limit); !r.OK {
		return fmt.Errorf("only %d of %d fit when all has left", r.Remaining, p.limit)
	}
	return nil
}

// outcome tells what came of an order: the memory, and what stays admitted.
func (p *play) outcome() string {
	lines := []string{fmt.Sprintf("%x", p.a.word.Load())}
	for i := range p.a.slots {
		lines = append(lines, fmt.Sprintf("%x", p.a.slots[i].Load()))
	}
	for _, c := range p.charges {
		if !c.refunded {
			lines = append(lines, fmt.Sprintf("%x+%d", c.seq, c.n))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// TestInterleaveAll tries every choice of three threads out of all that can happen to a window:
// charges, refunds and releases in the first slot, in the next, and so late that all before has
// left, with the others late by as much.
func TestInterleaveAll(t *testing.T) {
	scenes, ends := 0, 0
	for _, shape := range []struct {
		sampleCount int
		mode        Mode
	}{{1, Aligned}, {2, Aligned}, {2, Strict}} {
		live := int64(shape.sampleCount) + int64(shape.mode)
		scripts := []script{
			{"acquire", 0, 1}, {"acquire", live, 1}, {"cancel", 0, 1}, {"cancel", live, 1},
			{"release", 0, 1}, {"release", live, 1}, {"maintain", 10, 0},
		}
		if live > 1 {
			scripts = append(scripts, script{"acquire", 1, 1})
		}
		for i, first := range scripts {
			for j, second := range scripts[i:] {
				for _, third := range scripts[i+j:] {
					for _, room := range []struct{ limit, before int64 }{{1, 0}, {2, 1}} {
						s := scene{shape.sampleCount, shape.mode, room.limit, room.before, []script{first, second, third}}
						n, err := s.explore(true, func(string) {})
						if err != nil {
							t.Fatalf("%v: %v", s, err)
						}
						scenes++
						ends += n
					}
				}
			}
		}
	}
	t.Logf("%d scenes, %d different ends", scenes, ends)
}

// TestInterleaveMany tries the races that take four threads, or hits of more than one.
func TestInterleaveMany(t *testing.T) {
	for _, s := range []scene{
		{1, Aligned, 1, 0, []script{{"acquire", 0, 1}, {"acquire", 0, 1}, {"acquire", 1, 1}, {"acquire", 0, 1}}},
		{1, Aligned, 1, 0, []script{{"acquire", 0, 1}, {"acquire", 1, 1}, {"acquire", 2, 1}, {"acquire", 0, 1}}},
		{1, Aligned, 1, 0, []script{{"acquire", 0, 1}, {"cancel", 0, 1}, {"acquire", 1, 1}, {"acquire", 0, 1}}},
		{1, Aligned, 2, 0, []script{{"cancel", 0, 2}, {"acquire", 1, 1}, {"cancel", 0, 1}, {"acquire", 0, 2}}},
		{1, Strict, 1, 0, []script{{"acquire", 0, 1}, {"acquire", 2, 1}, {"cancel", 1, 1}, {"acquire", 0, 1}}},
		{2, Aligned, 2, 1, []script{{"acquire", 0, 1}, {"cancel", 1, 1}, {"acquire", 2, 2}, {"release", 0, 1}}},
		{2, Aligned, 3, 1, []script{{"acquire", 0, 2}, {"acquire", 3, 3}, {"release", 1, 2}, {"acquire", 0, 3}}},
		{2, Strict, 2, 2, []script{{"acquire", 0, 1}, {"acquire", 3, 1}, {"cancel", 3, 1}, {"acquire", 1, 2}}},
	} {
		n, err := s.explore(true, func(string) {})
		if err != nil {
			t.Errorf("%v: %v", s, err)
		}
		t.Logf("%v: %d different ends", s, n)
	}
}

// TestInterleaveFindsKnownFault: the scheduler would notice.
func TestInterleaveFindsKnownFault(t *testing.T) {
	s := scene{1, Aligned, 1, 0, []script{{"hasty", 0, 1}, {"acquire", 1, 1}, {"acquire", 0, 1}}}
	_, err := s.explore(true, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "admitted") {
		t.Errorf("err = %v, want that too many were admitted", err)
	}
	t.Log(err)
}

// TestInterleaveMerge: following orders that have met only once misses no outcome.
func TestInterleaveMerge(t *testing.T) {
	for _, threads := range [][]script{
		{{"acquire", 0, 1}, {"acquire", 1, 1}},
		{{"cancel", 0, 1}, {"acquire", 1, 1}},
		{{"acquire", 0, 1}, {"acquire", 0, 1}, {"release", 0, 1}},
		{{"acquire", 0, 1}, {"release", 1, 1}},
		{{"cancel", 1, 1}, {"acquire", 2, 1}},
		{{"acquire", 0, 1}, {"release", 0, 1}, {"maintain", 1, 0}},
	} {
		s := scene{1, Aligned, 1, 0, threads}
		every, merged := map[string]bool{}, map[string]bool{}
		all, err := s.explore(false, func(o string) { every[o] = true })
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		some, err := s.explore(true, func(o string) { merged[o] = true })
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		t.Logf("%v: %d orders, %d different ends, %d outcomes", s, all, some, len(every))
		if !maps.Equal(every, merged) || some >= all {
			t.Errorf("%v: outcomes %v of %d orders, but %v of %d merged ones", s, every, all, merged, some)
		}
	}
}
