package engine

// work bounds what regular expressions may cost a call. Each is linear in its input, but a client
// chooses the input and an operator the number of expressions: a hundred of them over a path of
// 60 KiB take longer than Envoy waits, and then the request would pass unlimited.
type work struct{ left int }

const (
	// maxWork is how many bytes a call may have matched, beyond those that are free.
	maxWork = 256 << 10
	// freeWork is how much of each input is free, so that inputs of ordinary length are always
	// matched, however many expressions there are.
	freeWork = 128
)

// afford says whether an input of n bytes may be matched once more, and takes it from the rest.
func (w *work) afford(n int) bool {
	n -= freeWork
	if n <= 0 {
		return true
	}
	if n > w.left {
		return false
	}
	w.left -= n
	return true
}
