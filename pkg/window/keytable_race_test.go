//go:build race

package window

// scale divides the sizes of tests that are about size and have one goroutine: the race detector
// has nothing to find in them and makes them a hundred times slower.
const scale = 50
