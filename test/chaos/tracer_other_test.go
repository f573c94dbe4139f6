//go:build e2e && linux && !amd64

package chaos

const canTrace = false

// runOnWallClock is written for amd64.
func runOnWallClock(string, []string) int { return 1 }
