package window

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// LeapArray is one sliding window: time is cut into slots of interval/sampleCount that start at
// multiples of that width since the Unix epoch, and the newest sampleCount of them (one more in
// Strict) together hold at most the limit.
//
// The bound is exact under any concurrency: every so many consecutive slots admit at most the
// limit. A caller whose now lies behind the newest slot, because it was delayed or its clock went
// back, is charged to the newest slot, never to one that is about to leave.
//
// now is in nanoseconds since the Unix epoch and not negative; calls must come at least once in
// 2^31 slot widths (25 days at the least width), which Maintain is for. n counts hits. No method
// allocates (Snapshot does if the memory it is given is too small). A LeapArray is safe for
// concurrent use; make it with NewLeapArray, the zero value is not usable.
type LeapArray struct {
	// Never written after NewLeapArray, so every core keeps its copy of this line.
	width int64           // nanoseconds of a slot
	live  uint32          // slots that count towards the limit
	mask  uint32          // len(slots) - 1
	slots []atomic.Uint64 // by sequence & mask: sequence 32 | count 32
	_     [cacheLine - 40]byte

	// word is sequence of the newest slot 32 | total 32. Every core writes it at every admission:
	// alone on its line, it takes neither the fields above nor the lock below with it.
	word atomic.Uint64
	_    [cacheLine - 8]byte

	mu       sync.Mutex    // held for a rotation, from its first slot until word has the new sequence
	previous atomic.Uint64 // if live is 1: sequence of the newest slot 32 | what the slot before it held 32
	_        [cacheLine - 16]byte
}

// cacheLine is the unit that cores pass each other.
const cacheLine = 64

// maxInterval keeps sums of a time of this century or the next and twice the interval within
// int64.
const maxInterval = math.MaxInt64 / 8

// NewLeapArray returns an empty window. The error is ErrShape if sampleCount is not 1 to
// MaxSampleCount, or the interval is not positive (and below 36 years), or a slot would not be a
// whole number of milliseconds.
func NewLeapArray(now int64, sampleCount int, interval time.Duration, mode Mode) (*LeapArray, error) {
	if !shapely(sampleCount, interval) {
		return nil, ErrShape
	}
	live := uint32(sampleCount)
	if mode == Strict {
		live++
	}
	// A power of two divides 2^32, so a slot's place is continuous where the sequence wraps.
	ring := uint32(1)
	for ring < live {
		ring *= 2
	}
	// Whole cache lines, so that no neighbour on the heap shares one.
	const perLine = cacheLine / 8
	a := &LeapArray{
		width: int64(interval) / int64(sampleCount),
		live:  live,
		mask:  ring - 1,
		slots: make([]atomic.Uint64, ring, (ring+perLine-1)/perLine*perLine),
	}
	head := a.seq(now)
	a.word.Store(pack(head, 0))
	a.previous.Store(pack(head, 0))
	for i := range ring {
		q := head - live + 1 + i
		a.slots[q&a.mask].Store(pack(q, 0))
	}
	return a, nil
}

// shapely says whether an interval can be cut into so many slots.
func shapely(sampleCount int, interval time.Duration) bool {
	return sampleCount >= 1 && sampleCount <= MaxSampleCount && interval > 0 && interval <= maxInterval &&
		interval%(time.Duration(sampleCount)*time.Millisecond) == 0
}

// Permit is what a TryAcquire charged: the proof that a Refund needs. The zero value is of a
// refusal, and refunds nothing. A permit is refunded at most once.
type Permit struct {
	seq uint32 // slot that was charged
	n   uint32 // what lies there; 0 if the slot left before the charge reached it
}

// Peek answers what TryAcquire would answer, and charges nothing. It writes nothing but a rotation
// that is due.
func (a *LeapArray) Peek(now, n, limit int64) Result {
	_, total := unpack(a.advance(a.seq(now)))
	return answer(total, n, limit)
}

