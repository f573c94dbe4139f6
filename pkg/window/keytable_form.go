package window

// form is what the states of a table mean. To find, insert, move and drop entries, a table needs
// to know of a state only whether it has expired, and how much memory goes with it; the rest is
// known to the methods that serve the layout.
type form struct {
	layout Layout
	live   int // slots that count towards the limit
}

// expired says whether everything that the state w counts has left by slot seq, so that forgetting
// it changes no verdict from then on. seq was asked for after w had been loaded. Zero counts do not
// make a state expired while its tag is young: a caller who loaded it may be about to compare and
// swap it, and must not find the equal state of another key.
func (f form) expired(w, seq uint64) bool {
	if f.layout == LayoutWide {
		return seq-w >= uint64(f.live)
	}
	return wordAge(w, seq) >= uint64(f.live)
}

// counters is how many counters each slot has in the store's counts.
func (f form) counters() int {
	if f.layout == LayoutWide {
		return f.live
	}
	return 0
}

// groupBytes is the memory of a group and its counters.
func (f form) groupBytes() int64 { return groupSlots * (16 + 4*int64(f.counters())) }
