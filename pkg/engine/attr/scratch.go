package attr

import "unsafe"

// maxKept is the most scratch space that a bag keeps from one request to the next. Calls that wait keep
// their bags, so it is small.
const maxKept = 1 << 10

// scratch is where values are written that differ from what was sent. It only grows between two
// resets.
type scratch struct {
	buf []byte
}

func (s *scratch) reset() {
	if cap(s.buf) > maxKept {
		s.buf = nil
	}
	clear(s.buf) // nothing of a request outlives it
	s.buf = s.buf[:0]
}

// since returns what was written from the offset on, without a copy.
//
// The bytes behind the string stay as they are until reset: writers append behind the last string
// taken, and when append moves the buffer, strings taken before keep the old array alive, which
// nobody writes to any more. Bag.Reset documents that its strings end there.
func (s *scratch) since(start int) string {
	b := s.buf[start:]
	return unsafe.String(unsafe.SliceData(b), len(b))
}
