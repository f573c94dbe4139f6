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

// storeBytes is the memory of a store of so many groups.
func (f form) storeBytes(groups int) int64 {
	slots := int64(groups * groupSlots)
	return allocated(16*slots) + allocated(4*slots*int64(f.side))
}

// allocated is the memory that n bytes take: large ones take whole pages.
func allocated(n int64) int64 {
	const large, page = 32 << 10, 8 << 10
	if n <= large {
		return n
	}
	return (n + page - 1) / page * page
}
