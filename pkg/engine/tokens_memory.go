package engine

const (
	tokenChunkBits  = 10
	tokenChunkSlots = 1 << tokenChunkBits
	noSlot          = ^uint32(0)
)

// tokenChunk is memory for slots. Those that are free hang together by next.
type tokenChunk struct {
	slots [tokenChunkSlots]tokenSlot
	used  int
	free  uint32
}

// slot returns slot i, whose chunk has been made.
func (t *tokens) slot(i uint32) *tokenSlot {
	return &t.chunks[i>>tokenChunkBits].slots[i&(tokenChunkSlots-1)]
}

// free gives the slots of a call back.
func (t *tokens) free(first uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.give(first)
}

// take1 takes a free slot; noSlot if there is none and may be none more. The lock is held.
func (t *tokens) take1() uint32 {
	for ; t.roomy < len(t.chunks); t.roomy++ {
		c := t.chunks[t.roomy]
		if c == nil {
			c = newTokenChunk()
			t.chunks[t.roomy] = c
		}
		if c.free == noSlot {
			continue
		}
		i := c.free
		c.free = c.slots[i].next
		c.used++
		t.slots++
		return uint32(t.roomy<<tokenChunkBits) | i
	}
	return noSlot
}

func newTokenChunk() *tokenChunk {
	c := &tokenChunk{}
	for i := range c.slots {
		c.slots[i].next = uint32(i) + 1
	}
	c.slots[tokenChunkSlots-1].next = noSlot
	return c
}

// give makes the slots from first on free. The lock is held.
func (t *tokens) give(first uint32) {
	for i := first; i != noSlot; {
		s := t.slot(i)
		next := s.next
		c := t.chunks[i>>tokenChunkBits]
		*s = tokenSlot{next: c.free}
		c.free = i & (tokenChunkSlots - 1)
		c.used--
		t.slots--
		t.roomy = min(t.roomy, int(i>>tokenChunkBits))
		i = next
	}
}

// shrink drops the last chunks, as long as no slot of theirs is in use.
func (t *tokens) shrink() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.chunks) - 1; i > 0; i-- {
		if c := t.chunks[i]; c != nil {
			if c.used > 0 {
				return
			}
			t.chunks[i] = nil
		}
	}
}
