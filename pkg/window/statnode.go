package window

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// StatisticNode counts what becomes of the requests of one resource: over the last second in two slots,
// and over the last minute second by second, as Sentinel's StatisticNode does. It limits nothing.
//
// A request is counted where its clock or the newest slot is, whichever is later; one that is counted
// while a slot ends may be found in either of the two. No count is ever lost or found twice.
//
// Counters only add up, and a slot holds the difference between two moments, so that counting is one
// atomic addition and resets nothing. The counters of a node that several cores count in at a time
// spread over several cache lines, as in Java's LongAdder (Doug Lea); hint is any number that callers who run at
// the same time are likely not to share. now is in nanoseconds since the Unix epoch.
//
// The zero value has counted nothing and is ready to use. All methods are safe for concurrent use.
// Counting allocates nothing, but once for the minute and once when the counters spread.
type StatisticNode struct {
	slot    atomic.Int64 // number of the newest slot since the epoch
	turning atomic.Int64 // odd while a rotation is under way
	spread  atomic.Pointer[[]statStripe]
	// fastest of a slot stands at its number & 1: low half of the number 32 | least RT in microseconds 32.
	fastest [statSlots]atomic.Uint64
	minute  *[minuteSlots]minuteSlot // by second; nil: nothing was counted in it; guarded by mu
	mu      sync.Mutex               // held for a rotation, and to read or change what has left the newest slot
	_       [cacheLine - 56]byte

	own statStripe // until the counters spread, and what they held then

	mark [statEvents]atomic.Int64 // the counters at the begin of the newest slot
	last [statEvents]atomic.Int64 // what the slot before it holds
	_    [16]byte
}

// The two windows of a StatisticNode: the last second in statSlots slots, the last minute in seconds.
const (
	statSlots   = 2
	statWidth   = time.Second / statSlots
	minuteSlots = 60
)

// event is what is counted.
type event uint8

const (
	eventPass event = iota
	eventBlock
	eventException
	eventSuccess
	eventRT // nanoseconds
	eventBegun
	eventEnded
	statEvents
)

// statStripe is the counters of some callers, on a cache line of their own.
type statStripe struct {
	counts [statEvents]atomic.Int64
	_      [cacheLine - 8*statEvents]byte
}

// statSums are all counters of a node at one moment, or what was counted between two.
type statSums [statEvents]int64

// minuteSlot is one second of the minute, but for what is in the newest slot of the node.
type minuteSlot struct {
	second                          int64 // since the epoch
	rt                              int64
	pass, block, exception, success uint32
	fastest                         uint32 // microseconds; 0: no call ended
}

// maxStatStripes bounds the memory of a node.
const maxStatStripes = 8

// Pass counts n requests that were let pass.
func (s *StatisticNode) Pass(now int64, hint uint32, n int64) {
	s.advance(now)
	s.add(hint, eventPass, n)
}

// Block counts n requests that were refused.
func (s *StatisticNode) Block(now int64, hint uint32, n int64) {
	s.advance(now)
	s.add(hint, eventBlock, n)
}

// Withdraw takes back n of the passes that were counted at a time, given up before they were let pass.
// Those that have left the minute stay as they are.
func (s *StatisticNode) Withdraw(now, at int64, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := s.turn(now)
	slot := at / int64(statWidth)
	if slot/statSlots <= newest/statSlots-minuteSlots {
		return
	}
	// A pass that came late, or while its slot ended, was counted in a later one.
	for ; slot < newest && n > 0; slot++ {
		m := s.kept(slot / statSlots)
		if m == nil {
			continue
		}
		taken := min(n, int64(m.pass))
		m.pass -= uint32(taken)
		if slot == newest-1 {
			last := &s.last[eventPass]
			last.Store(max(last.Load()-taken, 0))
		}
		n -= taken
	}
	// Others only add meanwhile, so what is there stays there.
	s.own.counts[eventPass].Add(-min(n, s.since(eventPass)))
}

// Begin counts a call as under way until its End or Complete.
func (s *StatisticNode) Begin(hint uint32) { s.add(hint, eventBegun, 1) }

// End says that a call has ended, nobody knows how.
func (s *StatisticNode) End(hint uint32) { s.add(hint, eventEnded, 1) }

// Complete says that a call has ended after rt, and whether it failed. Like Sentinel, it counts one that
// failed among the successes too: those are the calls that came to their end.
func (s *StatisticNode) Complete(now int64, hint uint32, rt time.Duration, failed bool) {
	rt = max(rt, 0)
	slot := s.advance(now)
	s.add(hint, eventEnded, 1)
	s.add(hint, eventSuccess, 1)
	s.add(hint, eventRT, int64(rt))
	if failed {
		s.add(hint, eventException, 1)
	}
	s.faster(slot, rt)
}

// add is the whole cost of counting, most of the time.
func (s *StatisticNode) add(hint uint32, e event, n int64) {
	stripes := s.spread.Load()
	if stripes == nil {
		c := &s.own.counts[e]
		v := c.Load()
		if c.CompareAndSwap(v, v+n) {
			return
		}
		stripes = s.spreadOut()
	}
	(*stripes)[hint&uint32(len(*stripes)-1)].counts[e].Add(n)
}

// spreadOut gives the node its stripes, since two callers have met.
func (s *StatisticNode) spreadOut() *[]statStripe {
	n := 1
	for n < runtime.GOMAXPROCS(0) && n < maxStatStripes {
		n *= 2
	}
	stripes := make([]statStripe, n)
	s.spread.CompareAndSwap(nil, &stripes)
	return s.spread.Load()
}

// faster notes the RT of a call that ended in a slot, if it is the least there.
func (s *StatisticNode) faster(slot int64, rt time.Duration) {
	us := uint32(min(max(rt.Microseconds(), 1), 1<<32-1))
	word := &s.fastest[slot%statSlots]
	for {
		v := word.Load()
		tag, least := unpack(v)
		age := int32(uint32(slot) - tag)
		if least != 0 && (age < 0 || age == 0 && least <= us) {
			return
		}
		if word.CompareAndSwap(v, pack(uint32(slot), us)) {
			return
		}
	}
}
