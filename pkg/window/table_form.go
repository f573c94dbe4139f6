package window

// form is what the states of a table mean to it.
type form struct {
	packed bool // states are words of keytable_word.go
	live   int  // if packed: slots that count towards the limit
	side   int  // 32-bit words beside each state
}

// expired says whether forgetting the state w changes no verdict from the tick seq on. seq was
// asked for after w had been loaded.
//
// A state that is not packed is the tick from which on it has expired. In a packed one, zero counts
// do not make it expired while its tag is young: a caller who loaded it may be about to compare and
// swap it, and must not find the equal state of another key.
func (f form) expired(w, seq uint64) bool {
	if f.packed {
		return wordAge(w, seq) >= uint64(f.live)
	}
	return w <= seq
}

// groupBytes is the memory of a group and of what lies beside it.
func (f form) groupBytes() int64 { return groupSlots * (16 + 4*int64(f.side)) }
