//go:build !race

package window

// scale is that of keytable_race_test.go: full size.
const scale = 1
