//go:build interleave

package window

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// explorer runs every order in which the accesses of a few threads can follow each other.
//
// A thread is parked before each of its accesses. The scheduler lets one go, up to its next access,
// and so on until all have ended; then it starts afresh and goes another way. A mutex is offered
// only while it is free, and that nobody can go on is an error.
//
// Without merge that is all. With it, two orders that differ only in accesses of different words that
// follow each other are tried once (sleep sets, after Godefroid), and orders that lead to the same
// memory and to threads that know the same are followed further only once. A thread knows what its accesses saw since its last call of know, with two
// exceptions that the code under test must bear out (a test compares the outcomes with and without
// merge): an access that follows another of the same word directly and leaves it as it was is a
// compare-and-swap that failed, and takes the thread back to before the first; and nothing seen
// under a mutex is remembered outside.
type explorer struct {
	merge   bool
	threads int
	// start makes a fresh state: the words that the threads touch, and what each thread does.
	start func() (memory []*atomic.Uint64, bodies []func())
	// during looks at the state between two accesses, after at a whole order's.
	during, after func() error

	memory []*atomic.Uint64
	bodies []func()
	known  []knowledge
	resume []func() access
	parked []access
	orders int // that were followed to the end
}

// knowledge is what a thread has learnt, as hashes.
type knowledge struct {
	now    uint64
	told   bool           // by know, since its last access
	load   *atomic.Uint64 // what it loaded with its last access, if that was a load
	unread uint64         // what it knew before
	held   *sync.Mutex
	unheld uint64 // what it knew before it took that
}

// access is what a parked thread is about to do.
type access struct {
	at    *atomic.Uint64
	mu    *sync.Mutex
	ended bool
}

// fork is a moment of an order: the threads to go on with, and which of them does.
type fork struct {
	threads []int
	taken   int
	sleep   threadSet // that need not go on now: they did elsewhere, and nothing since concerns them
}

// threadSet has a bit for each thread.
type threadSet uint8

func (s threadSet) has(thread int) bool { return s>>thread&1 != 0 }

// errStopped unwinds a thread that an error has left in the middle.
var errStopped = errors.New("stopped")

// run returns the first error of during, after or a deadlock, with the order that led to it.
func (e *explorer) run() error {
	e.resume = make([]func() access, e.threads)
	e.parked = make([]access, e.threads)
	e.known = make([]knowledge, e.threads)
	for i := range e.threads {
		var park func(*atomic.Uint64, *sync.Mutex)
		next, stop := iter.Pull(func(yield func(access) bool) {
			park = func(at *atomic.Uint64, mu *sync.Mutex) {
				if !yield(access{at: at, mu: mu}) {
					panic(errStopped)
				}
			}
			defer func() {
				if r := recover(); r != nil && r != errStopped {
					panic(r)
				}
			}()
			for yield(access{ended: true}) {
				e.bodies[i]()
			}
		})
		defer stop()
		next()
		e.resume[i] = func() access {
			turn = park
			a, _ := next()
			turn = nil
			return a
		}
	}

	visited := map[string]threadSet{}
	var way []fork
	for {
		if err := e.follow(&way, visited); err != nil {
			var order []int
			for _, f := range way {
				order = append(order, f.threads[f.taken])
			}
			return fmt.Errorf("order %d, threads %v: %w", e.orders, order, err)
		}
		for len(way) > 0 && way[len(way)-1].taken == len(way[len(way)-1].threads)-1 {
			way = way[:len(way)-1]
		}
		if len(way) == 0 {
			return nil
		}
		way[len(way)-1].taken++
	}
}