// TryAcquire charges n hits if the window then holds at most limit, and says so; else it writes
// nothing but a rotation that is due. n below 1 is refused, as is n above limit. A limit above
// MaxLimit acts as MaxLimit, one below 0 as 0; it may differ from call to call.
func (a *LeapArray) TryAcquire(now, n, limit int64) (Permit, Result) {
	seq := a.seq(now)
	for {
		w := a.advance(seq)
		head, total := unpack(w)
		r := answer(total, n, limit)
		if !r.OK {
			return Permit{}, r
		}
		// A rotation, or another charge, since the load makes this fail. No carry: the sum is at
		// most MaxLimit.
		step(&a.word)
		if a.word.CompareAndSwap(w, w+uint64(n)) {
			r.Remaining -= n
			return a.charge(head, uint32(n)), r
		}
	}
}

// Refund gives back what TryAcquire charged, if its slot still counts; less, if a Release has
// taken from it. It does so also when now lies behind.
func (a *LeapArray) Refund(now int64, p Permit) {
	a.advance(a.seq(now))
	a.lower(a.take(p.seq, p.n))
}

// Release takes n hits out of the window, whoever charged them, from the newest slot backwards,
// and no more than is there.
func (a *LeapArray) Release(now, n int64) {
	head, _ := unpack(a.advance(a.seq(now)))
	left := uint32(min(max(n, 0), MaxLimit))
	taken := uint32(0)
	for i := uint32(0); i < a.live && taken < left; i++ {
		taken += a.take(head-i, left-taken)
	}
	a.lower(taken)
}

// Maintain moves the window to now and nothing else. A window that may go without calls for 2^31
// slot widths needs it, lest the distance of two slots changes its sign.
func (a *LeapArray) Maintain(now int64) { a.advance(a.seq(now)) }

// seq is the low half of the number of slots since the epoch, compared by signed distance.
func (a *LeapArray) seq(now int64) uint32 { return uint32(now / a.width) }

// charge adds n to the slot that the caller has just charged in word.
func (a *LeapArray) charge(seq, n uint32) Permit {
	slot := &a.slots[seq&a.mask]
	for {
		step(slot)
		v := slot.Load()
		if tag, _ := unpack(v); tag != seq {
			break
		}
		step(slot)
		if slot.CompareAndSwap(v, v+uint64(n)) {
			return Permit{seq: seq, n: n}
		}
	}
	// A rotation took the slot without these n, so they are in total and in no slot. As long as
	// word still shows the old sequence the slot counts, and lowering total would let another
	// caller charge it again.
	a.awaitRotation()
	a.lower(n)
	return Permit{seq: seq}
}

// take removes up to n from the slot seq, unless it has left, and returns how much it removed. The
// caller then owes a lower of as much: until then total is too high, never too low.
func (a *LeapArray) take(seq, n uint32) uint32 {
	slot := &a.slots[seq&a.mask]
	for {
		step(slot)
		v := slot.Load()
		tag, count := unpack(v)
		if tag != seq {
			return 0
		}
		count = min(count, n)
		if count == 0 {
			return 0
		}
		step(slot)
		if slot.CompareAndSwap(v, v-uint64(count)) {
			return count
		}
	}
}

// lower takes n, which is in no slot, out of total. No borrow: total holds it.
func (a *LeapArray) lower(n uint32) {
	if n != 0 {
		step(&a.word)
		a.word.Add(-uint64(n))
	}
}

// answer is the verdict on n more hits above total, free of overflow for every n and limit.
func answer(total uint32, n, limit int64) Result {
	room := enforced(limit) - int64(total)
	return Result{OK: n >= 1 && n <= room, Remaining: max(room, 0)}
}

func enforced(limit int64) int64 { return min(max(limit, 0), MaxLimit) }

func pack(seq, count uint32) uint64 { return uint64(seq)<<32 | uint64(count) }

func unpack(v uint64) (seq, count uint32) { return uint32(v >> 32), uint32(v) }
