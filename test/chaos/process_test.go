//go:build e2e && linux

package chaos

import (
	"syscall"
	"testing"
	"time"
)

// rounds is how often a fault is repeated.
func rounds() int {
	if testing.Short() {
		return 1
	}
	return 5
}

// Until the next daemon serves, Envoy lets requests pass and counts them. The next one begins with full
// budgets: what was counted is in memory only.
func killedSidecard(t *testing.T) row {
	w := begin(t, options(t))
	for range rounds() {
		w.killSidecard()
		w.pause(time.Second)
		w.newSidecard()
	}
	return w.finish()
}

// With Envoy away requests fail. The daemon goes on, and what it has counted stays counted.
func killedEnvoy(t *testing.T) row {
	w := begin(t, options(t))
	for range rounds() {
		w.noteLimits()
		w.must(w.Envoy.Signal(syscall.SIGKILL))
		if err := w.Envoy.Wait(soon(t)); err == nil {
			t.Error("a killed Envoy ended well")
		}
		w.must(w.StartEnvoy(soon(t)))
		w.must(w.WaitReady(soon(t)))
		w.url.Store(&w.URL)
		w.pause(time.Second)
	}
	return w.finish()
}

// Calls that come while the daemon is stopped wait in its socket, and Envoy gives each up after a second,
// until its health check has failed three times. What the daemon finds there when it goes on is of nobody.
func stoppedSidecard(t *testing.T) row {
	w := begin(t, options(t))
	for range rounds() {
		w.must(w.Sidecard.Signal(syscall.SIGSTOP))
		w.pause(3 * time.Second)
		w.must(w.Sidecard.Signal(syscall.SIGCONT))
		w.must(w.WaitReady(soon(t)))
		w.pause(time.Second)
	}
	return w.finish()
}
