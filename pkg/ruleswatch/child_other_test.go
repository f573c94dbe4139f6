//go:build !linux

package ruleswatch

// runChild does nothing: the tests that need a second process need Linux.
func runChild() (code int, ok bool) { return 0, false }
