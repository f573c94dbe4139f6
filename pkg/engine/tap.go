package engine

import (
	"hash/maphash"
	"math/rand/v2"
	"sync/atomic"

	"github.com/sidecard/sidecard/pkg/rule"
)

const (
	// MaxSampleBytes is how much of a value a ValueSample holds.
	MaxSampleBytes = 64

	tapSlots = 256     // samples between two readings; a power of two
	maxEvery = 1 << 20 // the thinnest sampling
)

// tap hands samples of the values of a rule's parameter to whoever looks. A decision never waits for it: while nobody
// looks it costs one load of memory that nobody writes, and while somebody does, what finds no room is dropped and
// counted. It belongs to all rules of one name that take the same parameter, over reloads.
type tap struct {
	open atomic.Pointer[tapRing] // nil: nobody looks
	_    [56]byte                // what is loaded by every decision shares its cache line with nothing that is written
}

// tapName is what a tap belongs to.
type tapName struct {
	ruleName
	param rule.ParamItem
}

// taps returns those of all rules.
func (s *snapshot) taps() map[tapName]*tap {
	m := make(map[tapName]*tap)
	for _, r := range s.rules {
		if r.tap != nil {
			m[tapName{ruleName{r.Domain, r.ID}, *r.def.Limit.Param}] = r.tap
		}
	}
	return m
}

// tapRing holds samples on their way.
type tapRing struct {
	seed    maphash.Seed
	every   atomic.Uint32 // one of so many is taken, a power of two
	_       [52]byte      // as above
	next    atomic.Uint32
	dropped atomic.Int64 // since the last reading
	slots   [tapSlots]tapSlot
}

// tapSlot is a sample. Whoever has changed state from tapEmpty to tapBusy, or finds tapFull, owns the rest.
type tapSlot struct {
	state  atomic.Uint32
	length int32
	hash   uint64
	text   [MaxSampleBytes]byte
}

const (
	tapEmpty uint32 = iota
	tapBusy         // being written
	tapFull
)

// offer hands a value over, or does not.
func (t *tap) offer(value string) {
	ring := t.open.Load()
	if ring == nil {
		return
	}
	if every := ring.every.Load(); every > 1 && rand.Uint32()&(every-1) != 0 {
		return
	}
	s := &ring.slots[ring.next.Add(1)%tapSlots]
	if !s.state.CompareAndSwap(tapEmpty, tapBusy) {
		ring.dropped.Add(1)
		return
	}
	s.hash, s.length = maphash.String(ring.seed, value), int32(len(value))
	copy(s.text[:], value)
	s.state.Store(tapFull)
}

// ValueSample is a parameter value that stands for as many requests as its weight.
type ValueSample struct {
	Hash   uint64 // of the whole value; equal values have equal hashes until StopSampling
	Text   string // its first MaxSampleBytes bytes
	Length int    // of the whole value
	Weight int64
}

// Sampling says how much of a rule's values a reading has got.
type Sampling struct {
	OneIn   int64 // of so many requests one was taken
	Dropped int64 // taken and lost, because they came faster than they were read; the weights make up for them
}

// SampleValues appends values of the rule's parameter that requests had since the last reading, and begins to collect
// them if it is the first; false if the rule has no parameter. The requests are those that asked to be charged and whose
// value the rule limits, whatever became of them. As more of them come, fewer are taken: what is kept between two readings
// is 24 KiB. One goroutine at a time may read a rule.
//
// A decision that is sampled copies the value; the others read one word more than usual.
func (r *CompiledRule) SampleValues(into []ValueSample) ([]ValueSample, Sampling, bool) {
	if r.tap == nil {
		return into, Sampling{}, false
	}
	ring := r.tap.open.Load()
	if ring == nil {
		ring = &tapRing{seed: maphash.MakeSeed()}
		ring.every.Store(1)
		r.tap.open.Store(ring)
		return into, Sampling{OneIn: 1}, true
	}
	every := ring.every.Load()
	from := len(into)
	for i := range ring.slots {
		s := &ring.slots[i]
		if s.state.Load() != tapFull {
			continue
		}
		length := int(s.length)
		into = append(into, ValueSample{Hash: s.hash, Text: string(s.text[:min(length, MaxSampleBytes)]), Length: length})
		s.state.Store(tapEmpty)
	}
	got := len(into) - from
	how := Sampling{OneIn: int64(every), Dropped: ring.dropped.Swap(0)}
	for i := range into[from:] {
		// The lost are shared out among those that were kept, the remainder one each.
		into[from+i].Weight = int64(every) * (1 + share(how.Dropped, got, i))
	}
	switch {
	case got > tapSlots/2 && every < maxEvery:
		ring.every.Store(every * 2)
	case got < tapSlots/8 && every > 1:
		ring.every.Store(every / 2)
	}
	return into, how, true
}

// share is the part of a whole number that the ith of n gets.
func share(whole int64, n, i int) int64 {
	part := whole / int64(n)
	if int64(i) < whole%int64(n) {
		part++
	}
	return part
}

// StopSampling ends the collecting of values, and gives back the memory that it took.
func (r *CompiledRule) StopSampling() {
	if r.tap != nil {
		r.tap.open.Store(nil)
	}
}