// follow goes way from a fresh state, and from its end on takes the first turn at every fork, which
// it adds to way. visited has the states that were met, each with the threads that did not go on
// from there.
func (e *explorer) follow(way *[]fork, visited map[string]threadSet) error {
	e.memory, e.bodies = e.start()
	for i := range e.threads {
		e.known[i] = knowledge{}
		e.parked[i] = e.resume[i]()
	}
	sleep := threadSet(0)
	for depth := 0; ; depth++ {
		if depth == len(*way) {
			if err := e.during(); err != nil {
				return err
			}
			able := e.able()
			if len(able) == 0 && slices.ContainsFunc(e.parked, func(a access) bool { return !a.ended }) {
				return errors.New("deadlock")
			}
			if e.merge {
				state := e.state()
				left, again := visited[state]
				if again {
					able = slices.DeleteFunc(able, func(i int) bool { return sleep.has(i) || !left.has(i) })
					sleep &= left
				} else {
					able = slices.DeleteFunc(able, sleep.has)
				}
				visited[state] = sleep
				if len(able) == 0 && (again || sleep != 0) {
					e.finish()
					return nil
				}
			}
			if len(able) == 0 {
				e.orders++
				return e.after()
			}
			*way = append(*way, fork{threads: able, sleep: sleep})
		}
		f := (*way)[depth]
		goes := f.threads[f.taken]
		if e.merge {
			sleep = e.stillAsleep(f, goes)
		}
		e.advance(goes)
	}
}

// stillAsleep lists the threads whose next access may as well come before that of the one that
// goes: they sleep at f or went on from there already, and touch something else.
func (e *explorer) stillAsleep(f fork, goes int) threadSet {
	asleep := f.sleep
	for _, i := range f.threads[:f.taken] {
		asleep |= 1 << i
	}
	a := e.parked[goes]
	for i, b := range e.parked {
		if b.at == a.at && b.mu == a.mu {
			asleep &^= 1 << i
		}
	}
	return asleep
}

// advance lets the thread make its access, and notes what it learns.
func (e *explorer) advance(thread int) {
	a, k := e.parked[thread], &e.known[thread]
	before := *k
	k.told, k.load = false, nil
	value := uint64(0)
	if a.mu != nil {
		k.held, k.unheld = a.mu, k.now
		k.now = mix(k.now)
	} else {
		place := slices.Index(e.memory, a.at)
		if place < 0 {
			panic("a thread touches a word that start did not name")
		}
		value = a.at.Load()
		k.now = mix(mix(k.now+uint64(place)+1) + value)
	}
	e.parked[thread] = e.resume[thread]()

	unlocked := k.held != nil && k.held.TryLock()
	if unlocked {
		k.held.Unlock()
		k.held = nil
	}
	switch {
	case k.told:
	case unlocked:
		k.now = mix(k.unheld + 1)
	case a.mu != nil:
	case a.at.Load() != value:
		k.now = mix(k.now)
	case before.load == a.at:
		k.now = before.unread
	default:
		k.load, k.unread = a.at, before.now
	}
}

// know says that the running thread forgets all it saw but value.
func (e *explorer) know(thread int, value uint64) {
	e.known[thread].now, e.known[thread].told = mix(value), true
}

// able lists the threads that can go on.
func (e *explorer) able() []int {
	var able []int
	for i, a := range e.parked {
		if a.ended {
			continue
		}
		if a.mu != nil {
			if !a.mu.TryLock() {
				continue
			}
			a.mu.Unlock()
		}
		able = append(able, i)
	}
	return able
}

// finish brings all threads to their end, so that they can start again.
func (e *explorer) finish() {
	for able := e.able(); len(able) > 0; able = e.able() {
		e.advance(able[0])
	}
}

// state names the memory and what every thread knows.
func (e *explorer) state() string {
	b := make([]byte, 0, 128)
	for _, w := range e.memory {
		b = binary.LittleEndian.AppendUint64(b, w.Load())
	}
	for _, k := range e.known {
		b = binary.LittleEndian.AppendUint64(b, k.now)
	}
	return string(b)
}

// mix spreads 64 bits (the finalizer of MurmurHash3, on a value that is never its fixed point 0).
func mix(h uint64) uint64 {
	h ^= 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
