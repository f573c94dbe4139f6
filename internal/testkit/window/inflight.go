package window

// Inflight is the twin of window.Inflight, and of one key of window.KeyInflight: the list of the calls
// that are under way.
type Inflight struct{ calls []int64 }

// TryAcquire admits n calls under the name id, unless more than limit would be under way.
func (f *Inflight) TryAcquire(id, n, limit int64) (ok bool, remaining int64) {
	if n < 1 || f.Current()+n > limit {
		return false, max(limit-f.Current(), 0)
	}
	for range n {
		f.calls = append(f.calls, id)
	}
	return true, limit - f.Current()
}

// End ends the calls of that name.
func (f *Inflight) End(id int64) {
	var left []int64
	for _, call := range f.calls {
		if call != id {
			left = append(left, call)
		}
	}
	f.calls = left
}

// Release ends n calls, whichever they are.
func (f *Inflight) Release(n int64) { f.calls = f.calls[min(max(n, 0), f.Current()):] }

// Current is how many are under way.
func (f *Inflight) Current() int64 { return int64(len(f.calls)) }
