//go:build !interleave

package window

import (
	"sync"
	"sync/atomic"
)

// step marks the moment before an atomic access of a state that several callers change at once.
// It does nothing and is inlined away; built with the tag interleave it lets a test choose which
// goroutine makes its access next, and so try every order.
func step(*atomic.Uint64) {}

// lock locks mu; with the tag interleave a test chooses when.
func lock(mu *sync.Mutex) { mu.Lock() }
