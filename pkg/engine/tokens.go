package engine

import (
	cryptorand "crypto/rand"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// DefaultMaxTokens is how many calls that some rule waits for may be under way at a time.
const DefaultMaxTokens = 1 << 20

// trackedLease is how long a call is kept track of that no rule waits for.
const trackedLease = time.Minute

// TokenCounters count what became of tokens. All are safe for concurrent use and only grow.
type TokenCounters struct {
	Issued       atomic.Int64
	Completed    atomic.Int64 // by a report of how the call ended
	Withdrawn    atomic.Int64 // the caller had given up before it was answered, or only asked whether it may begin
	Expired      atomic.Int64 // by the end of the lease
	Disconnected atomic.Int64 // because whoever asked has gone
	Foreign      atomic.Int64 // reports with a token that stands for no call under way: repeated, late, or made up
	Refused      atomic.Int64 // calls that were refused because there was no room for one more token
	Untold       atomic.Int64 // calls that passed without one for the same reason
}

// DomainOutcomes says what became of the tokens of one domain.
type DomainOutcomes struct {
	Domain   string
	Reported int64 // calls whose end was reported
	Expired  int64 // calls that ended with their lease
}

// Silent says that calls have ended, and that it was never reported.
func (d DomainOutcomes) Silent() bool { return d.Expired > 0 && d.Reported == 0 }

// OtherDomains is the name under which the tokens of the domains beyond the first 64 are counted.
const OtherDomains = "(other)"

const maxTokenDomains = 64

// tokens are the calls under way whose end somebody waits for. Each call has a slot of fixed size, and one
// more for every two rules and resources beyond the first two; slots come in chunks that are made as they are needed,
// up to a bound, and used from the first chunk on, so that the last ones can be given back.
//
// One lock guards it all, held for as long as it takes to move a slot from one list to another. Whoever
// has taken a token owns its slots until he frees them, and reads them without the lock.
type tokens struct {
	counters TokenCounters

	mu         sync.Mutex
	random     *rand.ChaCha8
	chunks     []*tokenChunk // as many as there may be; nil: not made; an element is written under mu
	roomy      int           // no chunk before this one has a free slot
	wheel      tokenWheel
	generation uint32
	live       int64 // tokens
	slots      int64 // of them
	domains    []DomainOutcomes
	byName     map[string]uint16 // index in domains
}

// tokenSlot is what is kept of a call.
//
//	secret 64 | answered 64 | generation 32 | due 32 | peer 32 | next 32 | before 32 | after 32 | bucket 16 | domain 16 | uses 2×192
type tokenSlot struct {
	secret     uint64 // 0: the slot is free, taken, or not the first of its call
	answered   int64  // when the answer is due
	generation uint32
	due        uint32 // second in which the lease has ended
	peer       uint32
	next       uint32 // slot of the same call, or free slot of the same chunk; noSlot: none
	// Neighbours in the list of the bucket; noSlot: none.
	before, after uint32
	bucket        uint16
	domain        uint16
	uses          [2]tokenUse
}

// tokenUse is one charge of a rule, or one entry into a resource; without a tracker there is none. It points to
// the field that holds the tracker, which is half as large as the tracker.
type tokenUse struct {
	by   *tracker
	hold hold
}

// tokenFill puts uses into the slots of a call.
type tokenFill struct {
	tokens *tokens
	slot   uint32
	next   int
}

func (f *tokenFill) put(by *tracker, h hold) {
	if f.next == len(tokenSlot{}.uses) {
		f.slot, f.next = f.tokens.slot(f.slot).next, 0
	}
	f.tokens.slot(f.slot).uses[f.next] = tokenUse{by, h}
	f.next++
}

func (t *tokens) init(most int64) {
	var seed [32]byte
	cryptorand.Read(seed[:]) // never fails
	t.random = rand.NewChaCha8(seed)
	t.chunks = make([]*tokenChunk, (most+tokenChunkSlots-1)>>tokenChunkBits)
	t.byName = make(map[string]uint16)
	t.wheel.init()
}

// issue puts the charges of a call that wait for its end, and the resources that it entered, into a token. From
// then on the token holds them, and the call no longer. It returns false, and changes nothing, if there is
// no room. Calls that no rule waits for leave half of the room to others.
func (t *tokens) issue(now int64, c *Call) (Token, bool) {
	answered := now + int64(c.Wait)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.held == 0 && t.slots >= int64(len(t.chunks))*tokenChunkSlots/2 {
		return Token{}, false
	}
	first := noSlot
	for range max((c.held+len(c.entered)+1)/2, 1) {
		i := t.take1()
		if i == noSlot {
			t.give(first)
			return Token{}, false
		}
		t.slot(i).next = first
		first = i
	}
	lease := time.Duration(0)
	fill := tokenFill{tokens: t, slot: first}
	for i := range c.uses {
		u := &c.uses[i]
		if !u.holds(&c.grants[i]) {
			continue
		}
		fill.put(&u.rule.tracker, c.grants[i].held)
		// What a system rule has charged to a window stays with the call.
		u.charged = u.rule.system
		c.grants[i].held = hold{}
		lease = max(lease, u.rule.lease)
	}
	for i := range c.entered {
		fill.put(&c.entered[i].into.tracker, hold{n: c.hint})
	}
	t.generation++
	s := t.slot(first)
	s.generation = t.generation
	for s.secret == 0 {
		s.secret = t.random.Uint64()
	}
	if c.held == 0 {
		lease = trackedLease
	}
	s.answered, s.peer, s.domain = answered, c.Peer, t.domain(c.Domain)
	t.wheel.add(t, first, now, answered+int64(lease))
	t.live++
	t.counters.Issued.Add(1)
	return Token{place: uint64(first)<<32 | uint64(s.generation), secret: s.secret}, true
}

// holds says whether a token must hold what u charged.
func (u *use) holds(g *grant) bool {
	return u.charged && u.rule.tracker != nil && g.held != (hold{})
}

// take takes a token out, so that nobody else can. It returns nil for one that is not there.
func (t *tokens) take(token Token, reported bool) (uint32, *tokenSlot) {
	i := uint32(token.place >> 32)
	if token.secret == 0 || int(i>>tokenChunkBits) >= len(t.chunks) {
		return noSlot, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.chunks[i>>tokenChunkBits] == nil {
		return noSlot, nil
	}
	s := t.slot(i)
	if s.secret != token.secret || s.generation != uint32(token.place) {
		return noSlot, nil
	}
	t.remove(i, s)
	if reported {
		t.domains[s.domain].Reported++
	}
	return i, s
}

// expire takes out tokens whose lease has ended, as many as batch has room for, and appends them.
func (t *tokens) expire(now int64, batch []uint32) []uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(batch) < cap(batch) {
		i := t.wheel.next(t, now)
		if i == noSlot {
			break
		}
		s := t.slot(i)
		t.remove(i, s)
		t.domains[s.domain].Expired++
		batch = append(batch, i)
	}
	return batch
}

// disconnect takes out the tokens of a peer that are in one chunk, and appends them.
func (t *tokens) disconnect(chunk int, peer uint32, batch []uint32) []uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.chunks[chunk]
	if c == nil || c.used == 0 {
		return batch
	}
	for i := range c.slots {
		if s := &c.slots[i]; s.secret != 0 && s.peer == peer {
			at := uint32(chunk<<tokenChunkBits | i)
			t.remove(at, s)
			batch = append(batch, at)
		}
	}
	return batch
}

// remove makes a token one that is not there. The lock is held.
func (t *tokens) remove(i uint32, s *tokenSlot) {
	t.wheel.remove(t, i)
	s.secret = 0
	t.live--
}

// domain returns the index of a domain, whose name is borrowed. The lock is held.
func (t *tokens) domain(name string) uint16 {
	if i, ok := t.byName[name]; ok {
		return i
	}
	if len(t.domains) >= maxTokenDomains {
		name = OtherDomains
		if i, ok := t.byName[name]; ok {
			return i
		}
	}
	name = strings.Clone(name)
	t.domains = append(t.domains, DomainOutcomes{Domain: name})
	t.byName[name] = uint16(len(t.domains) - 1)
	return t.byName[name]
}

func (t *tokens) stats() TokenStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := TokenStats{TokenCounters: &t.counters, Live: t.live, Domains: slices.Clone(t.domains)}
	for _, c := range t.chunks {
		if c != nil {
			st.Bytes += int64(unsafe.Sizeof(*c))
		}
	}
	return st
}
