//go:build interleave

package window

import (
	"sync"
	"sync/atomic"
)

// turn, while a test has set it, is told what the calling goroutine is about to touch, a word or a
// mutex, and returns when it may go ahead. Tests that set it must not run beside others.
var turn func(at *atomic.Uint64, mu *sync.Mutex)

// step waits until the scheduler lets the caller access at.
func step(at *atomic.Uint64) {
	if turn != nil {
		turn(at, nil)
	}
}

// lock waits until the scheduler lets the caller take mu, as long as that takes.
func lock(mu *sync.Mutex) {
	if turn == nil {
		mu.Lock()
		return
	}
	for {
		turn(nil, mu)
		if mu.TryLock() {
			return
		}
	}
}
